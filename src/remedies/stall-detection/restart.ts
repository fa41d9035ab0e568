import { Cause } from "../../api/conditions";
import type { RestartStatus } from "../../api/controller-resilience";
import type { Intent } from "../../core/intent";
import { capitalize, whatWould } from "../../core/remedy";
import {
  type Accused,
  isCreatedAfter,
  isOverdue,
  isPodPresent,
  restartsOf,
  settleOpenRestarts,
  settleUnwatched,
  UNPROVEN_OPEN_MS,
} from "../../restarts/history";
import { barOf, limitOf, UPGRADE_HINT, type Wait, waitOf, withPatience } from "../../restarts/limits";
import { type Check, firstMatch } from "../../core/checks";
import { describeHolder } from "../../restarts/holder";
import { hasHadChance, type HeldLease, isSeenStanding, judgeLease, staleLeases, staleLimitMs } from "./lease-judge";
import { leaseId } from "./leases";
import { isDeniedLeases, isThrottled } from "./logs";
import { type ObservedPod, type ObservedWorkload, type Scope } from "./observed";
import { BLOCKED_HINT, evictionOf, podClaim, refusedRestart, workloadId } from "../../restarts/claims";
import type { Finding, Reason } from "./reasons";
import type { Stall } from "./stalls";

// Which pod with a stale Lease is restarted, what it waits for, and whether it helped. Pure. The executor checks the limits that hold for the whole cluster.

/** A pod whose Lease is stale, and the restarts of its workload. */
interface Candidate extends Scope {
  readonly pod: ObservedPod;
  /** Its stale Leases, the one that has stood still for the longest time first. */
  readonly stale: readonly HeldLease[];
  /** With the outcomes known now. */
  readonly history: readonly RestartStatus[];
}

/** What follows from the stale Leases of a workload. */
export interface RestartDecision {
  /** Why the pod is not restarted now, or what is done with it: replaces the finding of the stall, after its sentence. */
  readonly finding: Pick<Finding, "reason" | "sentence" | "isStalled" | "isProgressing">;
  readonly intents: readonly Intent[];
  /** It waits for something that may never happen: what a person can do about it. */
  readonly wayOut?: string | undefined;
}

/** The decision about one pod, and the wait of its restart. */
interface PodDecision extends RestartDecision {
  readonly podUID: string;
  readonly wait: Wait;
}

/** Each holds the restart back. */
export const CHECKS: readonly Check<Candidate, RestartDecision>[] = [
  heldByOther,
  barred,
  leasesDenied,
  throttled,
  notSeenLongEnough,
  notRunningLongEnough,
  limitReached,
];

/**
 * Decides on the restart of the pod whose Lease has stood still for the longest time. One that may not be restarted, or whose eviction the API
 * server has refused a moment ago, gives its turn to the next.
 */
export function decideRestart(
  stalls: readonly Stall[],
  scope: Scope,
  history: readonly RestartStatus[],
): PodDecision | undefined {
  if (scope.spec.onStall !== "Restart") return undefined;
  const held = stalls.flatMap(stall => stall.held ?? []).toSorted((a, b) => b.track.standingMs - a.track.standingMs);
  const pods = held.flatMap(({ pod }) => scope.workload.pods.find(({ view }) => view.uid === pod.uid) ?? []);
  const own = restartsOf(workloadId(scope.workload.view), history);
  const rank = (one: ObservedPod): number =>
    barOf(one, scope.workload.view) === undefined ? Number(refusedRestart(one.view, scope) !== undefined) : 2;
  const [pod] = pods.toSorted((a, b) => rank(a) - rank(b));
  if (pod === undefined) return undefined;
  const stale = held.filter(lease => lease.pod.uid === pod.view.uid);
  const candidate = { ...scope, pod, stale, history: own };
  const { finding, wayOut, intents } = firstMatch(CHECKS, candidate) ?? evict(candidate);
  const wait = waitOf({ ...finding, wayOut }, waitStartOf(scope), candidate);
  return { finding: withPatience(finding, wayOut, wait, scope.now), intents, podUID: pod.view.uid, wait };
}

