import { Cause } from "../../api/conditions";
import type { RestartStatus } from "../../api/controller-resilience";
import type { Intent } from "../../core/intent";
import { capitalize, whatWould } from "../../core/remedy";
import {
  checkRestartBudget,
  isCreatedAfter,
  isOpen,
  RESTARTS_WINDOW_MS,
  restartsOf,
  settleOpenRestarts,
} from "../../restarts/history";
import { toSeconds } from "../../core/time";
import { type Check, firstMatch } from "../../core/checks";
import { describeHolder } from "../../restarts/holder";
import { hasHadChance, type HeldLease, isSeenStanding, judgeLease, staleLeases, staleLimitMs } from "./lease-judge";
import { leaseId } from "./leases";
import { isDeniedLeases, isThrottled } from "./logs";
import { type ObservedPod, type ObservedWorkload, type Scope } from "./observed";
import { evictionOf, podClaim, refusedRestart, workloadId } from "../../restarts/claims";
import type { Finding, Reason } from "./reasons";
import type { Stall } from "./stalls";

// Which pod with a stale Lease is restarted, what it waits for, and whether it helped. Pure. The executor checks the limits that hold for the whole cluster.

/** Restarts that did not help count for this long, in milliseconds: then the operator tries again. */
const EXHAUSTED_MS = 86_400_000;

/** What the operator waits for may never happen: a person must act after this long, in milliseconds. */
const LATE_MS = 3_600_000;

/** A pod whose Lease is stale, and the restarts of its workload. */
interface Candidate extends Scope {
  readonly pod: ObservedPod;
  /** Its stale Leases, the one that has stood still for the longest time first. */
  readonly stale: readonly HeldLease[];
  /** Neither a restart nor the first evidence is younger than {@link LATE_MS}. */
  readonly isLate: boolean;
  /** With the outcomes known now. */
  readonly history: readonly RestartStatus[];
}

/** What follows from the stale Leases of a workload. */
export interface RestartDecision {
  /** Why the pod is not restarted now, or what is done with it: replaces the finding of the stall, after its sentence. */
  readonly finding: Pick<Finding, "reason" | "sentence" | "isStalled" | "isProgressing">;
  readonly intents: readonly Intent[];
  /** As in the candidate. */
  readonly isLate?: boolean;
}

/** Each holds the restart back. */
const CHECKS: readonly Check<Candidate, RestartDecision>[] = [
  heldByOther,
  skipped,
  ownPod,
  leasesDenied,
  throttled,
  notSeenLongEnough,
  notRunningLongEnough,
  exhausted,
  rolloutInProgress,
  othersUnavailable,
  overBudget,
];

/**
 * Decides on the restart of the pod whose Lease has stood still for the longest time. One that may not be restarted, or whose eviction the API
 * server has refused a moment ago, gives its turn to the next.
 */
export function decideRestart(
  stalls: readonly Stall[],
  scope: Scope,
  history: readonly RestartStatus[],
): (RestartDecision & { readonly podUID: string }) | undefined {
  if (scope.spec.onStall !== "Restart") return undefined;
  const held = stalls.flatMap(stall => stall.held ?? []).toSorted((a, b) => b.track.standingMs - a.track.standingMs);
  const pods = held.flatMap(({ pod }) => scope.workload.pods.find(({ view }) => view.uid === pod.uid) ?? []);
  const own = restartsOf(workloadId(scope.workload.view), history);
  const isLate = isLateSince(stalls, own, scope.now.getTime());
  const rank = ({ view, isOperator }: ObservedPod): number =>
    view.skip || isOperator ? 2 : Number(refusedRestart(view, scope) !== undefined);
  const [pod] = pods.toSorted((a, b) => rank(a) - rank(b));
  if (pod === undefined) return undefined;
  const stale = held.filter(lease => lease.pod.uid === pod.view.uid);
  const candidate = { ...scope, pod, stale, isLate, history: own };
  return { ...(firstMatch(CHECKS, candidate) ?? evict(candidate)), podUID: pod.view.uid };
}

function isLateSince(stalls: readonly Stall[], history: readonly RestartStatus[], nowMs: number): boolean {
  const found = stalls.filter(stall => stall.held !== undefined).map(({ entry }) => Date.parse(entry.since));
  const restarted = history.map(({ time }) => Date.parse(time)).filter(ms => ms <= nowMs);
  return nowMs - Math.max(Math.min(...found), ...restarted) >= LATE_MS;
}

/** A wait that may never end. */
export function waiting(isLate: boolean): Pick<Finding, "isStalled" | "isProgressing"> {
  return isLate ? { isStalled: true } : { isProgressing: true };
}

function heldByOther({ workload: { holder } }: Candidate): RestartDecision | undefined {
  if (holder === undefined) return undefined;
  return held("Conflict", `${describeHolder(holder)}.`, { isStalled: true });
}

function skipped({ pod, workload }: Candidate): RestartDecision | undefined {
  if (!pod.view.skip && !workload.view.skip) return undefined;
  return held("LeaseNotRenewed", "The skip annotation is set, so the operator leaves it alone.", { isStalled: true });
}

function ownPod({ pod }: Candidate): RestartDecision | undefined {
  if (!pod.isOperator) return undefined;
  return held("LeaseNotRenewed", "It is a pod of this operator, which does not restart itself.", { isStalled: true });
}

