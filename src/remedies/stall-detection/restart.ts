import { Cause, STALL_CAUSES } from "../../api/conditions";
import type { RestartStatus, StallStatus } from "../../api/controller-resilience";
import { type Check, firstMatch } from "../../core/checks";
import type { RestartClaim } from "../../core/intent";
import type { QueueTrack } from "../../core/pod-metrics";
import { capitalize } from "../../core/remedy";
import { CLOCK_SKEW_MS } from "../../core/time";
import { STUCK_MS } from "../../evidence/metrics/judge";
import { podClaim, refusedRestart } from "../../restarts/claims";
import {
  type Accused,
  isCreatedAfter,
  isInPlaceOf,
  isOverdue,
  isPodPresent,
  isSeenAfter,
  settleOpenRestarts,
  UNPROVEN_OPEN_MS,
} from "../../restarts/history";
import { describeHolder } from "../../restarts/holder";
import { barOf, isExhausted, waitOf, withPatience } from "../../restarts/limits";
import { asObserved, atLimit, deferred as waiting, evict, held } from "../kit/restarting";
import { type HeldLease, isReleased, isSeenStale, leaseId, staleLeases, staleLimitMs } from "./lease-judge";
import { lostWith } from "./leases";
import { isOfLeases } from "./logs";
import type { ObservedPod, Scope } from "./observed";
import type { Finding, Sign } from "./reasons";
import { hasOwnWork, isRefusedWork } from "./work";

// Which pod with a stale Lease, or that does nothing, is restarted, what that waits for, and whether it helped. Pure. The executor checks the limits
// that hold for the whole cluster.

/** A pod that a restart can help, and what condemns it. */
interface Candidate extends Scope {
  readonly pod: ObservedPod;
  readonly cause: Cause;
  readonly reason: "LeaseNotRenewed" | "QueueStuck" | "WatchesDead";
  /** For the Event. */
  readonly why: string;
  /** How long its Lease has stood still; -1 without one. */
  readonly standingMs: number;
  /** This process has seen for long enough that it hangs. */
  readonly isSeen: boolean;
  /** A successor must outlive what its predecessor did: it worked, then stood still until that was too long. */
  readonly workedMs: number;
  readonly maxRestarts: number;
  /** The restarts of its workload, with the outcomes known now. */
  readonly history: readonly RestartStatus[];
}

/** Each holds the restart back. What they say follows the sentence of the stall. */
export const CHECKS: readonly Check<Candidate, Finding>[] = [
  heldByOther,
  barred,
  logUnread,
  leasesDenied,
  workRefused,
  throttled,
  notSeenLongEnough,
  limitReached,
];

/** Those of them that may hold one pod of a workload back, and not the next, as what the API server refuses their common ServiceAccount may. */
const OF_POD: readonly Check<Candidate, Finding>[] = [logUnread, notSeenLongEnough];

/** Adds to what accuses one pod what is done about it, and to its entry the wait of its restart. */
export function withDecision(signs: readonly Sign[], scope: Scope, history: Candidate["history"]): Sign[] {
  const candidate = nextOf(scope, history);
  if (candidate === undefined) return [...signs];
  const { uid, name } = candidate.pod.view;
  const index = signs.findIndex(({ reason, entry }) => entry?.podUID === uid && reason === candidate.reason);
  const sign = signs[index];
  if (sign?.entry === undefined) return [...signs];
  const decided = asObserved(firstMatch(CHECKS, candidate) ?? restart(candidate), scope.observed.mode, name);
  const wait = waitOf(decided, waitStartOf(scope), candidate);
  const sentence = [sign.sentence, decided.sentence].filter(text => text !== "").join(" ");
  const finding = withPatience({ ...decided, sentence }, decided.wayOut, wait, scope.now);
  return signs.with(index, { ...finding, entry: { ...sign.entry, ...wait } });
}

/**
 * The pod whose Lease has stood still for the longest time, or that does nothing. One that may not be restarted, or not yet, whose restarts are used
 * up, or whose eviction the API server has refused a moment ago, gives its turn to the next.
 */
function nextOf(scope: Scope, history: Candidate["history"]): Candidate | undefined {
  if (scope.spec.onStall !== "Restart") return undefined;
  const { view, pods } = scope;
  const candidates = pods.flatMap(pod => candidateOf(pod, scope, history) ?? []);
  const isHeld = (one: Candidate): boolean =>
    isExhausted(claimFor(one), history, scope.now) ||
    refusedRestart(one.pod.view, scope) !== undefined ||
    firstMatch(OF_POD, one) !== undefined;
  const rank = (one: Candidate): number => (barOf(one.pod, view) === undefined ? Number(isHeld(one)) : 2);
  return candidates.toSorted((a, b) => rank(a) - rank(b) || b.standingMs - a.standingMs)[0];
}

