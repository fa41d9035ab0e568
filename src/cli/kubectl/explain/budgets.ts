import type { Cause } from "../../../api/conditions";
import type { ControllerResilience, RestartStatus, TokenRestartSpec } from "../../../api/controller-resilience";
import { parseDuration } from "../../../core/duration";
import { checkRestartBudget, incidentOf, restartsOf } from "../../../core/restarts";

/** What is left of the restart budget of a workload for one cause. */
export interface BudgetLeft {
  /** As `Deployment/web`. */
  readonly workload: string;
  readonly cause: string;
  readonly used: number;
  readonly max: number;
  readonly window: string;
  /** RFC 3339: the next restart is not before this time. Absent: now. */
  readonly notBefore?: string;
  readonly limit?: string;
}

/**
 * Returns the budgets of workloads that had restarts, by the operator's own rules. A further restart counts as one of a new pod after
 * the others. Workloads without restarts have their whole budget. Pure.
 */
export function budgetsOf({ spec, status }: ControllerResilience, nowMs: number): BudgetLeft[] {
  const { tokenRestart } = spec;
  if (tokenRestart === undefined) return [];
  const history = status?.restarts ?? [];
  const workloads = [...new Set(history.map(({ workload }) => workload))];
  return workloads.flatMap(workload => ofWorkload(restartsOf(workload, history), tokenRestart, nowMs));
}

function ofWorkload(history: readonly RestartStatus[], spec: TokenRestartSpec, nowMs: number): BudgetLeft[] {
  const newest = new Map(history.map(entry => [incidentOf(entry), entry]));
  return [...newest.values()].map(entry => leftFor(entry, history, spec, nowMs));
}

function leftFor(
  last: RestartStatus,
  history: readonly RestartStatus[],
  spec: TokenRestartSpec,
  nowMs: number,
): BudgetLeft {
  const { maxRestarts, maxRestartsWindow, cooldown } = spec;
  const check = (cooldownMs: number, max: number) =>
    checkRestartBudget(
      history,
      {
        workload: last.workload,
        pod: "next",
        podUID: "next",
        cause: last.cause as Cause,
        ...(last.serviceAccountUID === undefined ? {} : { serviceAccountUID: last.serviceAccountUID }),
        limits: { cooldownMs, maxRestarts: max, maxRestartsWindowMs: parseDuration(maxRestartsWindow) },
      },
      new Date(nowMs),
    );
  const counts = Array.from({ length: maxRestarts }, (_, i) => i + 1);
  const enough = counts.find(max => check(0, max).allowed);
  const decision = check(parseDuration(cooldown), maxRestarts);
  return {
    workload: last.workload,
    cause: last.cause,
    used: enough === undefined ? maxRestarts : enough - 1,
    max: maxRestarts,
    window: maxRestartsWindow,
    ...(decision.allowed
      ? {}
      : { limit: decision.limit, notBefore: new Date(nowMs + decision.retryAfterMs).toISOString() }),
  };
}
