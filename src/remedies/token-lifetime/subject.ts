import type { DaemonSetStatus } from "../../api/controller-resilience";
import { formatDuration, toSeconds } from "../../core/time";
import { isSettled } from "./checks/rollout";
import {
  isOurRollout,
  templateInputOf,
  templatePlanOf,
  type Observed,
  type ObservedDaemonSet,
  type Spec,
} from "./observed";
import { fingerprint, type TemplatePlan } from "./template";

/** Changes of one template for one generation of the ControllerResilience: the first, and one repetition if another manager reverts it. */
export const MAX_CHANGES = 2;

/** One DaemonSet with everything that the checks need. */
export interface Subject {
  readonly observed: Observed;
  readonly daemonSet: ObservedDaemonSet;
  readonly spec: Spec;
  readonly templatePlan: TemplatePlan;
  /** This remedy causes another DaemonSet of the same ControllerResilience to replace pods. */
  readonly isAnotherRolling: boolean;
  readonly nowMs: number;
}

export function subjectOf(observedSet: ObservedDaemonSet, observed: Observed, spec: Spec, nowMs: number): Subject {
  const daemonSet = withLostChange(observedSet, observed, spec);
  const isAnotherRolling = observed.daemonSets
    .filter(other => other !== observedSet)
    .some(other => isReplacingPods(other) || isReplacingPods(withLostChange(other, observed, spec)));
  return { observed, daemonSet, spec, templatePlan: templatePlanOf(daemonSet, spec), isAnotherRolling, nowMs };
}

/** Outcomes in status after which a change may have been made without being recorded. */
const UNCERTAIN: readonly DaemonSetStatus["outcome"][] = ["Planned", "Waiting"];

/**
 * A crash, a timeout, a broken connection or a 5xx can lose the answer to a change that was made. The operator's fields in the template
 * were not there when status was written, so they are that change: the outcome becomes Planned. If the generation or the rest of the
 * template was different then, status is about another change, which was refused, and the fields may be old: the outcome becomes Waiting.
 */
function withLostChange(daemonSet: ObservedDaemonSet, { generation }: Observed, spec: Spec): ObservedDaemonSet {
  const { record, view } = daemonSet;
  const isUncertain = record !== undefined && UNCERTAIN.includes(record.outcome) && view.ownedVolumes.length > 0;
  if (!isUncertain || templatePlanOf(daemonSet, spec).kind !== "Bounded") return daemonSet;
  const current = fingerprint(templateInputOf(daemonSet), record.previous ?? []);
  const isSameChange = record.generation === generation && record.fingerprint === current;
  return { ...daemonSet, record: { ...record, outcome: isSameChange ? "Planned" : "Waiting" } };
}

function isReplacingPods({ record, view }: ObservedDaemonSet): boolean {
  // The skip annotation suspends a revert for an unknown time.
  if (record?.outcome === "Reverting" && !view.skip) return true;
  const isOurs = isOurRollout(record) || record?.outcome === "Reverted" || record?.appliedTime !== undefined;
  return isOurs && !isSettled(view);
}

/** `DaemonSet agent`. */
export function nameOf({ daemonSet }: Subject): string {
  return `DaemonSet ${daemonSet.view.name}`;
}

/** The requested token lifetime, such as `10m`. */
export function lifetimeOf({ expirationSeconds }: Spec): string {
  return formatDuration(1000 * expirationSeconds);
}

/** When the template was changed; now if that is not recorded yet. */
export function appliedMs({ daemonSet, nowMs }: Subject): number {
  return Date.parse(daemonSet.record?.appliedTime ?? "") || nowMs;
}

/** Fingerprint of the template without the operator's fields. */
export function fingerprintOf({ daemonSet, templatePlan }: Subject): string {
  const previous = templatePlan.kind === "Change" ? templatePlan.previous : (daemonSet.record?.previous ?? []);
  return fingerprint(templateInputOf(daemonSet), previous);
}

/** Reports whether the template, without the operator's fields, is the recorded one. */
export function isSameTemplate(subject: Subject): boolean {
  return subject.daemonSet.record?.fingerprint === fingerprintOf(subject);
}

/** Recorded changes of this template for this generation of the ControllerResilience. */
export function changesOf(subject: Subject): number {
  const { daemonSet, observed } = subject;
  const isCounted = daemonSet.record?.generation === observed.generation && isSameTemplate(subject);
  return isCounted ? (daemonSet.record.changes ?? 0) : 0;
}

/** A change that only restores the template. */
export function isRelease({ templatePlan }: Subject): boolean {
  return templatePlan.kind === "Change" && !templatePlan.projects && templatePlan.previous.length === 0;
}

/** Outcomes whose fingerprint is that of the template that did harm, not of the current one. */
const HARMFUL: readonly DaemonSetStatus["outcome"][] = ["Reverting", "Reverted"];

/** The entry for status.daemonSets. */
export function entryOf(subject: Subject, outcome: DaemonSetStatus["outcome"]): DaemonSetStatus {
  const { daemonSet, templatePlan, observed } = subject;
  const { record, view } = daemonSet;
  const previous = templatePlan.kind === "Change" ? templatePlan.previous : (record?.previous ?? []);
  return {
    name: view.name,
    uid: view.uid,
    outcome,
    ...(previous.length > 0 && {
      previousExpirationSeconds: Math.max(...previous.map(({ expirationSeconds }) => expirationSeconds)),
      previous: previous.map(one => ({ ...one })),
    }),
    ...timesOf(record),
    changes: changesOf(subject),
    generation: observed.generation,
    fingerprint: (HARMFUL.includes(outcome) ? record?.fingerprint : undefined) ?? fingerprintOf(subject),
  };
}

function timesOf({ appliedTime, watchTime }: Partial<DaemonSetStatus> = {}): Partial<DaemonSetStatus> {
  return { ...(appliedTime !== undefined && { appliedTime }), ...(watchTime !== undefined && { watchTime }) };
}

/** As {@link entryOf}; also counts a change that was made but not recorded. */
export function entryWithChange(subject: Subject, outcome: DaemonSetStatus["outcome"]): DaemonSetStatus {
  const { record, view } = subject.daemonSet;
  const entry = entryOf(subject, outcome);
  const isUnrecorded = record?.outcome === "Planned" && view.ownedVolumes.length > 0;
  return isUnrecorded ? countChange(entry, new Date(subject.nowMs)) : entry;
}

export function countChange(entry: DaemonSetStatus, now: Date): DaemonSetStatus {
  return { ...entry, appliedTime: toSeconds(now), changes: (entry.changes ?? 0) + 1 };
}
