import type { RestartStatus } from "../../api/controller-resilience";
import type { Outcome, RestartClaim } from "../../core/intent";
import { checkRestartBudget, isUnproven } from "../../core/restarts/budget";
import type { Breaker } from "./breaker";
import type { LeaderWarmup } from "./leader-warmup";

/** The outcome of a restart that is deferred. */
export type Deferral = Extract<Outcome, { result: "Limited" }>;

/** What a claim is checked against. */
export interface CheckScope {
  readonly warmup: LeaderWarmup;
  readonly breaker: Breaker;
  /** The restarts that the object has recorded. */
  readonly history: readonly RestartStatus[];
  readonly now: Date;
}

type Check = (claim: RestartClaim, scope: CheckScope) => Deferral | undefined;

/** Time until a restart that waits for the leader warm-up is tried again, in milliseconds. */
const WARMUP_RECHECK_MS = 2_000;

/** In this order; the first deferral wins. The restart pacer is asked last, since it gives out a permit. */
const CHECKS: readonly Check[] = [
  budgetExceeded,
  historyIncomplete,
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

/** The cooldown of the workload is not over, or its restarts are used up. */
function budgetExceeded(claim: RestartClaim, { history, now }: CheckScope): Deferral | undefined {
  const budget = checkRestartBudget(history, claim, now);
  return budget.allowed ? undefined : { result: "Limited", limit: budget.limit, retryAfterMs: budget.retryAfterMs };
}

/** Whether another unproven restart is open is known once the new leader has loaded every object of the cluster. */
function historyIncomplete(claim: RestartClaim, { warmup }: CheckScope): Deferral | undefined {
  if (!isUnproven(claim) || warmup.isComplete()) return undefined;
  return { result: "Limited", limit: "LeaderWarmup", retryAfterMs: WARMUP_RECHECK_MS };
}