/** When the restart of a pod of the workload began to wait, as in status. */
function waitStartOf({ workload, observed }: Scope): string | undefined {
  const id = workloadId(workload.view);
  return observed.previous.find(entry => entry.workload === id && entry.waitStartTime !== undefined)?.waitStartTime;
}

function heldByOther({ workload: { holder } }: Candidate): RestartDecision | undefined {
  if (holder === undefined) return undefined;
  return held("Conflict", `${describeHolder(holder)}.`, { isStalled: true });
}

/** It is never restarted, whatever is wrong with it. */
function barred({ pod, workload }: Candidate): RestartDecision | undefined {
  const bar = barOf(pod, workload.view);
  const isBrief = bar?.isBrief === true;
  const state = isBrief ? { isProgressing: true } : { isStalled: true };
  return (
    bar && { ...held("LeaseNotRenewed", `Not restarted: ${bar.why}.`, state), ...(isBrief && { wayOut: UPGRADE_HINT }) }
  );
}

function leasesDenied({ pod, now }: Candidate): RestartDecision | undefined {
  if (!pod.logs.some(log => isDeniedLeases(log, now.getTime()))) return undefined;
  const sentence = "A restart cannot help: its requests for Leases get 403 responses.";
  return held("LeaseNotRenewed", sentence, { isStalled: true });
}

/** API Priority and Fairness starves it: it renews again when that ends, and a restart adds requests. */
function throttled({ pod, now }: Candidate): RestartDecision | undefined {
  if (!pod.logs.some(log => isThrottled(log, now.getTime()))) return undefined;
  return deferred(
    "the API server refuses its requests with 429, and a restart would add more; flowIsolation keeps other clients away from its Leases",
    "find the client that floods the API server, or delete the pod by hand",
  );
}

/** The Lease has not been watched for longer than this, in milliseconds: the operator may just be new. */
const WATCHED_MS = 3_600_000;

/** A new leader of the operator knows from status that the Lease is stale; it looks for itself before it acts. */
function notSeenLongEnough({ stale, now }: Candidate): RestartDecision | undefined {
  if (stale.some(isSeenStanding)) return undefined;
  const isWatched = stale.some(({ track }) => now.getTime() - track.changedMs >= WATCHED_MS);
  const wayOut = "see whether the API server lists Leases in time";
  return deferred("the operator is watching the Lease first", isWatched ? wayOut : undefined);
}

/** The containers may restart again and again. */
function notRunningLongEnough({ stale }: Candidate): RestartDecision | undefined {
  if (stale.some(lease => isSeenStanding(lease) && hasHadChance(lease))) return undefined;
  return deferred(
    "its containers have not run for four durations of the Lease",
    "see whether its containers keep restarting",
  );
}

function limitReached(candidate: Candidate): RestartDecision | undefined {
  const { workload, observed, history, pending, now, pod } = candidate;
  const { maxUnavailable } = observed.limits;
  const limit = limitOf(pod.view, claimFor(candidate), { ...workload, history, maxUnavailable, pending, now });
  const { mode } = observed;
  if (limit === undefined) return undefined;
  const { wait, wayOut, reason } = limit;
  if (reason === "RestartsExhausted") return held(reason, `${capitalize(wait)}.`, { isStalled: true });
  if (mode === "Enforce") return deferred(wait, wayOut, reason);
  return held("WouldRestart", `${capitalize(wait)}. ${capitalize(whatWould(mode))} evict the pod then.`, {});
}

function evict(candidate: Candidate): RestartDecision {
  const { pod, stale, observed, workload } = candidate;
  const { name } = pod.view;
  const lease = stale.map(({ track }) => leaseId(track))[0] ?? "";
  const why = `Pod ${name} of ${workloadId(workload.view)} holds Lease ${lease} and no longer renews it.`;
  const intent = evictionOf(pod.view, why, claimFor(candidate));
  const { mode } = observed;
  if (mode === "Enforce") {
    const evicting = held("Restarting", `Evicting pod ${name}.`, { isProgressing: true });
    return { ...evicting, intents: [intent], wayOut: BLOCKED_HINT };
  }
  return { ...held("WouldRestart", `${capitalize(whatWould(mode))} evict pod ${name}.`, {}), intents: [intent] };
}

