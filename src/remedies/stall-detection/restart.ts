import { Cause } from "../../api/conditions";
import type { RestartStatus } from "../../api/controller-resilience";
import type { RestartClaim } from "../../core/intent";
import { capitalize } from "../../core/remedy";
import { STUCK_MS } from "../../evidence/metrics/judge";
import { barOf, waitOf, withPatience } from "../../restarts/limits";
import { type Check, firstMatch } from "../../core/checks";
import { describeHolder } from "../../restarts/holder";
import { asObserved, atLimit, deferred as waiting, evict, held } from "../kit/restarting";
import { type HeldLease, isReleased, isSeenStale, staleLeases, staleLimitMs } from "./lease-judge";
import { leaseId } from "./leases";
import { isOfLeases } from "./logs";
import { isRefusedWork } from "./metrics";
import type { IdlePod, ObservedPod, Scope } from "./observed";
import { podClaim, refusedRestart } from "../../restarts/claims";
import { hasOwnWork } from "./progress";
import type { Finding, Reason } from "./reasons";
import type { Stall } from "./stalls";

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

/** Adds to the stall of one pod what is done about it, and to its entry the wait of its restart. */
export function withDecision(stalls: readonly Stall[], scope: Scope, history: Candidate["history"]): Stall[] {
  const candidate = nextOf(scope, history);
  const index = stalls.findIndex(
    ({ entry }) => entry.podUID === candidate?.pod.view.uid && ["Lease", "Metrics"].includes(entry.evidence),
  );
  const stall = stalls[index];
  if (candidate === undefined || stall === undefined) return [...stalls];
  const { mode } = scope.observed;
  const decided = asObserved(firstMatch(CHECKS, candidate) ?? restart(candidate), mode, candidate.pod.view.name);
  const wait = waitOf(decided, waitStartOf(scope), candidate);
  const sentence = [stall.finding.sentence, decided.sentence].filter(text => text !== "").join(" ");
  const finding = withPatience({ ...decided, sentence }, decided.wayOut, wait, scope.now);
  return stalls.with(index, { finding, entry: { ...stall.entry, ...wait } });
}

/**
 * The pod whose Lease has stood still for the longest time, or that does nothing. One that may not be restarted, whose log cannot be read, or whose
 * eviction the API server has refused a moment ago, gives its turn to the next.
 */
function nextOf(scope: Scope, history: Candidate["history"]): Candidate | undefined {
  if (scope.spec.onStall !== "Restart") return undefined;
  const { view, pods } = scope;
  const candidates = pods.flatMap(pod => candidateOf(pod, scope, history));
  const rank = ({ pod }: Candidate): number =>
    barOf(pod, view) === undefined ? Number(!pod.logs.isRead || refusedRestart(pod.view, scope) !== undefined) : 2;
  return candidates.toSorted((a, b) => rank(a) - rank(b) || standingMs(b) - standingMs(a))[0];
}

/** A pod where work waits and none is finished is condemned; one that only sees no change, or is busy, only if work of its workload is due. */
function candidateOf(pod: ObservedPod, scope: Scope, history: Candidate["history"]): Candidate[] {
  const stale = staleLeases(pod.leases)
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
function waitStartOf({ id, observed }: Scope): string | undefined {
  return observed.previous.find(entry => entry.workload === id && entry.waitStartTime !== undefined)?.waitStartTime;
}

function heldByOther({ holder }: Candidate): Finding | undefined {
  return holder === undefined ? undefined : held("Conflict", `${describeHolder(holder)}.`);
}

/** It is never restarted, whatever is wrong with it. */
function barred(candidate: Candidate): Finding | undefined {
  const bar = barOf(candidate.pod, candidate.view);
  return bar && held(reasonOf(candidate), `Not restarted: ${bar.why}.`);
}

function reasonOf({ stale, idle }: Candidate): Reason {
  return stale.length > 0 || idle === undefined ? "LeaseNotRenewed" : idle.reason;
}

/** Only its log may show that a restart cannot help. */
function logUnread({ pod }: Candidate): Finding | undefined {
  if (pod.logs.isRead) return undefined;
  const wait = "its log, which may show that its requests are refused, cannot be read or was not read yet";
  return deferred(wait, "see why its log cannot be read, or delete the pod by hand");
}

function leasesDenied({ pod }: Candidate): Finding | undefined {
  if (!pod.logs.recent.some(isOfLeases)) return undefined;
  const sentence =
    "A restart cannot help: its requests for Leases get 403 responses; restore its permissions on Leases.";
  return held("LeaseNotRenewed", sentence);
}

/** What it is denied, it is denied after a restart. tokenRestart heals 401s. */
function workRefused(candidate: Candidate): Finding | undefined {
  const { stale, idle, pod } = candidate;
  if (stale.length > 0 || idle === undefined || !isRefusedWork(pod)) return undefined;
  const sentence =
    "Not restarted: its requests get 401, 403 or 422 responses, which a restart may not change; see in its log what refuses them.";
  return held(reasonOf(candidate), sentence);
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
function notSeenLongEnough({ stale }: Candidate): Finding | undefined {
  if (stale.length === 0 || stale.some(isSeenStale)) return undefined;
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
  const { id, pod, stale, idle, observed } = candidate;
  const [lease] = stale.map(({ track }) => leaseId(track));
  const holds = `Pod ${pod.view.name} of ${id} holds Lease ${lease ?? ""} and no longer renews it.`;
  const why = lease === undefined ? (idle?.sentence ?? "") : holds;
  return evict({ pod, claim: claimFor(candidate) }, observed.mode, { reason: reasonOf(candidate), sentence: "", why });
}

/**
 * A successor must outlive what its predecessor did: it worked, then stood still until that was too long. Workers that block on an object block
 * again, so that one restart in vain is enough.
 */
function claimFor(candidate: Candidate): RestartClaim {
  const { pod, stale, idle, observed } = candidate;
  const { cooldownMs, maxRestarts } = observed.limits;
  const { createdAtMs } = pod.view;
  const worked = stale.map(
    held => held.track.changedMs - Math.max(createdAtMs, held.track.heldFromMs) + staleLimitMs(held),
  );
  const claim = podClaim(candidate, pod.view);
  if (worked.length > 0)
    return {
      ...{ ...claim, cause: Cause.LeaseNotRenewed, workedMs: Math.min(...worked) },
      limits: { cooldownMs, maxRestarts },
    };
  const workedMs = (idle?.sinceMs ?? createdAtMs) + STUCK_MS - createdAtMs;
  return { ...claim, cause: Cause.ProgressStopped, workedMs, limits: { cooldownMs, maxRestarts: 1 } };
}

function deferred(wait: string, wayOut: string): Finding {
  return waiting(`Restart deferred: ${wait}.`, { wayOut });
}