function leasesDenied({ pod, now }: Candidate): RestartDecision | undefined {
  if (!pod.logs.some(log => isDeniedLeases(log, now.getTime()))) return undefined;
  const sentence = "A restart cannot help: its requests for Leases get 403 responses.";
  return held("LeaseNotRenewed", sentence, { isStalled: true });
}

/** API Priority and Fairness starves it: it renews again when that ends, and a restart adds requests. */
function throttled({ pod, now, isLate }: Candidate): RestartDecision | undefined {
  if (!pod.logs.some(log => isThrottled(log, now.getTime()))) return undefined;
  const sentence =
    "Restart deferred: the API server refuses its requests with 429, and a restart would add more; flowIsolation keeps other clients away from its Leases.";
  return held("RestartDeferred", sentence, waiting(isLate));
}

/** A new leader of the operator knows from status that the Lease is stale; it looks for itself before it acts. */
function notSeenLongEnough({ stale, now, isLate }: Candidate): RestartDecision | undefined {
  if (stale.some(isSeenStanding)) return undefined;
  const isWatched = stale.some(({ track }) => now.getTime() - track.changedMs >= LATE_MS);
  const sentence = "Restart deferred: the operator is watching the Lease first.";
  return held("RestartDeferred", sentence, waiting(isLate && isWatched));
}

/** The containers may restart again and again. */
function notRunningLongEnough({ stale, isLate }: Candidate): RestartDecision | undefined {
  if (stale.some(lease => isSeenStanding(lease) && hasHadChance(lease))) return undefined;
  const sentence =
    "Restart deferred: its containers have not run for four durations of the Lease; see whether they keep restarting.";
  return held("RestartDeferred", sentence, waiting(isLate));
}

function exhausted({ history, observed, now }: Candidate): RestartDecision | undefined {
  const { maxRestarts } = observed.limits;
  // Whether a Replaced one has helped is not known.
  const known = history.filter(({ outcome }) => outcome !== "Replaced");
  const lastHelped = known.findLastIndex(({ outcome }) => outcome !== "Ineffective");
  const recent = known.slice(lastHelped + 1).filter(({ time }) => now.getTime() - Date.parse(time) < EXHAUSTED_MS);
  if (recent.length < maxRestarts) return undefined;
  const sentence = `${recent.length} restarts did not help; find out why it does not renew its Lease. The operator tries again a day after the last restarts.`;
  return held("RestartsExhausted", sentence, { isStalled: true });
}

function rolloutInProgress({ workload, isLate }: Candidate): RestartDecision | undefined {
  if (workload.view.rollout?.isInProgress !== true) return undefined;
  return held("RestartDeferred", "Restart deferred: a rollout is in progress.", waiting(isLate));
}

/** Pods that are not Ready, besides the one to restart. */
function othersUnavailable({ workload, pod, observed, isLate }: Candidate): RestartDecision | undefined {
  const { maxUnavailable } = observed.limits;
  const others = workload.pods.filter(({ view }) => view.uid !== pod.view.uid);
  const missing = Math.max(0, workload.view.replicas - workload.pods.length);
  const unavailable = missing + others.filter(({ view }) => !view.ready || view.deletedAtMs !== undefined).length;
  if (unavailable < maxUnavailable) return undefined;
  const sentence = `Restart deferred: as many other pods are unavailable as maxUnavailable allows (${maxUnavailable}).`;
  return held("RestartDeferred", sentence, waiting(isLate));
}

function overBudget(candidate: Candidate): RestartDecision | undefined {
  const { history, now } = candidate;
  const budget = checkRestartBudget(history, claimFor(candidate), now);
  if (budget.allowed) return undefined;
  const open = history.findLast(isOpen);
  const until = toSeconds(new Date(now.getTime() + budget.retryAfterMs));
  const limit = budget.limit === "Cooldown" ? "cooldown" : "maxRestarts";
  const sentence =
    open === undefined
      ? `Next restart possible at ${until} (${limit}).`
      : `The operator is watching the restart of pod ${open.pod}.`;
  return held("RestartDeferred", sentence, { isProgressing: true });
}

function evict(candidate: Candidate): RestartDecision {
  const { pod, stale, observed, workload, isLate } = candidate;
  const { name } = pod.view;
  const lease = stale.map(({ track }) => leaseId(track))[0] ?? "";
  const why = `Pod ${name} of ${workloadId(workload.view)} holds Lease ${lease} and no longer renews it.`;
  const intent = evictionOf(pod.view, why, claimFor(candidate));
  const { mode } = observed;
  if (mode === "Enforce")
    return { ...held("Restarting", `Evicting pod ${name}.`, { isProgressing: true }), intents: [intent], isLate };
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
  };
}

function held(reason: Reason, sentence: string, state: Pick<Finding, "isStalled" | "isProgressing">): RestartDecision {
  return { finding: { reason, sentence, ...state }, intents: [] };
}

/** Without a pod that renews a Lease after this time, a restart was ineffective, in milliseconds. A workload that is gone says nothing. */
const INEFFECTIVE_AFTER_MS = 600_000;

/** Updates the outcomes: history in, history out. A restart did not help if its successor stops renewing within an hour, as in tokenRestart. */
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
  const settled = settleOpenRestarts(history, evidence, nowMs);
  const recent = settled.filter(({ time }) => nowMs - Date.parse(time) <= RESTARTS_WINDOW_MS);
  const relapsed = new Set(
    workloads.flatMap(({ view, pods }) => {
      const own = restartsOf(workloadId(view), recent);
      return pods.map(pod => relapsedRestart(pod, own, forMs));
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
