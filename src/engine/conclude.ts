import { Reason } from "../api/conditions";
import type { Intent, Outcome } from "../core/intent";
import type { Decision } from "../core/remedy";

/** An intent and what became of it. */
export interface Execution {
  readonly intent: Intent;
  readonly outcome: Outcome;
}

/** The order in which outcomes are worth telling; those that are not here change nothing. */
const TOLD = ["Forbidden", "Failed", "Blocked", "Limited", "Conflict"] as const;

/** How outcomes change a decision where the remedy has no words of its own. Pure. */
export function concludeGenerally(decision: Decision, executions: readonly Execution[]): Decision {
  const worst = TOLD.map(result => executions.find(({ outcome }) => outcome.result === result)).find(Boolean);
  if (worst === undefined) return decision;
  const { intent, outcome } = worst;
  const forbidden = outcome.result === "Forbidden";
  const target = `${intent.target.kind} ${intent.target.name}`;
  return {
    ...decision,
    // What was decided rests on a write that has not happened.
    status: decision.status === "True" ? "Unknown" : decision.status,
    reason: forbidden ? Reason.Forbidden : decision.reason,
    message: `${decision.message} Not done yet: ${intent.verb} ${target}: ${describe(outcome)}.`,
    progressing: !forbidden,
    ...(forbidden ? { stalled: { reason: Reason.Forbidden, message: describe(outcome) } } : {}),
  };
}

// Without times: a message that changes with every pass would make every pass write status.
function describe(outcome: Outcome): string {
  if ("message" in outcome) return outcome.message;
  return outcome.result === "Limited" ? `held back by ${outcome.limit}` : outcome.result;
}
