import type { RestartStatus } from "../../api/controller-resilience";
import { isCreatedAfter, restartsOf, settleOpenRestarts } from "../../core/restarts";
import { judgeLease, staleLeases } from "./lease-judge";
import { workloadId, type ObservedPod, type ObservedWorkload } from "./observed";

// Outcomes of the restarts with the cause of this remedy. Pure.

/** Without a pod that renews a Lease after this time, a restart was ineffective, in milliseconds. A workload that is gone says nothing. */
const INEFFECTIVE_AFTER_MS = 600_000;

/** How Leases and restarts are judged: `for` of the spec, and the time in which a relapse counts. */
export interface SettleRule {
  readonly forMs: number;
  /** A restart did not help if its successor stops renewing within this time, as in tokenRestart. */
  readonly relapseMs: number;
}

/** Updates the outcomes: history in, history out. */
export function settleRestarts(
  history: readonly RestartStatus[],
  workloads: readonly ObservedWorkload[],
  { forMs, relapseMs }: SettleRule,
  nowMs: number,
): RestartStatus[] {
  const workloadOf = (entry: RestartStatus): ObservedWorkload | undefined =>
    workloads.find(({ view }) => workloadId(view) === entry.workload);
  const evidence = {
    wasExecuted: (entry: RestartStatus) => !isAlive(entry, workloadOf(entry)),
    outcomeOf: (entry: RestartStatus) => outcomeOf(entry, workloadOf(entry), forMs, nowMs),
  };
  const settled = settleOpenRestarts(history, evidence, nowMs);
  const relapsed = new Set(
    workloads.flatMap(({ view, pods }) => {
      const recent = restartsOf(workloadId(view), settled).filter(({ time }) => nowMs - Date.parse(time) <= relapseMs);
      return pods.map(pod => relapsedRestart(pod, recent, forMs));
    }),
  );
  return settled.map(entry => (relapsed.has(entry) ? { ...entry, outcome: "Ineffective" } : entry));
}

/** The last restart after which a pod was created, or took the Lease that it no longer renews, if it seemed to help. */
function relapsedRestart(
  { view, leases }: ObservedPod,
  recent: readonly RestartStatus[],
  forMs: number,
): RestartStatus | undefined {
  const stale = staleLeases(leases, forMs);
  const sinceMs = Math.max(view.createdAtMs, ...stale.map(({ track }) => track.heldFromMs));
  const last = recent.findLast(entry => entry.podUID !== view.uid && isCreatedAfter(sinceMs, entry));
  return stale.length > 0 && last?.outcome === "Recovered" ? last : undefined;
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
  if (pods.some(pod => renews(pod, entry, forMs)) && !isAlive(entry, workload)) return "Recovered";
  // A person, or an autoscaler, wants no pods: nothing shows whether it helped.
  if (workload?.view.replicas === 0 && pods.length === 0) return "Replaced";
  if (nowMs - Date.parse(entry.time) < INEFFECTIVE_AFTER_MS) return entry.outcome;
  return workload === undefined ? "Replaced" : "Ineffective";
}

/**
 * Its successor, or another pod that took over since, is Ready and was seen to renew a Lease. A pod that goes on renewing a Lease of its own
 * says nothing.
 */
function renews({ view, leases }: ObservedPod, entry: RestartStatus, forMs: number): boolean {
  const isSince = (ms: number): boolean => isCreatedAfter(ms, entry);
  const isRenewed = leases.some(
    held =>
      judgeLease(held, forMs) !== "stale" &&
      (isSince(view.createdAtMs) || isSince(held.track.heldFromMs)) &&
      held.track.renewalsMs.some(isSince),
  );
  return view.uid !== entry.podUID && view.ready && isRenewed;
}
