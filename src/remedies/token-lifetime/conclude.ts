import { Reason } from "../../api/conditions";
import type { DaemonSetStatus } from "../../api/controller-resilience";
import type { Intent, Outcome } from "../../core/intent";
import type { Decision } from "../../core/remedy";
import { noteChange } from "./case";
import { RESTORED } from "./build";

/** What was carried out is noted in status; what was not is said. Pure. */
export function concludeDaemonSets(
  decision: Decision,
  [execution]: readonly { readonly intent: Intent; readonly outcome: Outcome }[],
  now: Date,
): Decision {
  if (execution === undefined) return decision;
  const { intent, outcome } = execution;
  if (outcome.result !== "Executed") return hindered(decision, intent, outcome);
  const daemonSets = (decision.parts?.daemonSets ?? []).map(entry =>
    entry.name === intent.target.name ? noted(entry, intent, now) : entry,
  );
  return { ...decision, parts: { ...decision.parts, daemonSets } };
}

function noted(entry: DaemonSetStatus, intent: Intent, now: Date): DaemonSetStatus {
  if (intent.eventReason === RESTORED) return { ...entry, outcome: "Reverted" };
  return noteChange({ ...entry, outcome: "Rolling" }, now);
}

function hindered(decision: Decision, intent: Intent, outcome: Outcome): Decision {
  const why = "message" in outcome ? outcome.message : undefined;
  if (why === undefined) return decision;
  const message = `${decision.message} Not done yet: ${intent.verb} ${intent.target.kind} ${intent.target.name}: ${why}.`;
  if (outcome.result !== "Forbidden") return { ...decision, message, progressing: true };
  const reason = Reason.Forbidden;
  return { ...decision, reason, message, progressing: false, stalled: { reason, message } };
}
