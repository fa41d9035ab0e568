import type { ControllerResilienceSpec, ControllerResilienceStatus } from "../../api/controller-resilience";
import { FakeClock } from "../../core/testing/fake-clock";
import { Reconciler, type ReconcilerPorts } from "../pass/reconcile";
import { makeObject, MemoryObjects, RecordingEvents, RecordingLog, RecordingMetrics, RecordingWriter } from "./fakes";
import { makeReaders, makeRemedy, specWith } from "./remedies";
import { makeRestarts } from "../../restarts/testing/ledger";

/** Key of the only object of {@link makePassBench}. */
export const KEY = "team/app";

/** What a test of passes may say. */
export interface PassSetup extends Partial<Omit<ReconcilerPorts, "store" | "writer">> {
  readonly clock?: FakeClock;
  readonly spec?: Partial<ControllerResilienceSpec>;
  readonly status?: ControllerResilienceStatus | undefined;
}

/** Passes over one object in memory, and what they leave there. The restarts, unless given, are those of a leader since ten seconds. */
export function makePassBench({
  clock = new FakeClock(),
  spec = specWith("tokenRestart"),
  status,
  ...given
}: PassSetup) {
  const [store, writer] = [new MemoryObjects(), new RecordingWriter()];
  store.put(makeObject(KEY, spec, status));
  const [events, log, metrics] = [new RecordingEvents(), new RecordingLog(), new RecordingMetrics()];
  const readers = makeReaders(clock);
  const reading = { readers, cachedReaders: readers, remedies: [makeRemedy()] };
  const defaults = { ...reading, random: () => 0.25, events, log, metrics };
  const restarts = given.restarts ?? makeRestarts(clock);
  if (given.restarts === undefined) clock.advance(10_000);
  const reconciler = new Reconciler({ ...defaults, store, writer, ...given, restarts });
  const leading = { yes: true };
  const pass = (mayWrite = () => leading.yes) => reconciler.reconcile(KEY, mayWrite);
  const object = () => store.objects.get(KEY) ?? makeObject(KEY);
  const condition = (type: string) => object().status?.conditions?.find(one => one.type === type);
  return { clock, store, writer, events, log, metrics, restarts, leading, reconciler, pass, object, condition };
}
