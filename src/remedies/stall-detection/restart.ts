import { Cause } from "../../api/conditions";
import type { RestartStatus } from "../../api/controller-resilience";
import type { Intent } from "../../core/intent";
import { capitalize, whatWould } from "../../core/remedy";
import { restartsOf } from "../../restarts/history";
import { STUCK_MS } from "../../evidence/metrics/judge";
import { barOf, limitOf, type Wait, waitOf } from "../../restarts/limits";
import { type Check, firstMatch } from "../../core/checks";
import { describeHolder } from "../../restarts/holder";
import { type HeldLease, isReleased, isSeenStale, staleLeases, staleLimitMs } from "./lease-judge";
import { leaseId } from "./leases";
import { isDeniedLeases, isThrottled } from "./logs";
import { isRefusedWork } from "./metrics";
import type { IdlePod, ObservedPod, Scope } from "./observed";
import {
  BLOCKED_HINT,
  evictionOf,
  type PlannedRestart,
  podClaim,
  refusedRestart,
  workloadId,
} from "../../restarts/claims";
import { hasOwnWork } from "./progress";
import type { Finding, Reason } from "./reasons";

// Which pod with a stale Lease, or that does nothing, is restarted, and what that waits for. Pure. The executor checks the limits that hold for the
// whole cluster.

/** A pod with what condemns it, and the restarts of its workload. */
interface Candidate extends Scope {
  readonly pod: ObservedPod;
  /** Its stale Leases, the one that has stood still for the longest time first. */
  readonly stale: readonly HeldLease[];
  /** What its metrics show. It counts only without a stale Lease, which is the older evidence. */
  readonly idle: IdlePod | undefined;
  /** With the outcomes known now. */
  readonly history: readonly RestartStatus[];
}

/** What follows for a pod. */
interface RestartDecision {
  /** Why it is not restarted now, or what is done with it: replaces the finding of the stall, after its sentence. */
  readonly finding: Partial<Pick<Finding, "sentence">> &
    Pick<Finding, "reason" | "isStalled" | "isProgressing"> & { readonly restart?: PlannedRestart };
  readonly intents: readonly Intent[];
  /** It waits for something that may never happen: what a person can do about it. */
  readonly wayOut?: string | undefined;
}

/** The decision about one pod, and the wait of its restart. */
export interface PodDecision extends RestartDecision {
  readonly podUID: string;
  readonly wait: Wait;
}

/** Each holds the restart back. */
export const CHECKS: readonly Check<Candidate, RestartDecision>[] = [
  heldByOther,
  barred,
  logUnread,
  leasesDenied,
  workRefused,
  throttled,
  notSeenLongEnough,
  limitReached,
];

/**
 * Decides on the restart of the pod whose Lease has stood still for the longest time, or that does nothing. One that may not be restarted, whose
 * log cannot be read, or whose eviction the API server has refused a moment ago, gives its turn to the next.
 */
export function decideRestart(scope: Scope, restarts: readonly RestartStatus[]): PodDecision | undefined {
  if (scope.spec.onStall !== "Restart") return undefined;
  const { view, pods } = scope.workload;
  const history = restartsOf(workloadId(view), restarts);
  const candidates = pods.flatMap(pod => candidateOf(pod, scope, history));
  const rank = ({ pod }: Candidate): number =>
    barOf(pod, view) === undefined ? Number(!isLogRead(pod) || refusedRestart(pod.view, scope) !== undefined) : 2;
  const [candidate] = candidates.toSorted((a, b) => rank(a) - rank(b) || standingMs(b) - standingMs(a));
  if (candidate === undefined) return undefined;
  const decision = firstMatch(CHECKS, candidate) ?? evict(candidate);
  const wait = waitOf({ ...decision.finding, wayOut: decision.wayOut }, waitStartOf(scope), candidate);
  return { ...decision, podUID: candidate.pod.view.uid, wait };
}

/** A pod where work waits and none is finished is condemned; one that only sees no change, or is busy, only if work of its workload is due. */
function candidateOf(pod: ObservedPod, scope: Scope, history: Candidate["history"]): Candidate[] {
  const stale = staleLeases(pod.leases, scope.forMs)
    .filter(({ track }) => !isReleased(track))
    .toSorted((a, b) => b.track.standingMs - a.track.standingMs);
  const idle = pod.idle?.hasWork === true || hasOwnWork(scope) ? pod.idle : undefined;
  return stale.length > 0 || idle !== undefined ? [{ ...scope, pod, stale, idle, history }] : [];
}

