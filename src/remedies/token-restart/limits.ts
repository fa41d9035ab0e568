import type { RestartStatus, TokenRestartSpec } from "../../api/controller-resilience";
import type { RestartClaim } from "../../core/intent";
import { type BudgetDecision, checkRestartBudget, isOpen } from "../../core/restarts";
import type { Assessment } from "./assessment";
import { limitsOf, nextClaim, type WorkloadState } from "./candidates";
import { isUsedUp, wasUsedUp } from "./exhausted";
import { describeShare, describeTime } from "./wording";

// Checks against budgets: reasons for a restart that can help to wait. Pure.

/** The restarts did not help often enough. */
export function restartsExhausted(state: WorkloadState): Assessment | undefined {
  const { workload, rejected, isCooling } = state;
  if (rejected.length === 0 || isCooling || !isExhausted(state)) return undefined;
  const sentence = `${describeShare(workload, rejected)}; restarts did not help; find out why its requests get 401 responses. A change of the spec allows more restarts after the cooldown.`;
  return { status: "False", reason: "RestartsExhausted", sentence, isStalled: true };
}

/** Candidates whose restarts are not used up come first, so the next candidate speaks for all. */
function isExhausted(state: WorkloadState): boolean {
  const { observed, previous } = state;
  const claim = nextClaim(state);
  if (claim === undefined) return wasUsedUp(previous, observed.generation);
  return isUsedUp(claim, state, observed.generation);
}

/** Remaining cooldown after the last of these restarts, without doubling, in milliseconds. An unreadable time counts as now. */
export function coolingMs(history: readonly RestartStatus[], spec: TokenRestartSpec, now: Date): number {
  const { cooldownMs } = limitsOf(spec);
  const left = history.map(({ time }) => Date.parse(time) + cooldownMs - now.getTime());
  return Math.max(0, ...left.map(ms => (Number.isNaN(ms) ? cooldownMs : ms)));
}

/** The budget does not allow the next restart yet. */
export function cooldownActive(state: WorkloadState): Assessment | undefined {
  const claim = nextClaim(state);
  if (claim === undefined) return undefined;
  const budget = budgetOf(state, claim);
  if (budget.allowed) return undefined;
  const { retryAfterMs } = budget;
  const limit = budget.limit === "Cooldown" ? "cooldown" : "maxRestarts";
  const time = describeTime(state.now.getTime() + retryAfterMs);
  const wait = describeWait(state, claim, `${time} (${limit})`);
  const sentence = `${describeShare(state.workload, state.rejected)}; ${wait}.`;
  return { status: "False", reason: "RestartDeferred", sentence, isProgressing: true, retryAfterMs };
}

/** The wait ends earlier if it is for open restarts, and they help. */
function describeWait(state: WorkloadState, claim: RestartClaim, until: string): string {
  const recovered = state.history.map(
    (entry): RestartStatus => (isOpen(entry) ? { ...entry, outcome: "Recovered" } : entry),
  );
  const open = state.history.findLast(entry => isOpen(entry));
  const isAwaited = open !== undefined && budgetOf({ ...state, history: recovered }, claim).allowed;
  if (!isAwaited) return `next restart possible at ${until}`;
  return `waiting for the restart of pod ${open.pod} to recover, at most until ${until}`;
}

/** Of forgiven restarts only the cooldown counts. */
function budgetOf({ history, spec, now, isCooling }: WorkloadState, claim: RestartClaim): BudgetDecision {
  if (!isCooling) return checkRestartBudget(history, claim, now);
  return { allowed: false, limit: "Cooldown", retryAfterMs: coolingMs(history, spec, now) };
}
