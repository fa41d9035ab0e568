import type { DaemonSetStatus } from "../../api/controller-resilience";
import { toSeconds } from "../../core/time";
import type { Execution, Intent } from "../../core/intent";
import type { Decision } from "../../core/legacy-remedy";
import { undone } from "../../core/outcomes";
import { SHORTENED } from "./build";
import { noteChange } from "./case";
import { ROLLING_MS } from "./checks";
import { hindranceOf, hindered } from "./hindrance";

/** What was carried out is noted in status; what was not is said. Pure. */
export function concludeDaemonSets(decision: Decision, executions: readonly Execution[], now: Date): Decision {
  const daemonSets = (decision.parts?.daemonSets ?? []).map(entry => {
    const own = executions.filter(({ intent }) => isOf(entry, intent));
    return own.length === 0 ? entry : { ...noted(entry, own, now), ...hindranceIn(own) };
  });
  const concluded = { ...decision, parts: { ...decision.parts, daemonSets } };
  const others = executions.filter(({ intent }) => !daemonSets.some(entry => isOf(entry, intent)));
  const hindrances = [
    ...daemonSets.flatMap(({ hindrance }) => hindrance ?? []),
    ...undone(others).slice(0, 1).map(hindranceOf),
  ];
  const isRefused = undone(executions).length > 0;
  return hindered({ ...concluded, ...(isRefused ? notAtOnce(concluded) : {}) }, hindrances);
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

function hindranceIn(executions: readonly Execution[]): Pick<DaemonSetStatus, "hindrance"> {
  const [worst] = undone(executions);
  return worst === undefined ? {} : { hindrance: hindranceOf(worst) };
}

function noted(entry: DaemonSetStatus, executions: readonly Execution[], now: Date): DaemonSetStatus {
  if (entry.outcome === "Reverting") return takenBack(entry, executions, now);
  const changes = executions.filter(({ intent }) => intent.verb !== "delete");
  if (undone(changes).length > 0) return entry;
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
