import type { DaemonSetStatus } from "../../api/controller-resilience";
import { toSeconds } from "../../core/time";
import { formatDuration } from "../../core/duration";
import { inputOf, isOurRollout, planOf, type DaemonSetFacts, type Spec, type TokenLifetimeFacts } from "./facts";
import { isSettled } from "./rollout";
import { fingerprint, type TemplatePlan } from "./template";

/** Changes of one template for one generation of the object: the first, and one more if somebody takes it back. */
export const MAX_CHANGES = 2;

/** One DaemonSet before the checks. */
export interface Case {
  readonly facts: TokenLifetimeFacts;
  readonly own: DaemonSetFacts;
  readonly spec: Spec;
  readonly plan: TemplatePlan;
  /** Another DaemonSet of this object is replacing its pods because of this remedy. */
  readonly isAnotherRolling: boolean;
  readonly nowMs: number;
}

/** The case of one DaemonSet. */
export function caseOf(of: DaemonSetFacts, facts: TokenLifetimeFacts, spec: Spec, nowMs: number): Case {
  const own = asMade(of, facts, spec);
  // Whatever may be a change of this remedy's is waited for.
  const others = facts.daemonSets.filter(other => other !== of).flatMap(other => [other, asMade(other, facts, spec)]);
  const isAnotherRolling = others.some(other => isOnItsWay(other));
  return { facts, own, spec, plan: planOf(own, spec), isAnotherRolling, nowMs };
}

/** What status says where a change is to be made, or may have been made without anybody's having noted it. */
const UNDECIDED: readonly DaemonSetStatus["outcome"][] = ["Planned", "Waiting"];

/**
 * A change whose note or answer was lost (a crash, a timeout, a broken connection, a 5xx) may have been made all the same. What stands in
 * the template then, by the operator's own hand, was not there when status was written, so it is the change: Planned and made. If the object
 * or the rest of the template were others then, it was another change, which was refused: what is there now may have been there for long.
 */
function asMade(own: DaemonSetFacts, { generation }: TokenLifetimeFacts, spec: Spec): DaemonSetFacts {
  const { record, view } = own;
  const isOpen = record !== undefined && UNDECIDED.includes(record.outcome) && view.ownedVolumes.length > 0;
  if (spec.via !== "Template" || !isOpen || planOf(own, spec).kind !== "Bounded") return own;
  const isSame =
    record.generation === generation && record.fingerprint === fingerprint(inputOf(own), record.previous ?? []);
  return { ...own, record: { ...record, outcome: isSame ? "Planned" : "Waiting" } };
}

/** It replaces its pods because of this remedy, or is about to: judged by what it does, whatever is said of it. */
function isOnItsWay({ record, view }: DaemonSetFacts): boolean {
  // With the skip annotation nothing is taken back, for however long that may be.
  if (record?.outcome === "Reverting" && !view.skip) return true;
  const isOurs = isOurRollout(record) || record?.outcome === "Reverted" || record?.appliedTime !== undefined;
  return isOurs && !isSettled(view);
}

/** As sentences name it. */
export function nameOf({ own }: Case): string {
  return `DaemonSet ${own.view.name}`;
}

/** The life that is asked for, for people. */
export function life({ expirationSeconds }: Spec): string {
  return formatDuration(1000 * expirationSeconds);
}

/** When the template was changed; now where that is not known yet. */
export function appliedMs({ own, nowMs }: Case): number {
  return Date.parse(own.record?.appliedTime ?? "") || nowMs;
}

/** Of its template without what the operator has put there. */
export function fingerprintOf({ own, plan }: Case): string {
  return fingerprint(inputOf(own), plan.kind === "Change" ? plan.previous : (own.record?.previous ?? []));
}

/** Whether the template is the one that status speaks of, but for what the operator has put there. */
export function isSameTemplate(given: Case): boolean {
  return given.own.record?.fingerprint === fingerprintOf(given);
}

/** Counted for one template and one generation of the object: a change of either grants new ones. */
export function changesOf(given: Case): number {
  const { own, facts } = given;
  return own.record?.generation === facts.generation && isSameTemplate(given) ? (own.record.changes ?? 0) : 0;
}

/** A change that only gives back: nobody has to wait for the right moment. */
export function isRelease({ plan }: Case): boolean {
  return plan.kind === "Change" && !plan.projects && plan.previous.length === 0;
}

/** What the change is for, as the end of a sentence. */
export function aimOf(given: Case): string {
  return isRelease(given) ? "what was put there is given back" : `its tokens live ${life(given.spec)}`;
}

/** Outcomes that speak of a template that did harm, not of the one that is there now. */
const OF_THE_HARM: readonly DaemonSetStatus["outcome"][] = ["Reverting", "Reverted"];

/** What status tells of it from now on. */
export function entryOf(given: Case, outcome: DaemonSetStatus["outcome"]): DaemonSetStatus {
  const { own, plan, facts } = given;
  const previous = plan.kind === "Change" ? plan.previous : (own.record?.previous ?? []);
  return {
    name: own.view.name,
    uid: own.view.uid,
    outcome,
    ...(previous.length === 0
      ? {}
      : {
          previousExpirationSeconds: Math.max(...previous.map(({ expirationSeconds }) => expirationSeconds)),
          previous: previous.map(one => ({ ...one })),
        }),
    ...timesOf(own.record),
    changes: changesOf(given),
    generation: facts.generation,
    fingerprint: (OF_THE_HARM.includes(outcome) ? own.record?.fingerprint : undefined) ?? fingerprintOf(given),
  };
}

function timesOf({ appliedTime, watchTime }: Partial<DaemonSetStatus> = {}): Partial<DaemonSetStatus> {
  return {
    ...(appliedTime === undefined ? {} : { appliedTime }),
    ...(watchTime === undefined ? {} : { watchTime }),
  };
}

/** A change that was made and never noted is noted now. */
export function applied(given: Case, outcome: DaemonSetStatus["outcome"]): DaemonSetStatus {
  const entry = entryOf(given, outcome);
  const isMade = given.own.record?.outcome === "Planned" && given.own.view.ownedVolumes.length > 0;
  if (!isMade) return entry;
  return noteChange(entry, new Date(given.nowMs));
}

/** The change was made. */
export function noteChange(entry: DaemonSetStatus, now: Date): DaemonSetStatus {
  return { ...entry, appliedTime: toSeconds(now), changes: (entry.changes ?? 0) + 1 };
}
