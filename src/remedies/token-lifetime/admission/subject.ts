import type { DaemonSetStatus } from "../../../api/controller-resilience";
import { CLOCK_SKEW_MS, toSeconds } from "../../../core/time";
import { templateInputOf, type Observed, type ObservedDaemonSet, type Spec } from "../observed";
import { subjectOf, type Subject } from "../subject";
import { planTemplate } from "../template";
import { isComplete, pairOf, writtenMs, type Pair } from "./pair";

/**
 * After this time the watch caches of all API servers have a new policy, in milliseconds: they look every second, and resume a broken watch
 * within half a minute.
 */
const IN_EFFECT_AFTER_MS = 30_000;

/** One DaemonSet, and the policy that shortens the tokens of its pods. */
export interface AdmissionSubject extends Subject {
  readonly pair: Pair;
  /** The ControllerResilience has as many policies as it may have, and none for this DaemonSet. */
  readonly isSurplus: boolean;
}

/** With via: Admission the template stays, so status keeps the previous lifetimes that it has. */
export function admissionSubjectOf(
  daemonSet: ObservedDaemonSet,
  observed: Observed,
  spec: Spec,
  nowMs: number,
): AdmissionSubject {
  const subject = subjectOf(daemonSet, observed, spec, nowMs);
  const { templatePlan } = subject;
  const kept =
    templatePlan.kind === "Change" ? { ...templatePlan, previous: daemonSet.record?.previous ?? [] } : templatePlan;
  return { ...subject, templatePlan: kept, pair: pairOf(daemonSet.view, observed, spec), isSurplus: false };
}

/** Reports whether the template still has a change by the operator. */
export function hasTemplateChange(daemonSet: ObservedDaemonSet): boolean {
  const unbounded = { expirationSeconds: Infinity, defaultToken: "Leave" } as const;
  return planTemplate(templateInputOf(daemonSet), unbounded, daemonSet.record?.previous).kind === "Change";
}

/** Reports whether pods would get longer tokens without a policy. */
export function needsPolicy(subject: AdmissionSubject): boolean {
  return subject.templatePlan.kind === "Change" || hasTemplateChange(subject.daemonSet);
}

/** When the pair was created or repaired; undefined while it is incomplete. */
function pairWrittenMs({ daemonSet, pair }: AdmissionSubject): number | undefined {
  if (!isComplete(pair)) return undefined;
  return Math.max(writtenMs(pair), Date.parse(daemonSet.record?.appliedTime ?? "") || 0);
}

/** From this time on new pods get the shorter token; Infinity while the pair is incomplete. */
export function inEffectMs(subject: AdmissionSubject): number {
  return (pairWrittenMs(subject) ?? Infinity) + IN_EFFECT_AFTER_MS;
}

/** From this time on a deleted policy affects no new pod. */
export function outOfEffectMs(deletedTime: string | undefined): number {
  return (Date.parse(deletedTime ?? "") || 0) + IN_EFFECT_AFTER_MS;
}

/** Adds the policy to a status entry, if a half of the pair exists or is written now. */
export function withPolicy(entry: DaemonSetStatus, subject: AdmissionSubject, isWritten: boolean): DaemonSetStatus {
  const { pair } = subject;
  const ms = pairWrittenMs(subject);
  return {
    ...entry,
    ...((isWritten || pair.halves.some(({ state }) => state.is !== "missing")) && { policy: pair.name }),
    ...(ms !== undefined && { appliedTime: toSeconds(new Date(ms)) }),
    ...(isUnrecorded(subject) && { changes: (entry.changes ?? 0) + 1 }),
  };
}

/** A crash or a lost answer can leave a write of the pair unrecorded. */
function isUnrecorded({ daemonSet, pair }: AdmissionSubject): boolean {
  const recordedMs = Date.parse(daemonSet.record?.appliedTime ?? "") || -Infinity;
  return isComplete(pair) && writtenMs(pair) > recordedMs + CLOCK_SKEW_MS;
}
