import { Reason } from "../../api/conditions";
import type { DaemonSetStatus } from "../../api/controller-resilience";
import { toSeconds } from "../../core/conditions";
import type { Intent, Outcome } from "../../core/intent";
import type { Decision } from "../../core/remedy";
import { SHORTENED } from "./build";
import { noteChange } from "./case";
import { ROLLING_MS } from "./checks";

interface Execution {
  readonly intent: Intent;
  readonly outcome: Outcome;
}

/** What was carried out is noted in status; what was not is said. Pure. */
export function concludeDaemonSets(decision: Decision, executions: readonly Execution[], now: Date): Decision {
  const daemonSets = (decision.parts?.daemonSets ?? []).map(entry => {
    const own = executions.filter(({ intent }) => isOf(entry, intent));
    return own.length === 0 ? entry : noted(entry, own, now);
  });
  const concluded = { ...decision, parts: { ...decision.parts, daemonSets } };
  const failed = executions.find(({ outcome }) => isHindered(outcome));
  return failed === undefined ? concluded : hindered({ ...concluded, ...notAtOnce(concluded) }, failed);
}

/** What was refused is not asked for again at once; what does harm is looked at again all the same. */
function notAtOnce({ recheckAfterMs, parts }: Decision): Pick<Decision, "recheckAfterMs"> {
  const isUrgent = parts?.daemonSets?.some(({ outcome }) => outcome === "Reverting") ?? false;
  return recheckAfterMs === undefined || isUrgent ? {} : { recheckAfterMs: Math.max(recheckAfterMs, ROLLING_MS) };
}

/** The DaemonSet itself, its policy and binding, or one of its pods. */
function isOf({ name, policy }: DaemonSetStatus, { target, restart }: Intent): boolean {
  if (restart !== undefined) return restart.workload === `DaemonSet/${name}`;
  return target.name === (target.kind === "DaemonSet" ? name : policy);
}

function isHindered(outcome: Outcome): boolean {
  return "message" in outcome || outcome.result === "Limited";
}

function noted(entry: DaemonSetStatus, executions: readonly Execution[], now: Date): DaemonSetStatus {
  if (entry.outcome === "Reverting") return takenBack(entry, executions, now);
  const changes = executions.filter(({ intent }) => intent.verb !== "delete");
  // Another DaemonSet gets its turn before this one is tried again. What was learnt of it stays.
  if (changes.some(({ outcome }) => isHindered(outcome))) {
    return entry.outcome === "Reverted" ? entry : { ...entry, outcome: "Waiting" };
  }
  const made = changes.filter(
    ({ intent, outcome }) => intent.eventReason === SHORTENED && outcome.result === "Executed",
  );
  if (made.length === 0) return entry;
  const isTemplate = made.some(({ intent }) => intent.target.kind === "DaemonSet");
  return noteChange(isTemplate ? { ...entry, outcome: "Rolling" } : entry, now);
}

function takenBack(entry: DaemonSetStatus, executions: readonly Execution[], now: Date): DaemonSetStatus {
  if (!executions.every(({ outcome }) => outcome.result === "Executed")) return entry;
  const restored: DaemonSetStatus = { ...entry, outcome: "Reverted" };
  // Nothing is watched any more: pods that are left with the shorter token say nothing of a later template.
  delete restored.appliedTime;
  delete restored.watchTime;
  if (restored.policy === undefined) return restored;
  delete restored.policy;
  // For some seconds an API server may still follow a policy that is gone.
  return { ...restored, appliedTime: toSeconds(now) };
}

function hindered(decision: Decision, { intent, outcome }: Execution): Decision {
  const { verb, target } = intent;
  const message = `${decision.message} Not done yet: ${verb} ${target.kind} ${target.name}: ${describe(outcome)}.`;
  if (outcome.result === "Forbidden") {
    const reason = Reason.Forbidden;
    return { ...decision, reason, message, progressing: false, stalled: { reason, message } };
  }
  // What a person is needed for is graver than a pod that has to wait.
  const reason = decision.stalled === undefined ? reasonOf(verb, outcome) : undefined;
  return { ...decision, ...(reason === undefined ? {} : { reason }), message, progressing: true };
}

function reasonOf(verb: Intent["verb"], { result }: Outcome): Reason | undefined {
  if (result === "Limited") return Reason.RestartDeferred;
  return result === "Blocked" && verb === "evict" ? Reason.RestartBlocked : undefined;
}

// Without times: a message that changes with every pass would make every pass write status.
function describe(outcome: Outcome): string {
  if ("message" in outcome) return outcome.message;
  return outcome.result === "Limited" ? `held back by ${outcome.limit}` : outcome.result;
}
