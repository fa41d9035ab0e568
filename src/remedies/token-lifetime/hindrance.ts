import type { DaemonSetStatus } from "../../api/controller-resilience";
import type { Execution, Intent, Outcome } from "../../core/intent";
import type { Decision } from "../../core/legacy-remedy";
import { describeUndone } from "../../core/outcomes";

// One DaemonSet is tried at a time. What stands in the way of the others stands in status, so that what is said does not change from turn to turn.

/** What stood in the way of a DaemonSet at its last try. */
export type Hindrance = NonNullable<DaemonSetStatus["hindrance"]>;

/** The gravest first; what has no reason of its own comes last. */
const BY_SEVERITY: readonly Hindrance["reason"][] = ["Forbidden", "RestartBlocked", "RestartDeferred", undefined];

/** What status tells of something that was not carried out. */
export function hindranceOf(execution: Execution): Hindrance {
  const reason = reasonOf(execution.intent, execution.outcome);
  return { ...(reason === undefined ? {} : { reason }), message: describeUndone(execution) };
}

function reasonOf({ verb }: Intent, outcome: Outcome): Hindrance["reason"] {
  if (outcome.result === "Forbidden") return "Forbidden";
  if (outcome.result === "Limited" && outcome.limit !== "PassTime") return "RestartDeferred";
  return outcome.result === "Blocked" && verb === "evict" ? "RestartBlocked" : undefined;
}

/** What was decided, with what stands in its way. */
export function hindered(decision: Decision, hindrances: readonly Hindrance[]): Decision {
  const [worst] = hindrances.toSorted((a, b) => BY_SEVERITY.indexOf(a.reason) - BY_SEVERITY.indexOf(b.reason));
  if (worst === undefined) return decision;
  const message = `${decision.message} Not done yet: ${hindrances.map(one => one.message).join("; ")}.`;
  if (worst.reason === "Forbidden") {
    const { reason } = worst;
    // That all is well was decided before anybody knew that a right is missing.
    const status = decision.status === "True" ? "Unknown" : decision.status;
    return { ...decision, status, reason, message, progressing: false, stalled: { reason, message } };
  }
  // What a person is needed for is graver than a pod that has to wait.
  const reason = decision.stalled === undefined ? worst.reason : undefined;
  return { ...decision, ...(reason === undefined ? {} : { reason }), message, progressing: true };
}
