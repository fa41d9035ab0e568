import type { DaemonSetStatus } from "../../api/controller-resilience";
import type { Plan, PlanItem } from "../../core/remedy";
import { each, type Steps } from "../../core/slices";
import { checkTemplate } from "./checks";
import { buildTrialEnd } from "./observe";
import { type DaemonSetFinding, isOurRollout, type Observed, type Spec, subjectOf, isOnTrial } from "./subject";
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
  const entry: DaemonSetStatus = isOurRollout(record) && !isOnTrial ? { ...record, outcome: "Waiting" } : record;
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
