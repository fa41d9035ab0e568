import type { RestartStatus } from "../../api/controller-resilience";
import { isCreatedAfter, settleOpenRestarts } from "../../core/restarts";
import { isNotRenewed } from "./lease-judge";
import { workloadId, type ObservedPod, type ObservedWorkload } from "./observed";

// Outcomes of the restarts with the cause of this remedy. Pure.

/** Without a pod that renews a Lease after this time, a restart was ineffective, in milliseconds. */
const INEFFECTIVE_AFTER_MS = 600_000;

/** Updates the outcomes: history in, history out. */
export function settleRestarts(
  history: readonly RestartStatus[],
  workloads: readonly ObservedWorkload[],
  forMs: number,
  nowMs: number,
): RestartStatus[] {
  const workloadOf = (entry: RestartStatus): ObservedWorkload | undefined =>
    workloads.find(({ view }) => workloadId(view) === entry.workload);
  const evidence = {
    wasExecuted: (entry: RestartStatus) => !isAlive(entry, workloadOf(entry)),
    outcomeOf: (entry: RestartStatus) => outcomeOf(entry, workloadOf(entry), forMs, nowMs),
  };
  return settleOpenRestarts(history, evidence, nowMs);
}

function isAlive({ podUID }: RestartStatus, workload: ObservedWorkload | undefined): boolean {
  return workload?.pods.some(({ view }) => view.uid === podUID && view.deletedAtMs === undefined) ?? false;
}

function outcomeOf(
  entry: RestartStatus,
  workload: ObservedWorkload | undefined,
  forMs: number,
  nowMs: number,
): RestartStatus["outcome"] {
  const pods = workload?.pods ?? [];
  if (pods.some(pod => renews(pod, entry, forMs, nowMs)) && !isAlive(entry, workload)) return "Recovered";
  return nowMs - Date.parse(entry.time) < INEFFECTIVE_AFTER_MS ? entry.outcome : "Ineffective";
}

/**
 * Its successor, or another pod that took over since, is Ready and was seen to renew a Lease. A pod that goes on renewing a Lease of its own
 * says nothing.
 */
function renews({ view, leases }: ObservedPod, entry: RestartStatus, forMs: number, nowMs: number): boolean {
  const isSince = (ms: number): boolean => isCreatedAfter(ms, entry);
  const isRenewed = leases.some(
    held =>
      !isNotRenewed(held, forMs, nowMs) &&
      (isSince(view.createdAtMs) || isSince(held.track.heldFromMs)) &&
      held.track.renewalsMs.some(isSince),
  );
  return view.uid !== entry.podUID && view.ready && isRenewed;
}
