import { Reconciler, type ReconcilerPorts } from "../pass/reconcile";
import { RestartPacer } from "../restarts/restart-pacer";
import { completeWarmup, RecordingEvents, RecordingLog, RecordingMetrics } from "./fakes";

/** What a test has to say; for all else there is something that notes what it is told, and bars nothing. */
type Given = Pick<ReconcilerPorts, "store" | "writer" | "readers" | "remedies"> & Partial<ReconcilerPorts>;

/** A reconciler over these. Its pacer, unless it is given, is that of a process which starts now, by the readers' clock. */
export function makeReconciler(given: Given): Reconciler {
  return new Reconciler({
    events: new RecordingEvents(),
    pacer: new RestartPacer(given.readers.clock),
    warmup: completeWarmup,
    random: () => 0.5,
    log: new RecordingLog(),
    metrics: new RecordingMetrics(),
    ...given,
  });
}
