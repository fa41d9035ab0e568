import type { DaemonSetStatus } from "../../api/controller-resilience";
import { type Execution, pendingWrites } from "../../core/intent";
import type { Outcomes, Report } from "../../core/remedy";
import { toSeconds } from "../../core/time";
import { type Finding, summarize, targetNotFound, withPending, worstFirst } from "../kit/finding";
import type { DaemonSetItem, TokenLifetimePlan } from "./plan";
import { type Reason, REASONS } from "./reasons";
import { stalledIfLong } from "./rollout";
import { type DaemonSetFinding, RECHECK_MS } from "./subject";

type TokenLifetimeReport = Report<Reason>;

const NO_DAEMON_SETS: Finding<Reason> = {
  status: "True",
  reason: "NothingToDo",
  sentence: "The targets contain no DaemonSet; tokens of other kinds are not bounded.",
};

/** Reports the condition and status.daemonSets. */
export function reportTokenLifetime(plan: TokenLifetimePlan, outcomes: Outcomes, now: Date): TokenLifetimeReport {
  const executionsOf = (id: string): readonly Execution[] => outcomes.get(id) ?? [];
  const daemonSets = [
    ...plan.daemonSets.map(item => executed(item, executionsOf(item.id), now)),
    ...plan.former.map(({ entry }) => entry),
  ];
  const executions = [...outcomes.values()].flat();
  const isBlocked = pendingWrites(executions).length > 0;
  const findings = plan.daemonSets.map(item => foundOf(item, executionsOf(item.id), now));
  const summary = summaryOf(findings, plan.missingTargets);
  const reason = isBlocked && summary.reason === "Rolling" ? "Waiting" : summary.reason;
  return withPending({ ...summary, reason, ...recheckOf(plan, isBlocked), lists: { daemonSets } }, executions);
}

/** A planned change that is held back waits. */
function foundOf({ finding }: DaemonSetItem, executions: readonly Execution[], now: Date): DaemonSetFinding {
  const isHeld = finding.entry.outcome === "Planned" && pendingWrites(executions).length > 0;
  return isHeld ? stalledIfLong(finding, now.getTime()) : finding;
}

function summaryOf(daemonSets: readonly DaemonSetFinding[], missingTargets: readonly string[]): TokenLifetimeReport {
  const sorted = worstFirst<Reason, Finding<Reason>>(REASONS, [...daemonSets, ...missingTargets.map(targetNotFound)]);
  return summarize(sorted, NO_DAEMON_SETS, rest => `Plus ${rest} more; see status.daemonSets.`);
}

function recheckOf(
  { daemonSets, isReviewing }: TokenLifetimePlan,
  isBlocked: boolean,
): Pick<TokenLifetimeReport, "recheckAfterMs"> {
  const times = daemonSets.flatMap(({ finding }) => finding.recheckAfterMs ?? []);
  const nextMs = Math.min(...times, isReviewing ? RECHECK_MS : Infinity);
  if (!Number.isFinite(nextMs)) return {};
  // A blocked write is not retried immediately.
  return { recheckAfterMs: Math.max(isBlocked ? RECHECK_MS : 1_000, nextMs) };
}

/** The entry after the writes of its DaemonSet: the outcome that they lead to, from now on. */
function executed(
  { finding: { entry, after } }: DaemonSetItem,
  executions: readonly Execution[],
  now: Date,
): DaemonSetStatus {
  const isExecuted = executions.length > 0 && executions.every(({ outcome }) => outcome.result === "Executed");
  if (after === undefined || !isExecuted) return entry;
  const ended: DaemonSetStatus = { ...entry, outcome: after };
  // The wait for the change is over.
  delete ended.waitStartTime;
  if (after === "Trial" || after === "Rolling") return { ...ended, appliedTime: toSeconds(now) };
  // Pods that still have the shorter token prove nothing about a later template.
  if (after === "Reverted") delete ended.appliedTime;
  return ended;
}
