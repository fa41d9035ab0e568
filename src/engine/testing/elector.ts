import type { Clock } from "../../core/time";
import type { LeaseStore } from "../../core/ports";
import { LeaderElector } from "../lead/leader-election";
import type { LeaseAnnotation } from "../lead/lease-record";
import { RecordingLog, RecordingMetrics } from "./fakes";

/** A candidate for a Lease, and what it tells. It waits for no Lease that is absent, unless it is patient. */
export function makeCandidate(
  identity: string,
  lease: { readonly store: LeaseStore; readonly clock: Clock },
  { annotations = [], isPatient = false }: { annotations?: readonly LeaseAnnotation[]; isPatient?: boolean } = {},
) {
  const heard: string[] = [];
  const [log, metrics] = [new RecordingLog(), new RecordingMetrics()];
  const listeners = {
    onStartedLeading: () => void heard.push("started"),
    onStoppedLeading: () => void heard.push("stopped"),
  };
  const ports = { ...lease, annotations, log, metrics, random: () => 0.5, ...listeners };
  const elector = new LeaderElector(identity, ports, ...(isPatient ? [] : [{ waitMs: 0, holdMs: 0 }]));
  return { elector, heard, metrics, log };
}
