import { Reason } from "../../api/conditions";
import type { DaemonSetStatus } from "../../api/controller-resilience";
import type { Intent, Outcome } from "../../core/intent";
import type { Decision } from "../../core/remedy";
import { RESTORED } from "./build";
import { noteChange } from "./case";

interface Execution {
  readonly intent: Intent;
  readonly outcome: Outcome;
}

/** What was carried out is noted in status; what was not is said. Pure. */
export function concludeDaemonSets(decision: Decision, executions: readonly Execution[], now: Date): Decision {
  const daemonSets = (decision.parts?.daemonSets ?? []).map(entry => {
    const execution = executions.find(({ intent }) => intent.target.name === entry.name);
    return execution === undefined ? entry : noted(entry, execution, now);
  });
  const concluded = { ...decision, parts: { ...decision.parts, daemonSets } };
  const failed = executions.find(({ outcome }) => "message" in outcome);
  return failed === undefined ? concluded : hindered(concluded, failed);
}

function noted(entry: DaemonSetStatus, { intent, outcome }: Execution, now: Date): DaemonSetStatus {
  const isRelease = intent.eventReason === RESTORED;
  // Another DaemonSet gets its turn before this one is tried again.
  if ("message" in outcome && !isRelease) return { ...entry, outcome: "Waiting" };
  if (outcome.result !== "Executed") return entry;
  if (!isRelease) return noteChange({ ...entry, outcome: "Rolling" }, now);
  const restored: DaemonSetStatus = { ...entry, outcome: "Reverted" };
  // Nothing is watched any more: pods that are left with the shorter token say nothing of a later template.
  delete restored.appliedTime;
  return restored;
}

function hindered(decision: Decision, { intent, outcome }: Execution): Decision {
  const { verb, target } = intent;
  const why = "message" in outcome ? outcome.message : outcome.result;
  const message = `${decision.message} Not done yet: ${verb} ${target.kind} ${target.name}: ${why}.`;
  if (outcome.result !== "Forbidden") return { ...decision, message, progressing: true };
  const reason = Reason.Forbidden;
  return { ...decision, reason, message, progressing: false, stalled: { reason, message } };
}
