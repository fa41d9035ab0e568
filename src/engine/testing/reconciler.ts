import { Reconciler, type ReconcilerPorts } from "../pass/reconcile";
import { RecordingEvents, RecordingLog, RecordingMetrics } from "./fakes";
import { makeRestarts } from "../../restarts/testing/ledger";

/** What a test has to say; for all else there is something that notes what it is told, and bars nothing. */
type Given = Pick<ReconcilerPorts, "store" | "writer" | "readers" | "remedies"> & Partial<ReconcilerPorts>;

/** A reconciler over these. Its restarts, unless they are given, are those of a leader that starts now, by the readers' clock. */
export function makeReconciler(given: Given): Reconciler {
  return new Reconciler({
    events: new RecordingEvents(),
    restarts: makeRestarts(given.readers.clock),
    random: () => 0.5,
    log: new RecordingLog(),
    metrics: new RecordingMetrics(),
    ...given,
  });
}