/** Pods with a stale Lease come first. */
function standingMs({ stale }: Candidate): number {
  return stale[0]?.track.standingMs ?? -1;
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
function barred(candidate: Candidate): RestartDecision | undefined {
  const bar = barOf(candidate.pod, candidate.workload.view);
  return bar && held(reasonOf(candidate), `Not restarted: ${bar.why}.`, { isStalled: true });
}

function reasonOf({ stale, idle }: Candidate): Reason {
  return stale.length > 0 || idle === undefined ? "LeaseNotRenewed" : idle.reason;
}

function isLogRead({ logs }: ObservedPod): boolean {
  return logs.every(({ isRead }) => isRead);
}

/** Only its log may show that a restart cannot help. */
function logUnread({ pod }: Candidate): RestartDecision | undefined {
  if (isLogRead(pod)) return undefined;
  const wait = "its log, which may show that its requests are refused, cannot be read or was not read yet";
  return deferred(wait, "see why its log cannot be read, or delete the pod by hand");
}

function leasesDenied({ pod, now }: Candidate): RestartDecision | undefined {
  if (!pod.logs.some(log => isDeniedLeases(log, now.getTime()))) return undefined;
  const sentence =
    "A restart cannot help: its requests for Leases get 403 responses; restore its permissions on Leases.";
  return held("LeaseNotRenewed", sentence, { isStalled: true });
}

/** What it is denied, it is denied after a restart. tokenRestart heals 401s. */
function workRefused(candidate: Candidate): RestartDecision | undefined {
  const { stale, idle, pod, now } = candidate;
  if (stale.length > 0 || idle === undefined || !isRefusedWork(pod, now.getTime())) return undefined;
  const sentence =
    "Not restarted: its requests get 401, 403 or 422 responses, which a restart may not change; see in its log what refuses them.";
  return held(reasonOf(candidate), sentence, { isStalled: true });
}

/** API Priority and Fairness starves it: it renews again when that ends, and a restart adds requests. */
function throttled({ pod, now }: Candidate): RestartDecision | undefined {
  if (!pod.logs.some(log => isThrottled(log, now.getTime()))) return undefined;
  return deferred(
    "the API server refuses its requests with 429, and a restart would add more; flowIsolation keeps other clients away from its Leases",
    "find the client that floods the API server, or delete the pod by hand",
  );
}

/**
 * A new leader of the operator knows from status that the Lease is stale; it looks for itself before it acts. Containers that restart again and again
 * may not have had the time to renew it.
 */
function notSeenLongEnough({ stale }: Candidate): RestartDecision | undefined {
  if (stale.length === 0 || stale.some(isSeenStale)) return undefined;
  return deferred(
    "the operator watches the Lease for four of its durations, while the containers run",
    "see whether its containers keep restarting, and whether the API server lists Leases in time",
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
  const { pod, stale, idle, observed, workload } = candidate;
  const { name } = pod.view;
  const [lease] = stale.map(({ track }) => leaseId(track));
  const [id, sentence] = [workloadId(workload.view), idle?.sentence ?? ""];
  const why = lease === undefined ? sentence : `Pod ${name} of ${id} holds Lease ${lease} and no longer renews it.`;
  const intent = evictionOf(pod.view, why, claimFor(candidate));
  const { mode } = observed;
  const reason = mode === "Enforce" ? "Restarting" : "WouldRestart";
  const next = mode === "Enforce" ? `Evicting pod ${name}.` : `${capitalize(whatWould(mode))} evict pod ${name}.`;
  const finding = { reason, isProgressing: mode === "Enforce", restart: { next } } as const;
  return { finding, intents: [intent], ...(mode === "Enforce" && { wayOut: BLOCKED_HINT }) };
}

/**
 * A successor must outlive what its predecessor did: it worked, then stood still until that was too long. Workers that block on an object block
 * again, so that one restart in vain is enough.
 */
function claimFor({ pod, stale, idle, observed, workload, forMs }: Candidate): NonNullable<Intent["restart"]> {
  const { cooldownMs, maxRestarts } = observed.limits;
  const { createdAtMs } = pod.view;
  const worked = stale.map(
    ({ track }) => track.changedMs - Math.max(createdAtMs, track.heldFromMs) + staleLimitMs(track, forMs),
  );
  const claim = podClaim(workload, pod.view);
  if (worked.length > 0)
    return {
      ...{ ...claim, cause: Cause.LeaseNotRenewed, workedMs: Math.min(...worked) },
      limits: { cooldownMs, maxRestarts },
    };
  const workedMs = (idle?.sinceMs ?? createdAtMs) + STUCK_MS - createdAtMs;
  return { ...claim, cause: Cause.ProgressStopped, workedMs, limits: { cooldownMs, maxRestarts: 1 } };
}

/** A restart that can help waits. */
function deferred(wait: string, wayOut?: string, reason: Reason = "RestartDeferred"): RestartDecision {
  return { ...held(reason, `Restart deferred: ${wait}.`, { isProgressing: true }), wayOut };
}

function held(reason: Reason, sentence: string, state: Pick<Finding, "isStalled" | "isProgressing">): RestartDecision {
  return { finding: { reason, sentence, ...state }, intents: [] };
}
