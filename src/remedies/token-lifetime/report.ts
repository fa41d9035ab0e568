import type { DaemonSetStatus } from "../../api/controller-resilience";
import { type Execution, describePending, pendingWrites } from "../../core/intent";
import type { Outcomes, Report } from "../../core/remedy";
import { toSeconds } from "../../core/time";
import { type Finding, summarize, targetNotFound, worstFirst } from "../kit/finding";
import type { DaemonSetItem, TokenLifetimePlan } from "./plan";
import { type Reason, REASONS } from "./reasons";
import { stalledIfLong } from "./rollout";
import { type DaemonSetFinding, RECHECK_MS } from "./subject";

type TokenLifetimeReport = Report<Reason>;

/** Pending writes in one message. */
const MAX_PENDING = 5;

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
  const pending = pendingWrites([...outcomes.values()].flat());
  const findings = plan.daemonSets.map(item => foundOf(item, executionsOf(item.id), now));
  const summary = summaryOf(findings, plan.missingTargets);
  const report = { ...summary, ...recheckOf(plan, pending.length > 0), lists: { daemonSets } };
  return withPending(report, pending);
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

/** The report with the writes that are still pending. */
export function withPending(report: TokenLifetimeReport, pending: readonly Execution[]): TokenLifetimeReport {
  if (pending.length === 0) return report;
  const rest = pending.length > MAX_PENDING ? `; ${pending.length - MAX_PENDING} more` : "";
  const message = `${report.message} Pending: ${pending.slice(0, MAX_PENDING).map(describePending).join("; ")}${rest}.`;
  if (pending.some(({ outcome }) => outcome.result === "Forbidden")) {
    // Without the permission the True status can not be trusted.
    const status = report.status === "True" ? "Unknown" : report.status;
    const reason = "Forbidden";
    return { ...report, status, reason, message, progressing: false, stalled: { reason, message } };
  }
  return { ...report, reason: report.reason === "Rolling" ? "Waiting" : report.reason, message, progressing: true };
}