/** A successor must outlive what its predecessor did: it worked, then its Lease stood still until that was stale. */
function claimFor({ pod, stale, observed, workload, forMs }: Candidate): NonNullable<Intent["restart"]> {
  const { cooldownMs, maxRestarts } = observed.limits;
  const { createdAtMs } = pod.view;
  return {
    ...podClaim(workload.view, pod.view),
    cause: Cause.LeaseNotRenewed,
    workedMs: Math.min(
      ...stale.map(
        ({ track }) => track.changedMs - Math.max(createdAtMs, track.heldFromMs) + staleLimitMs(track, forMs),
      ),
    ),
    limits: { cooldownMs, maxRestarts },
    generation: observed.generation,
  };
}

/** A restart that can help waits. */
function deferred(wait: string, wayOut?: string, reason: Reason = "RestartDeferred"): RestartDecision {
  return { ...held(reason, `Restart deferred: ${wait}.`, { isProgressing: true }), wayOut };
}

function held(reason: Reason, sentence: string, state: Pick<Finding, "isStalled" | "isProgressing">): RestartDecision {
  return { finding: { reason, sentence, ...state }, intents: [] };
}

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
    wasExecuted: (entry: RestartStatus) => !isPodPresent(entry, workloadOf(entry)?.pods ?? []),
    outcomeOf: (entry: RestartStatus) => {
      const workload = workloadOf(entry);
      return workload ? outcomeOf(entry, workload, forMs, nowMs) : settleUnwatched(entry, nowMs).outcome;
    },
    accused: workloads.flatMap(({ view, pods }) => pods.flatMap(pod => accused(pod, workloadId(view), forMs))),
  };
  return settleOpenRestarts(history, evidence, nowMs);
}

/** A pod that holds stale Leases, since it was created or took the latest of them. */
function accused({ view, leases }: ObservedPod, workload: string, forMs: number): Accused[] {
  const stale = staleLeases(leases, forMs);
  if (stale.length === 0) return [];
  const sinceMs = Math.max(view.createdAtMs, ...stale.map(({ track }) => track.heldFromMs));
  return [{ workload, podUID: view.uid, cause: Cause.LeaseNotRenewed, sinceMs }];
}

function outcomeOf(
  entry: RestartStatus,
  workload: ObservedWorkload,
  forMs: number,
  nowMs: number,
): RestartStatus["outcome"] {
  const { view, pods } = workload;
  if (pods.some(pod => renews(pod, entry, forMs)) && !isPodPresent(entry, pods)) return "Recovered";
  // A person, or an autoscaler, wants no pods: nothing shows whether it helped.
  if (view.replicas === 0 && pods.length === 0) return "Replaced";
  return isOverdue(entry, workload, nowMs) && !mayRenew(pods, entry, nowMs) ? "Ineffective" : entry.outcome;
}

/** Renewals prove nothing before this, in milliseconds: some programs hang right after each start. */
const FIRST_MS = 60_000;

/**
 * Its successor, or another pod that took over since, is Ready and was seen to renew that Lease. A pod that goes on renewing a Lease of its own
 * says nothing.
 */
function renews(pod: ObservedPod, entry: RestartStatus, forMs: number): boolean {
  const isLater = (ms: number): boolean => ms - Date.parse(entry.time) >= FIRST_MS;
  const isRenewed = (held: HeldLease): boolean =>
    judgeLease(held, forMs) !== "stale" && held.track.renewalsMs.some(isLater);
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
  const isSince = (ms: number): boolean => view.uid !== entry.podUID && isCreatedAfter(ms, entry);
  return leases.filter(({ track }) => isSince(view.createdAtMs) || isSince(track.heldFromMs));
}
