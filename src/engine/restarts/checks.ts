import type { RestartStatus } from "../../api/controller-resilience";
import type { Outcome, RestartClaim } from "../../core/intent";
import { checkRestartBudget, isOpen, isUnproven } from "../../core/restarts/budget";
import type { Breaker } from "./breaker";
import type { LeaderWarmup } from "./leader-warmup";

/** The outcome of a restart that is deferred. */
export type Deferral = Extract<Outcome, { result: "Limited" }>;

/** What a claim is checked against. */
export interface CheckScope {
  readonly namespace: string;
  readonly warmup: LeaderWarmup;
  readonly breaker: Breaker;
  /** Every restart that counts against the budget of the claim's workload. */
  readonly history: readonly RestartStatus[];
  /** Those of them that other objects have recorded. */
  readonly others: readonly RestartStatus[];
  readonly now: Date;
}

type Check = (claim: RestartClaim, scope: CheckScope) => Deferral | undefined;

/** Time until a restart that waits for the leader warm-up is tried again, in milliseconds. */
const WARMUP_RECHECK_MS = 2_000;

/** The breaker counts restarts in the whole cluster. */
const WIDE_WARMUP =
  "Waiting: the new leader is still loading restart history for all namespaces, since the restart rests on logs alone.";

/** A restart by another object delays for this long at most, in milliseconds: the object may be gone, so that nothing settles it. */
const OTHERS_COUNT_MS = 900_000;

/** Time until a restart that waits for another object's is tried again, in milliseconds. */
const OTHERS_RECHECK_MS = 10_000;

/** In this order; the first deferral wins. The restart pacer is asked last, since it gives out a permit. */
const CHECKS: readonly Check[] = [
  historyIncomplete,
  budgetExceeded,
  otherObjectRestarts,
  (claim, { breaker }) => breaker.ownTrouble(claim),
  (claim, { breaker }) => breaker.tripped(claim),
  (claim, { breaker }) => breaker.otherOpen(claim),
];

/** Returns what defers a restart now. */
export function deferralOf(claim: RestartClaim, scope: CheckScope): Deferral | undefined {
  for (const check of CHECKS) {
    const deferral = check(claim, scope);
    if (deferral !== undefined) return deferral;
  }
  return undefined;
}

/** The new leader has not loaded every object of the namespace yet; for an unproven restart, every object of the cluster. */
function historyIncomplete(claim: RestartClaim, { namespace, warmup }: CheckScope): Deferral | undefined {
  const isWide = isUnproven(claim);
  if (isWide ? warmup.isComplete() : warmup.isCompleteIn(namespace)) return undefined;
  warmup.requestMissing(isWide ? undefined : namespace);
  const detail = isWide ? { detail: WIDE_WARMUP } : {};
  return { result: "Limited", limit: "LeaderWarmup", retryAfterMs: WARMUP_RECHECK_MS, ...detail };
}

/** The cooldown of the workload is not over, or its restarts are used up. */
function budgetExceeded(claim: RestartClaim, { history, now }: CheckScope): Deferral | undefined {
  const budget = checkRestartBudget(history, claim, now);
  return budget.allowed ? undefined : { result: "Limited", limit: budget.limit, retryAfterMs: budget.retryAfterMs };
}

/** Each object counts only its own restarts against maxUnavailable, so two objects with one workload take turns. */
function otherObjectRestarts({ podUID }: RestartClaim, { others, now }: CheckScope): Deferral | undefined {
  const isOngoing = others.some(
    entry => isOpen(entry) && entry.podUID !== podUID && now.getTime() - Date.parse(entry.time) < OTHERS_COUNT_MS,
  );
  return isOngoing ? { result: "Limited", limit: "OtherObject", retryAfterMs: OTHERS_RECHECK_MS } : undefined;
}
