import { Reason } from "../../api/conditions";
import type { Execution } from "../../core/intent";
import type { Decision } from "../../core/remedy";
import { describeObstacle, describeUndone, undone } from "../../core/outcomes";

/** How outcomes change a decision where the remedy has no words of its own. Pure. */
export function concludeGenerally(decision: Decision, executions: readonly Execution[]): Decision {
  const [worst] = undone(executions);
  if (worst === undefined) return decision;
  const forbidden = worst.outcome.result === "Forbidden";
  return {
    ...decision,
    // What was decided rests on a write that has not happened.
    status: decision.status === "True" ? "Unknown" : decision.status,
    reason: forbidden ? Reason.Forbidden : decision.reason,
    message: `${decision.message} Not done yet: ${describeUndone(worst)}.`,
    progressing: !forbidden,
    ...(forbidden ? { stalled: { reason: Reason.Forbidden, message: describeObstacle(worst) } } : {}),
  };
}
