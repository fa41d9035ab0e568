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
  isOnTrial,
  isOurRollout,
  type Observed,
  RECHECK_MS,
  type Spec,
  subjectOf,
} from "./subject";
import { settleRestarts } from "./trial";

/** One DaemonSet. */
export interface DaemonSetItem extends PlanItem {
  readonly finding: DaemonSetFinding;
}

/** A DaemonSet that is no target now: its trial is ended. */
interface FormerItem extends PlanItem {
  readonly entry: DaemonSetStatus;
}

export interface TokenLifetimePlan extends Plan {
  /** The DaemonSets in the order of status.daemonSets; `items` has them in the order of their writes. */
  readonly daemonSets: readonly DaemonSetItem[];
  /** DaemonSets that do not exist or are no targets now. */
  readonly former: readonly FormerItem[];
  readonly missingTargets: readonly string[];
  /** Logs are read, or a restart has no outcome yet. */
  readonly isReviewing: boolean;
}

/** Plans reverts first, then every other change: the engine lets one rollout begin at a time in the cluster. */
export function* planTokenLifetime(observed: Observed, spec: Spec, now: Date): Steps<TokenLifetimePlan> {
  const nowMs = now.getTime();
  const restarts = settleRestarts(observed, nowMs);
  const settled = { ...observed, restarts };
  const daemonSets = yield* each(observed.daemonSets, daemonSet =>
    itemOf(checkTemplate(subjectOf(daemonSet, settled, spec, nowMs))),
  );
  const former = observed.formerEntries.map(entry => formerItem(entry, observed));
  return {
    items: [...daemonSets.filter(isRevert), ...daemonSets.filter(item => !isRevert(item)), ...former],
    daemonSets,
    former,
    missingTargets: observed.missingTargets,
    isReviewing: observed.isReviewing,
    restarts,
    needsCleanup: needsCleanup(daemonSets, observed),
  };
}

function isRevert({ finding }: DaemonSetItem): boolean {
  return finding.after === "Reverted";
}

function itemOf(finding: DaemonSetFinding): DaemonSetItem {
  const { entry, intents = [] } = finding;
  return { id: `DaemonSet/${entry.name}`, intents, finding };
}

/**
 * Only its trial is left to be ended, which every pass tries. The object waits for nothing else of it, so no other object may wait for its
 * rollout.
 */
function formerItem(record: DaemonSetStatus, observed: Observed): FormerItem {
  const trial = observed.formerTrials.find(({ view }) => view.name === record.name);
  const isOnTrial = record.outcome === "Trial" && trial !== undefined;
  const entry: DaemonSetStatus = isOurRollout(record) && !isOnTrial ? { ...record, outcome: "Waiting" } : { ...record };
  delete entry.waitStartTime;
  return { id: `DaemonSet/${record.name}`, intents: trial === undefined ? [] : [buildTrialEnd(trial)], entry };
}

/** OnDelete holds up every update of the DaemonSet, so it must not outlive the object. */
function needsCleanup(items: readonly DaemonSetItem[], { daemonSets, formerTrials }: Observed): boolean {
  const isBeginning = items.some(({ finding, intents }) => finding.after === "Trial" && intents.length > 0);
  return (
    isBeginning ||
    formerTrials.length > 0 ||
    daemonSets.some(({ view, holder }) => holder === undefined && isOnTrial(view))
  );
}

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
  return summarize(sorted, NO_DAEMON_SETS, "status.daemonSets");
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
  // The pod that it replaced is still to come back.
  if (after === "Unproven") return { ...ended, waitStartTime: toSeconds(now) };
  // Pods that still have the shorter token prove nothing about a later template.
  if (after === "Reverted") delete ended.appliedTime;
  return ended;
}