/** A stale Lease is the older evidence. A pod that only sees no change, or is busy, is condemned only if work of its workload is due. */
function candidateOf(pod: ObservedPod, scope: Scope, history: Candidate["history"]): Candidate | undefined {
  const { view, leases, idle } = pod;
  const { maxRestarts } = scope.observed.limits;
  const stale = staleLeases(leases)
    .filter(({ track }) => !isReleased(track))
    .toSorted((a, b) => b.track.standingMs - a.track.standingMs);
  const [first] = stale;
  if (first !== undefined) {
    const worked = stale.map(
      one => one.track.changedMs - Math.max(view.createdAtMs, one.track.heldFromMs) + staleLimitMs(one),
    );
    const why = `Pod ${view.name} of ${scope.id} holds Lease ${leaseId(first.track)} and no longer renews it.`;
    return {
      ...{ ...scope, pod, history, why, cause: Cause.LeaseNotRenewed, reason: "LeaseNotRenewed" },
      ...{ standingMs: first.track.standingMs, isSeen: stale.some(isSeenStale) },
      ...{ workedMs: Math.min(...worked), maxRestarts },
    };
  }
  if (idle === undefined || !(idle.hasWork || hasOwnWork(scope))) return undefined;
  return {
    ...{ ...scope, pod, history, why: idle.sentence, cause: Cause.ProgressStopped, reason: idle.reason },
    ...{ standingMs: -1, isSeen: true, workedMs: idle.sinceMs + STUCK_MS - view.createdAtMs },
    // Workers that block on an object block again.
    maxRestarts: 1,
  };
}

/** When the restart of a pod of the workload began to wait, as in status. */
function waitStartOf({ id, observed }: Scope): string | undefined {
  return observed.previous.find(entry => entry.workload === id && entry.waitStartTime !== undefined)?.waitStartTime;
}

function heldByOther({ holder }: Candidate): Finding | undefined {
  return holder === undefined ? undefined : held("Conflict", `${describeHolder(holder)}.`);
}

/** It is never restarted, whatever is wrong with it. */
function barred({ pod, view, reason }: Candidate): Finding | undefined {
  const bar = barOf(pod, view);
  return bar && held(reason, `Not restarted: ${bar.why}.`);
}

/** Only its log may show that a restart cannot help. */
function logUnread({ pod }: Candidate): Finding | undefined {
  if (pod.logs.isRead) return undefined;
  const wait = "its log, which may show that its requests are refused, cannot be read or was not read yet";
  return deferred(wait, "see why its log cannot be read, or delete the pod by hand");
}

/** A program without a log does not say that it is denied. */
function leasesDenied(candidate: Candidate): Finding | undefined {
  const { pod } = candidate;
  const [lost] = staleLeases(pod.leases).flatMap(stale => lostWith(stale, pod, candidate) ?? []);
  if (pod.logs.recent.some(isOfLeases)) {
    const rights = "its requests for Leases get 403 responses; restore its permissions on Leases";
    const hint = lost === undefined ? "" : `: ${lost.why}${lost.backMs === undefined ? "" : ", and is back"}`;
    return held("LeaseNotRenewed", `A restart cannot help: ${rights}${hint}.`);
  }
  if (lost === undefined) return undefined;
  const next = lost.backMs === undefined ? "Restore it, or delete the pod." : "It is back: the pod has time to renew.";
  return held("LeaseNotRenewed", `Not restarted: ${lost.why} as it stopped. ${next}`);
}

/** What it is denied, it is denied after a restart. tokenRestart heals 401s. */
function workRefused({ pod, cause, reason }: Candidate): Finding | undefined {
  if (cause !== Cause.ProgressStopped || !isRefusedWork(pod)) return undefined;
  const sentence =
    "Not restarted: its requests get 401, 403 or 422 responses, which a restart may not change; see in its log what refuses them.";
  return held(reason, sentence);
}

/** API Priority and Fairness starves it: it renews again when that ends, and a restart adds requests. */
function throttled({ pod }: Candidate): Finding | undefined {
  if (!pod.logs.isThrottled) return undefined;
  return deferred(
    "the API server refuses its requests with 429, and a restart would add more; flowIsolation keeps other clients away from its Leases",
    "find the client that floods the API server, or delete the pod by hand",
  );
}

/**
 * A new leader of the operator knows from status that the Lease is stale; it looks for itself before it acts. Containers that restart again and again
 * may not have had the time to renew it.
 */
function notSeenLongEnough({ isSeen }: Candidate): Finding | undefined {
  if (isSeen) return undefined;
  return deferred(
    "the operator has not watched the Lease for long enough while the containers run",
    "see whether its containers keep restarting, and whether the API server lists Leases in time",
  );
}

function limitReached(candidate: Candidate): Finding | undefined {
  const { maxUnavailable } = candidate.observed.limits;
  const due = { pod: candidate.pod, claim: claimFor(candidate) };
  return atLimit(due, { ...candidate, maxUnavailable }, wait => `${capitalize(wait)}.`);
}

function restart(candidate: Candidate): Finding {
  const { pod, reason, why } = candidate;
  return evict({ pod, claim: claimFor(candidate) }, { reason, sentence: "", why });
}

function claimFor(candidate: Candidate): RestartClaim {
  const { pod, cause, workedMs, maxRestarts, observed } = candidate;
  const limits = { cooldownMs: observed.limits.cooldownMs, maxRestarts };
  return { ...podClaim(candidate, pod.view), cause, workedMs, limits };
}

function deferred(wait: string, wayOut: string): Finding {
  return waiting(`Restart deferred: ${wait}.`, { wayOut });
}

// Whether a restart helped.

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
  const isRenewed = ({ verdict, track }: HeldLease): boolean =>
    verdict !== "stale" && verdict !== "left" && track.renewalsMs.some(isLater);
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
