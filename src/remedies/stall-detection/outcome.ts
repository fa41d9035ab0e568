import { Cause, STALL_CAUSES } from "../../api/conditions";
import type { RestartStatus, StallStatus } from "../../api/controller-resilience";
import type { QueueTrack } from "../../core/pod-metrics";
import { CLOCK_SKEW_MS } from "../../core/time";
import {
  type Accused,
  isCreatedAfter,
  isInPlaceOf,
  isSeenAfter,
  isOverdue,
  isPodPresent,
  settleOpenRestarts,
  UNPROVEN_OPEN_MS,
} from "../../restarts/history";
import { type HeldLease, judgeLease, staleLeases } from "./lease-judge";
import type { ObservedPod, Scope } from "./observed";
import { hasOwnWork } from "./progress";

// Whether a restart helped. Pure.

/** Updates the outcomes: history in, history out. */
export function settleRestarts(
  history: readonly RestartStatus[],
  scopes: readonly Scope[],
  nowMs: number,
): RestartStatus[] {
  const workloads = new Map(scopes.map(scope => [scope.id, scope]));
  const outcome = (entry: RestartStatus, scope: Scope): RestartStatus["outcome"] => outcomeOf(entry, scope, nowMs);
  const evidence = { causes: STALL_CAUSES, workloads, outcomeOf: outcome, accused: scopes.flatMap(accused) };
  return settleOpenRestarts(history, evidence, nowMs);
}

/** Each pod that holds stale Leases, since it was created or took the latest of them, and each that does nothing, or whose work is still due. */
function accused(scope: Scope): Accused[] {
  const isDue = hasOwnWork(scope);
  return scope.pods.flatMap(({ view, leases, idle }) => {
    const of = { workload: scope.id, podUID: view.uid, createdAtMs: view.createdAtMs };
    const stale = staleLeases(leases);
    const tookMs = Math.max(...stale.map(({ track }) => track.heldFromMs));
    return [
      ...(stale.length > 0 ? [{ ...of, cause: Cause.LeaseNotRenewed, tookMs }] : []),
      ...(isDue || idle !== undefined ? [{ ...of, cause: Cause.ProgressStopped }] : []),
    ];
  });
}

function outcomeOf(entry: RestartStatus, scope: Scope, nowMs: number): RestartStatus["outcome"] {
  const { view, pods } = scope;
  if (hasHelped(entry, scope, nowMs) && !isPodPresent(entry, pods)) return "Recovered";
  // A person, or an autoscaler, wants no pods: nothing shows whether it helped.
  if (view.replicas === 0 && pods.length === 0) return "Replaced";
  const mayHelp = entry.cause !== Cause.ProgressStopped && mayRenew(pods, entry, nowMs);
  if (!isOverdue(entry, scope, nowMs) || mayHelp) return entry.outcome;
  // It was scaled down, or the node of its DaemonSet went.
  return pods.some(({ view: pod }) => isInPlaceOf(pod, entry)) ? "Ineffective" : "Replaced";
}

/** Did it help? A pod renews a Lease, the very objects that were due move, or, if none was, other pods work. */
function hasHelped(entry: RestartStatus, scope: Scope, nowMs: number): boolean {
  const { pods, observed } = scope;
  if (entry.cause !== Cause.ProgressStopped) return pods.some(pod => renews(pod, entry));
  if (nowMs - Date.parse(entry.time) < FIRST_MS) return false;
  const moved = dueWork(entry, observed.previous).map(({ object }) => isMoved(object, entry, scope));
  const known = moved.filter(is => is !== undefined);
  return known.length > 0 ? known.every(is => is) : pods.some(pod => worksSince(pod, entry, observed.epochMs));
}

/** Renewals, and work, prove nothing before this, in milliseconds: some programs hang right after each start. */
const FIRST_MS = 60_000;

/** The work of a workload that was due at a restart for its sake, as in status. */
export function dueWork({ workload, time, cause }: RestartStatus, stalls: readonly StallStatus[]): StallStatus[] {
  const ofWorkload = stalls.filter(stall => stall.evidence === "Progress" && stall.workload === workload);
  return ofWorkload.filter(({ since }) => cause === Cause.ProgressStopped && Date.parse(since) <= Date.parse(time));
}

/** Reports whether a controller has written to an object since a restart, also before this process; undefined: it is gone. */
function isMoved(id: string | undefined, entry: RestartStatus, { observed, view }: Scope): boolean | undefined {
  const { kinds, epochMs } = observed;
  const [kind, name = ""] = (id ?? "").split(" ");
  const [short = "", namespace] = name.split("/").reverse();
  const places = namespace === undefined ? [view.namespace, ""] : [namespace];
  const readings = kinds.filter(one => one.kind === kind).map(({ reading }) => reading);
  if (readings.some(({ unknown }) => unknown !== undefined)) return false;
  const [found] = readings.flatMap(reading => places.flatMap(place => reading.find(place, short) ?? []));
  return found && Math.max(epochMs + found.movedMs, found.writtenMs - CLOCK_SKEW_MS) >= Date.parse(entry.time);
}

/** Reports whether another pod works since a restart: it has finished items, and each of its queues that has items has finished some. */
function worksSince({ view, track, leads, idle }: ObservedPod, entry: RestartStatus, epochMs: number): boolean {
  if (track === undefined || view.uid === entry.podUID || !view.ready || !leads || idle !== undefined) return false;
  const isSuccessor = isCreatedAfter(view.createdAtMs, entry);
  const hasTakenOver = track.isLeader === true && isSeenAfter(epochMs + track.fromMs, entry);
  // What a standby had done before is counted as well.
  const works = ({ done }: QueueTrack): boolean => (isSuccessor ? done.count > 0 : done.hasChanged);
  const queues = [...track.queues.values()];
  return (isSuccessor || hasTakenOver) && queues.some(works) && queues.every(one => works(one) || !one.depth);
}

/**
 * Its successor, or another pod that took over since, is Ready and was seen to renew that Lease. A pod that goes on renewing a Lease of its own
 * says nothing.
 */
function renews(pod: ObservedPod, entry: RestartStatus): boolean {
  const isLater = (ms: number): boolean => ms - Date.parse(entry.time) >= FIRST_MS;
  const isRenewed = (held: HeldLease): boolean => judgeLease(held) !== "stale" && held.track.renewalsMs.some(isLater);
  return pod.view.ready && takenSince(pod, entry).some(isRenewed);
}

/** One has taken a Lease, and the time in which it must renew that is not over. */
function mayRenew(pods: readonly ObservedPod[], entry: RestartStatus, nowMs: number): boolean {
  const leases = pods.flatMap(pod => takenSince(pod, entry));
  const isDue = leases.every(({ track: { standingMs, durationMs = 0 } }) => standingMs >= durationMs);
  return !isDue && nowMs - Date.parse(entry.time) < UNPROVEN_OPEN_MS;
}

/** The Leases that another pod has taken since a restart. */
function takenSince({ view, leases }: ObservedPod, entry: RestartStatus): HeldLease[] {
  if (view.uid === entry.podUID) return [];
  return leases.filter(({ track }) => isCreatedAfter(view.createdAtMs, entry) || isSeenAfter(track.heldFromMs, entry));
}
