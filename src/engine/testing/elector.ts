import type { FakeClock } from "../../core/testing/fake-clock";
import { LeaderElector } from "../lead/leader-election";
import type { LeaseAnnotation } from "../lead/lease-record";
import { type MemoryLease, RecordingLog, RecordingMetrics } from "./fakes";

/** A candidate for a Lease that does not wait for one that is absent. */
export function makeElector(
  identity: string,
  lease: { readonly store: MemoryLease; readonly clock: FakeClock },
  ...annotations: readonly LeaseAnnotation[]
): LeaderElector {
  const ports = { ...lease, annotations, log: new RecordingLog(), metrics: new RecordingMetrics(), random: () => 0.5 };
  const listeners = { onStartedLeading: () => undefined, onStoppedLeading: () => undefined };
  return new LeaderElector(identity, { ...ports, ...listeners }, { waitMs: 0, holdMs: 0 });
}
