import type { Intent } from "../../../core/intent";
import { isOpen, restartsOf } from "../../../core/restarts";
import { toSeconds } from "../../../core/time";
import { delayedRevert, harmOf, isChangeHarmful, isRevertRecorded, revertingFinding } from "../checks/revert";
import { serviceAccountBlocker } from "../checks/shared";
import { IMMEDIATE_MS, RECHECK_MS, type DaemonSetFinding } from "../finding";
import { buildRelease } from "../intents";
import { activePodsOf, isCanary, type ObservedPod } from "../observed";
import { entryOf, isSameTemplate, nameOf } from "../subject";
import { pairsOf } from "./cleanup";
import { buildRemoval, buildUnauthorizedEviction, workloadOf } from "./intents";
import { hasTemplateChange, outOfEffectMs, type AdmissionSubject } from "./subject";

/** Pods get 401 responses since the policy is in effect. */
export function reverting(subject: AdmissionSubject): DaemonSetFinding | undefined {
  if (!isHarmful(subject)) return undefined;
  const sentence = `${nameOf(subject)}: ${harmOf(subject)}; deleting the policy.`;
  const finding = revertingFinding(subject, sentence);
  // The next leader must not repeat the change, so status is written first.
  if (subject.daemonSet.record?.outcome !== "Reverting") return { ...finding, recheckAfterMs: IMMEDIATE_MS };
  const intents = revertIntents(subject, sentence);
  return intents.length === 0 ? undefined : (delayedRevert(subject, finding) ?? { ...finding, intents });
}

function isHarmful(subject: AdmissionSubject): boolean {
  const { record } = subject.daemonSet;
  if (!subject.spec.revertOnUnauthorized || record?.appliedTime === undefined) return false;
  // Nothing is known yet about a template other than that for which the policy was created.
  if (record.outcome === "Reverted" || !isSameTemplate(subject)) return false;
  return isRevertRecorded(subject) || isChangeHarmful(subject);
}

/** Removes everything that shortens tokens: pairs with any lifetime, and an earlier change of the template. */
function revertIntents({ daemonSet, observed }: AdmissionSubject, why: string): Intent[] {
  const release = hasTemplateChange(daemonSet) ? [buildRelease(daemonSet, why)] : [];
  return [...buildRemoval(pairsOf(daemonSet.view.name, observed), why), ...release];
}

/** The policy was deleted because of 401s; the pods that still have its tokens are replaced one at a time. */
export function reverted(subject: AdmissionSubject): DaemonSetFinding | undefined {
  const { record } = subject.daemonSet;
  if (!isReverted(subject) || !isSameTemplate(subject)) return undefined;
  // After a crash between the deletion and its record, status still says Reverting.
  const isRecorded = record?.outcome === "Reverted";
  const entry = {
    ...entryOf(subject, "Reverted"),
    ...(!isRecorded && { appliedTime: toSeconds(new Date(subject.nowMs)) }),
  };
  const sentence = `${nameOf(subject)}: policy deleted, because pods got 401 responses with shorter tokens. The operator does not retry until the template changes; make the client reread its token file.`;
  const finding: DaemonSetFinding = { status: "False", reason: "Reverted", sentence, entry, isStalled: true };
  return { ...finding, ...replaceUnauthorizedPods(subject, finding) };
}

function isReverted(subject: AdmissionSubject): boolean {
  const { record } = subject.daemonSet;
  return record?.outcome === "Reverted" || (record?.outcome === "Reverting" && revertIntents(subject, "").length === 0);
}

function replaceUnauthorizedPods(
  subject: AdmissionSubject,
  { sentence, entry }: DaemonSetFinding,
): Partial<DaemonSetFinding> {
  const pods = activePodsOf(subject.daemonSet).filter(one => isUnauthorized(one, subject));
  const [next] = pods;
  if (next === undefined) return {};
  const blocker = serviceAccountBlocker(subject) ?? unavailablePods(pods, subject);
  if (blocker !== undefined) {
    return {
      sentence: `${sentence} Pods with 401 responses are not replaced yet: ${blocker}.`,
      recheckAfterMs: RECHECK_MS,
    };
  }
  const isDue = subject.nowMs >= outOfEffectMs(entry.appliedTime) && !isAnyPodBeingReplaced(subject);
  return {
    ...(isDue && { intents: [evictUnauthorized(subject, next)] }),
    isProgressing: true,
    recheckAfterMs: RECHECK_MS,
  };
}

/** If other pods are unavailable, an eviction could take one more pod down. */
function unavailablePods(unauthorized: readonly ObservedPod[], { daemonSet }: AdmissionSubject): string | undefined {
  const { replicas, availablePods } = daemonSet.view;
  const explained = unauthorized.filter(({ pod }) => !pod.ready).length;
  const unavailable = replicas - availablePods - explained;
  return unavailable > 0 ? `other pods are not available (${unavailable}); see kubectl rollout status` : undefined;
}

function isUnauthorized(
  { pod, logState, isOlderThanServiceAccount }: ObservedPod,
  { spec }: AdmissionSubject,
): boolean {
  return logState === "persistent" && !isOlderThanServiceAccount && !pod.skip && isCanary(pod, spec);
}

/** By a restored template, by this remedy or by another. */
function isAnyPodBeingReplaced({ daemonSet, observed }: AdmissionSubject): boolean {
  const { updateStrategy, updatedPods, replicas } = daemonSet.view;
  const isRolling = updateStrategy !== "OnDelete" && updatedPods < replicas;
  const isRestarting = restartsOf(workloadOf(daemonSet.view), observed.otherOpenRestarts).length > 0;
  return isRolling || isRestarting || observed.restarts.some(isOpen);
}

function evictUnauthorized(subject: AdmissionSubject, { pod }: ObservedPod): Intent {
  const why = `Pod ${pod.name} of ${nameOf(subject)} gets 401 responses with its shorter token; its successor gets a token with the previous lifetime.`;
  return buildUnauthorizedEviction(pod, subject.daemonSet.view, why);
}
