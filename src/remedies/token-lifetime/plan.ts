import type { DaemonSetStatus } from "../../api/controller-resilience";
import type { Intent } from "../../core/intent";
import type { Plan, PlanItem } from "../../core/remedy";
import { checkAdmissionSets, ownPoliciesOf, removeObsolete, settleRestarts, withRecordedPolicy } from "./admission";
import { checkTemplate } from "./checks/template";
import type { DaemonSetFinding } from "./finding";
import { isOurRollout, type Observed, type Spec } from "./observed";
import { subjectOf } from "./subject";
import { buildTrialEnd } from "./trial/cleanup";
import { isOnTrial } from "./trial/strategy";

/** If several DaemonSets are blocked, each is tried first for this long, in milliseconds. */
const ROTATION_MS = 60_000;

/** One DaemonSet. */
export interface DaemonSetItem extends PlanItem {
  readonly finding: DaemonSetFinding;
}

/** One policy or binding to delete. */
export interface RemovalItem extends PlanItem {
  /** Name of the policy and its binding. */
  readonly policy: string;
}

export interface TokenLifetimePlan extends Plan {
  /** The DaemonSets in the order of status.daemonSets; `items` has them in the order of their writes. */
  readonly daemonSets: readonly DaemonSetItem[];
  readonly removals: readonly RemovalItem[];
  /** Status entries of DaemonSets that do not exist or are no targets now. */
  readonly formerEntries: readonly DaemonSetStatus[];
  readonly missingTargets: readonly string[];
  /** Logs are read, or a restart has no outcome yet. */
  readonly isReviewing: boolean;
}

/** Plans reverts of all DaemonSets, and any other change for one DaemonSet at a time. */
export function planTokenLifetime(observed: Observed, spec: Spec, now: Date): TokenLifetimePlan {
  const nowMs = now.getTime();
  const restarts = settleRestarts(observed, spec, nowMs);
  const { findings, removals } = checkAll({ ...observed, restarts }, spec, nowMs);
  const reverts = findings.filter(isRevert);
  const changes = findings.filter(finding => !isRevert(finding) && (finding.intents ?? []).length > 0);
  const [next, ...later] = blockedLast(changes, observed, nowMs);
  const items = new Map(
    findings.map(finding => [
      finding,
      later.includes(finding) ? laterItem(finding, observed) : itemOf(finding, observed),
    ]),
  );
  const daemonSets = [...items.values()];
  const first = [...reverts, ...(next ? [next] : [])].flatMap(finding => items.get(finding) ?? []);
  const others = daemonSets.filter(item => !first.includes(item));
  const removalItems = [...removals, ...observed.formerTrials.map(buildTrialEnd)].map(removalItem);
  const formerEntries = observed.formerEntries.map(entry => formerEntry(entry, observed));
  return {
    items: [...first, ...others, ...removalItems],
    daemonSets,
    removals: removalItems,
    formerEntries,
    missingTargets: observed.missingTargets,
    isReviewing: observed.isReviewing,
    restarts,
    needsCleanup: needsCleanup(daemonSets, formerEntries, observed),
  };
}

function checkAll(
  observed: Observed,
  spec: Spec,
  nowMs: number,
): { findings: readonly DaemonSetFinding[]; removals: readonly Intent[] } {
  if (spec.via === "Admission") return checkAdmissionSets(observed, spec, nowMs);
  const findings = observed.daemonSets.map(daemonSet => checkTemplate(subjectOf(daemonSet, observed, spec, nowMs)));
  return { findings, removals: removeObsolete([], observed) };
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

function itemOf(finding: DaemonSetFinding, observed: Observed): DaemonSetItem {
  const { entry, intents = [] } = finding;
  const record = observed.daemonSets.find(({ view }) => view.name === entry.name)?.record;
  const withPolicy = withRecordedPolicy(entry, record?.policy, observed);
  return { id: `DaemonSet/${entry.name}`, intents, finding: { ...finding, entry: withPolicy } };
}

/** A change that is not tried in this pass keeps the hindrance of its last try. */
function laterItem(finding: DaemonSetFinding, observed: Observed): DaemonSetItem {
  const hindrance = lastHindranceOf(finding.entry, observed);
  const entry = { ...finding.entry, ...(hindrance && { hindrance }) };
  return { ...itemOf({ ...finding, entry }, observed), intents: [] };
}

/** In Observe mode nothing is tried; and a try for another generation was about another change. */
function lastHindranceOf({ name }: DaemonSetStatus, observed: Observed): DaemonSetStatus["hindrance"] {
  const record = observed.daemonSets.find(({ view }) => view.name === name)?.record;
  const isCurrent = observed.mode === "Enforce" && record?.generation === observed.generation;
  return isCurrent ? record.hindrance : undefined;
}

function removalItem(intent: Intent): RemovalItem {
  const { kind, name } = intent.target;
  return { id: `${kind}/${name}`, intents: [intent], policy: name };
}

/**
 * Only its trial is left to be ended and its policy to be deleted, which every pass tries. The object waits for nothing else of it, so no other
 * object may wait for its rollout.
 */
function formerEntry({ policy, ...rest }: DaemonSetStatus, observed: Observed): DaemonSetStatus {
  const isTrial = rest.outcome === "Trial" && observed.formerTrials.some(({ view }) => view.name === rest.name);
  const isOver = isOurRollout(rest) && !isTrial;
  const entry: DaemonSetStatus = isOver ? { ...rest, outcome: "Waiting" } : { ...rest };
  delete entry.hindrance;
  return withRecordedPolicy(entry, policy, observed);
}

/** Policies exist, are created now, or were created and can not be read now. */
function needsCleanup(
  daemonSets: readonly DaemonSetItem[],
  formerEntries: readonly DaemonSetStatus[],
  observed: Observed,
): boolean {
  if (isAnyOnTrial(daemonSets, observed)) return true;
  if (observed.admission === null) {
    const entries = [...daemonSets.map(({ finding }) => finding.entry), ...formerEntries];
    return entries.some(({ policy }) => policy !== undefined);
  }
  const isCreating = daemonSets.some(({ intents }) => intents.some(({ verb }) => verb === "create"));
  return isCreating || ownPoliciesOf(observed).length > 0;
}

/** OnDelete holds up every update of the DaemonSet, so it must not outlive the object. */
function isAnyOnTrial(items: readonly DaemonSetItem[], { daemonSets, formerTrials }: Observed): boolean {
  const isBeginning = items.some(({ finding, intents }) => finding.after === "Trial" && intents.length > 0);
  return (
    isBeginning ||
    formerTrials.length > 0 ||
    daemonSets.some(({ view, holder }) => holder === undefined && isOnTrial(view))
  );
}
