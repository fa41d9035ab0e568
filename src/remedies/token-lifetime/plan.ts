import type { DaemonSetStatus } from "../../api/controller-resilience";
import { type Execution, pendingWrites } from "../../core/intent";
import type { Outcomes, Plan, PlanItem, Report } from "../../core/remedy";
import { each, type Steps } from "../../core/slices";
import { toSeconds } from "../../core/time";
import { type Finding, summarize, targetNotFound, withPending, worstFirst } from "../kit/finding";
import { checkTemplate } from "./checks";
import { buildTrialEnd } from "./observe";
import { type Reason, REASONS } from "./reasons";
import { stalledIfLong } from "./rollout";
import {
  type DaemonSetFinding,
  type FormerDaemonSet,
  isOnTrial,
  isOurRollout,
  type Observed,
  RECHECK_MS,
  type Spec,
} from "./subject";
import { settleRestarts } from "./trial";

/** One DaemonSet. */
interface DaemonSetItem extends PlanItem {
  readonly entry: DaemonSetStatus;
  /** Absent: it is no target now, and only its trial is ended. */
  readonly finding?: DaemonSetFinding;
}

export interface TokenLifetimePlan extends Plan<DaemonSetItem> {
  readonly observed: Observed;
  /** The items in the order of status.daemonSets. */
  readonly listed: readonly DaemonSetItem[];
}

/** Plans reverts first, then every other change: the engine lets one rollout begin at a time in the cluster. */
export function* planTokenLifetime(observed: Observed, spec: Spec, now: Date): Steps<TokenLifetimePlan> {
  const nowMs = now.getTime();
  const restarts = settleRestarts(observed, nowMs);
  const settled = { ...observed, restarts };
  const daemonSets = yield* each(observed.daemonSets, daemonSet =>
    itemOf(checkTemplate({ ...daemonSet, observed: settled, spec, nowMs })),
  );
  const listed = [...daemonSets, ...observed.former.map(formerItem)];
  const isRevert = ({ finding }: DaemonSetItem): boolean => finding?.after === "Reverted";
  return {
    items: listed.toSorted((a, b) => Number(isRevert(b)) - Number(isRevert(a))),
    listed,
    observed,
    restarts,
    needsCleanup: needsCleanup(daemonSets, observed),
  };
}

function itemOf(finding: DaemonSetFinding): DaemonSetItem {
  const { entry, intents = [] } = finding;
  return { id: `DaemonSet/${entry.name}`, intents, entry, finding };
}

/**
 * Only its trial is left to be ended, which every pass tries. The object waits for nothing else of it, so no other object may wait for its
 * rollout.
 */
function formerItem({ record, trial }: FormerDaemonSet): DaemonSetItem {
  const isOver = isOurRollout(record) && trial === undefined;
  const entry: DaemonSetStatus = isOver ? { ...record, outcome: "Waiting" } : { ...record };
  delete entry.waitStartTime;
  const intents = trial === undefined ? [] : [buildTrialEnd(trial, record)];
  return { id: `DaemonSet/${record.name}`, intents, entry };
}

/** OnDelete holds up every update of the DaemonSet, so it must not outlive the object. */
function needsCleanup(items: readonly DaemonSetItem[], { daemonSets, former }: Observed): boolean {
  return (
    items.some(({ finding, intents }) => finding?.after === "Trial" && intents.length > 0) ||
    former.some(({ trial }) => trial !== undefined) ||
    daemonSets.some(({ view, holder }) => holder === undefined && isOnTrial(view))
  );
}

const NO_DAEMON_SETS: Finding<Reason> = {
  status: "True",
  reason: "NothingToDo",
  sentence: "The targets contain no DaemonSet; tokens of other kinds are not bounded.",
};

/** Reports the condition and status.daemonSets. */
export function reportTokenLifetime(plan: TokenLifetimePlan, outcomes: Outcomes, now: Date): Report<Reason> {
  const { listed, observed } = plan;
  const executionsOf = ({ id }: DaemonSetItem): readonly Execution[] => outcomes.get(id) ?? [];
  const daemonSets = listed.map(item => executed(item, executionsOf(item), now));
  const executions = [...outcomes.values()].flat();
  const isBlocked = pendingWrites(executions).length > 0;
  const findings = listed.flatMap(item => foundOf(item, executionsOf(item), now));
  const missing: Finding<Reason>[] = observed.missingTargets.map(targetNotFound);
  const summary = summarize(
    worstFirst<Reason, Finding<Reason>>(REASONS, [...findings, ...missing]),
    NO_DAEMON_SETS,
    "status.daemonSets",
  );
  const reason = isBlocked && summary.reason === "Rolling" ? "Waiting" : summary.reason;
  const recheck = recheckOf(findings, observed.isReviewing, isBlocked);
  return withPending({ ...summary, reason, ...recheck, lists: { daemonSets } }, executions);
}

/** A planned change that is held back waits. */
function foundOf({ finding }: DaemonSetItem, executions: readonly Execution[], now: Date): DaemonSetFinding[] {
  if (finding === undefined) return [];
  const isHeld = finding.entry.outcome === "Planned" && pendingWrites(executions).length > 0;
  return [isHeld ? stalledIfLong(finding, now.getTime()) : finding];
}

function recheckOf(
  findings: readonly DaemonSetFinding[],
  isReviewing: boolean,
  isBlocked: boolean,
): Pick<Report<Reason>, "recheckAfterMs"> {
  const times = findings.flatMap(({ recheckAfterMs }) => recheckAfterMs ?? []);
  const nextMs = Math.min(...times, isReviewing ? RECHECK_MS : Infinity);
  if (!Number.isFinite(nextMs)) return {};
  // A blocked write is not retried immediately.
  return { recheckAfterMs: Math.max(isBlocked ? RECHECK_MS : 1_000, nextMs) };
}

/** The entry after the writes of its DaemonSet: the outcome that they lead to, from now on. */
function executed({ finding, entry }: DaemonSetItem, executions: readonly Execution[], now: Date): DaemonSetStatus {
  const after = finding?.after;
  const isExecuted = executions.length > 0 && executions.every(({ outcome }) => outcome.result === "Executed");
  if (after === undefined || !isExecuted) return entry;
  const ended: DaemonSetStatus = { ...entry, outcome: after };
  // The wait for the change is over.
  delete ended.waitStartTime;
  if (after === "Trial" || after === "Rolling") return { ...ended, appliedTime: toSeconds(now) };
  // The pod that it replaced is still to come back.
  if (after === "Unproven") return { ...ended, waitStartTime: toSeconds(now) };
  // Pods that still have the shorter token prove nothing about a later template.
  if (after === "Reverted") delete ended.appliedTime;
  return ended;
}
