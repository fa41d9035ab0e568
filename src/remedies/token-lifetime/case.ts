import type { DaemonSetStatus } from "../../api/controller-resilience";
import { toSeconds } from "../../core/conditions";
import { formatDuration } from "../../core/duration";
import { inputOf, planOf, type DaemonSetFacts, type Spec, type TokenLifetimeFacts } from "./facts";
import { isSettled } from "./rollout";
import { fingerprint, type TemplatePlan } from "./template";

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
export function caseOf(own: DaemonSetFacts, facts: TokenLifetimeFacts, spec: Spec, nowMs: number): Case {
  const others = facts.daemonSets.filter(other => other !== own);
  const isAnotherRolling = others.some(other => isOnItsWay(other));
  return { facts, own, spec, plan: planOf(own, spec), isAnotherRolling, nowMs };
}

/** It replaces its pods because of this remedy, or is about to. */
function isOnItsWay({ record, view }: DaemonSetFacts): boolean {
  if (record?.outcome === "Reverting") return true;
  return (record?.outcome === "Rolling" || record?.outcome === "Reverted") && !isSettled(view);
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

/** Counted for a generation of the object: a change of the spec grants new ones. */
export function changesOf({ own, facts }: Case): number {
  return own.record?.generation === facts.generation ? (own.record.changes ?? 0) : 0;
}

/** What status tells of it from now on. */
export function entryOf(given: Case, outcome: DaemonSetStatus["outcome"]): DaemonSetStatus {
  const { own, plan, facts } = given;
  const previous = plan.kind === "Change" ? plan.previous : (own.record?.previous ?? []);
  const { appliedTime } = own.record ?? {};
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
    ...(appliedTime === undefined ? {} : { appliedTime }),
    changes: changesOf(given),
    generation: facts.generation,
    fingerprint: fingerprintOf(given),
  };
}

/** An operator that died between the change and its note has left it Planned, although it was made. */
export function applied(given: Case, outcome: DaemonSetStatus["outcome"]): DaemonSetStatus {
  const entry = entryOf(given, outcome);
  if (given.own.record?.outcome !== "Planned") return entry;
  return noteChange(entry, new Date(given.nowMs));
}

/** The change was made. */
export function noteChange(entry: DaemonSetStatus, now: Date): DaemonSetStatus {
  return { ...entry, appliedTime: toSeconds(now), changes: (entry.changes ?? 0) + 1 };
}
