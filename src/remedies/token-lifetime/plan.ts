import type { DaemonSetStatus } from "../../api/controller-resilience";
import type { Plan, PlanItem } from "../../core/remedy";
import { checkTemplate } from "./checks";
import { buildTrialEnd } from "./observe";
import { type DaemonSetFinding, isOurRollout, type Observed, type Spec, subjectOf, isOnTrial } from "./subject";
import { settleRestarts } from "./trial";

/** If several DaemonSets are blocked, each is tried first for this long, in milliseconds. */
const ROTATION_MS = 60_000;

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

/** Plans reverts of all DaemonSets, and any other change for one DaemonSet at a time. */
export function planTokenLifetime(observed: Observed, spec: Spec, now: Date): TokenLifetimePlan {
  const nowMs = now.getTime();
  const restarts = settleRestarts(observed, spec, nowMs);
  const settled = { ...observed, restarts };
  const findings = observed.daemonSets.map(daemonSet => checkTemplate(subjectOf(daemonSet, settled, spec, nowMs)));
  const reverts = findings.filter(isRevert);
  const changes = findings.filter(finding => !isRevert(finding) && (finding.intents ?? []).length > 0);
  const [next, ...later] = blockedLast(changes, observed, nowMs);
  const items = new Map(
    findings.map(finding => [finding, later.includes(finding) ? laterItem(finding, observed) : itemOf(finding)]),
  );
  const daemonSets = [...items.values()];
  const first = [...reverts, ...(next ? [next] : [])].flatMap(finding => items.get(finding) ?? []);
  const others = daemonSets.filter(item => !first.includes(item));
  const former = observed.formerEntries.map(entry => formerItem(entry, observed));
  return {
    items: [...first, ...others, ...former],
    daemonSets,
    former,
    missingTargets: observed.missingTargets,
    isReviewing: observed.isReviewing,
    restarts,
    needsCleanup: needsCleanup(daemonSets, observed),
  };
}

function isRevert({ entry }: DaemonSetFinding): boolean {
  return entry.outcome === "Reverting";
}

/** DaemonSets whose last write was blocked come last; several of them take turns. */
function blockedLast(changes: readonly DaemonSetFinding[], observed: Observed, nowMs: number): DaemonSetFinding[] {
  const blocked = changes.filter(({ entry }) => lastHindranceOf(entry, observed) !== undefined);
  const start = blocked.length === 0 ? 0 : Math.floor(nowMs / ROTATION_MS) % blocked.length;
  return [...changes.filter(change => !blocked.includes(change)), ...blocked.slice(start), ...blocked.slice(0, start)];
}

function itemOf(finding: DaemonSetFinding): DaemonSetItem {
  const { entry, intents = [] } = finding;
  return { id: `DaemonSet/${entry.name}`, intents, finding };
}

/** A change that is not tried in this pass keeps the hindrance of its last try. */
function laterItem(finding: DaemonSetFinding, observed: Observed): DaemonSetItem {
  const hindrance = lastHindranceOf(finding.entry, observed);
  const entry = { ...finding.entry, ...(hindrance && { hindrance }) };
  return { ...itemOf({ ...finding, entry }), intents: [] };
}

/** In Observe mode nothing is tried; and a try for another generation was about another change. */
function lastHindranceOf({ name }: DaemonSetStatus, observed: Observed): DaemonSetStatus["hindrance"] {
  const record = observed.daemonSets.find(({ view }) => view.name === name)?.record;
  const isCurrent = observed.mode === "Enforce" && record?.generation === observed.generation;
  return isCurrent ? record.hindrance : undefined;
}

/**
 * Only its trial is left to be ended, which every pass tries. The object waits for nothing else of it, so no other object may wait for its
 * rollout.
 */
function formerItem(record: DaemonSetStatus, observed: Observed): FormerItem {
  const rest = { ...record };
  delete rest.hindrance;
  const trial = observed.formerTrials.find(({ view }) => view.name === rest.name);
  const isOnTrial = rest.outcome === "Trial" && trial !== undefined;
  const entry: DaemonSetStatus = isOurRollout(rest) && !isOnTrial ? { ...rest, outcome: "Waiting" } : rest;
  return { id: `DaemonSet/${rest.name}`, intents: trial === undefined ? [] : [buildTrialEnd(trial)], entry };
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
