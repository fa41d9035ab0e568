import type { DaemonSetStatus } from "../../api/controller-resilience";
import { isOpen, restartsOf } from "../../restarts/history";
import { toSeconds } from "../../core/time";
import { serviceAccountBlocker } from "./rollout";
import {
  activePodsOf,
  buildRelease,
  type DaemonSetFinding,
  entryOf,
  IMMEDIATE_MS,
  isBounded,
  isCanary,
  isOurRollout,
  isSameTemplate,
  nameOf,
  type ObservedPod,
  RECHECK_MS,
  type Spec,
  type Subject,
} from "./subject";

/** Time for a 401 to be logged and read, in milliseconds. */
const TRIAL_MARGIN_MS = 60_000;

/** How long a pod with the shorter token must work before it proves anything, in milliseconds: a client that never rereads its token fails after one life. */
export function trialMs({ expirationSeconds }: Spec): number {
  return 1000 * expirationSeconds + TRIAL_MARGIN_MS;
}

/**
 * Reports whether logs are watched for 401s: for an hour and two token lifetimes, since a client that does not reread its token fails after
 * one. The watch starts at the change, or at the later time that {@link withWatch} recorded; it lasts at least as long as a trial.
 */
export function isWatched(record: DaemonSetStatus | undefined, spec: Spec, nowMs: number): boolean {
  if (record?.appliedTime === undefined) return false;
  return record.outcome === "Trial" || nowMs < watchStartMs(record) + 3_600_000 + 2_000 * spec.expirationSeconds;
}

/** Restarts the watch after each template change and each replaced pod; logs are read from the next pass on. */
export function withWatch(finding: DaemonSetFinding, subject: Subject): DaemonSetFinding {
  const { entry, recheckAfterMs = Infinity } = finding;
  const watchTime = watchTimeOf(entry, subject);
  if (watchTime === undefined || watchTime === entry.watchTime) return finding;
  return { ...finding, entry: { ...entry, watchTime }, recheckAfterMs: Math.min(recheckAfterMs, IMMEDIATE_MS) };
}

function watchTimeOf(entry: DaemonSetStatus, subject: Subject): string | undefined {
  const { daemonSet, spec, nowMs } = subject;
  // Without a change there is nothing to watch for.
  if (entry.appliedTime === undefined || daemonSet.record === undefined) return undefined;
  if (daemonSet.record.fingerprint !== entry.fingerprint) return toSeconds(new Date(nowMs));
  if (!isReplacing(entry, subject)) return undefined;
  const canaries = activePodsOf(daemonSet).filter(({ pod }) => isCanary(pod, spec));
  const newestMs = Math.max(...canaries.map(({ pod }) => pod.createdAtMs));
  return newestMs > watchStartMs(entry) ? toSeconds(new Date(newestMs)) : undefined;
}

function watchStartMs({ appliedTime = "", watchTime = "" }: DaemonSetStatus): number {
  return Math.max(Date.parse(appliedTime), Date.parse(watchTime) || 0);
}

/** Reports whether pods are being replaced because of this remedy, even if something delays the next one. */
function isReplacing(entry: DaemonSetStatus, { daemonSet, observed, spec, templatePlan }: Subject): boolean {
  const { record, view } = daemonSet;
  // A template that is not changed yet replaces no pod.
  const isMade = templatePlan.kind !== "Change" || record?.outcome !== "Planned";
  if (isMade && (isOurRollout(record) || isOurRollout(entry))) return true;
  const isRestartOpen = restartsOf(`DaemonSet/${view.name}`, observed.restarts).some(isOpen);
  return isRestartOpen || activePodsOf(daemonSet).some(({ pod }) => !isBounded(pod, spec));
}

/** Pods get 401 responses since the template was changed. */
export function reverting(subject: Subject): DaemonSetFinding | undefined {
  const { daemonSet } = subject;
  // Nothing is known yet about a template other than the changed one.
  if (daemonSet.record?.appliedTime === undefined || !isSameTemplate(subject)) return undefined;
  if (daemonSet.record.outcome === "Reverted") return undefined;
  const isRecorded = isRevertRecorded(subject);
  if (!isRecorded && !isChangeHarmful(subject)) return undefined;
  const sentence = `${nameOf(subject)}: ${harmOf(subject)}; reverting the template change.`;
  const finding = revertingFinding(subject, sentence);
  // The next leader must not repeat the change, so status is written first.
  if (!isRecorded) return { ...finding, recheckAfterMs: IMMEDIATE_MS };
  return delayedRevert(subject, finding) ?? { ...finding, intents: [buildRelease(daemonSet, sentence)] };
}

/** What the shorter token does, as the beginning of a sentence. */
function harmOf({ daemonSet, spec }: Subject): string {
  const isSandbox = activePodsOf(daemonSet).some(
    ({ pod, sandboxState }) => sandboxState === "persistent" && isCanary(pod, spec),
  );
  if (!isSandbox) return "pods with the shorter token get 401 responses, other pods do not";
  return "on nodes where it has the shorter token no pod can start, because the API server answers its network plugin 401";
}

function revertingFinding(subject: Subject, sentence: string): DaemonSetFinding {
  const entry = entryOf(subject, "Reverting");
  return { status: "False", reason: "Reverted", sentence, entry, isProgressing: true };
}

/** A revert replaces pods too, so it waits until successors can be created. */
function delayedRevert(subject: Subject, finding: DaemonSetFinding): DaemonSetFinding | undefined {
  const blocker = serviceAccountBlocker(subject);
  if (blocker === undefined) return undefined;
  const sentence = `${nameOf(subject)}: pods with the shorter token got 401 responses; the revert is delayed: ${blocker}.`;
  return { ...finding, sentence, recheckAfterMs: RECHECK_MS };
}

/** Pods with the shorter token get 401 responses which neither their ServiceAccount nor a problem of all pods explains. */
function isChangeHarmful({ daemonSet, spec, nowMs }: Subject): boolean {
  if (daemonSet.lacksServiceAccount) return false;
  const pods = activePodsOf(daemonSet);
  const others = pods.filter(({ pod }) => !isCanary(pod, spec));
  if (!isWatched(daemonSet.record, spec, nowMs)) return false;
  if (others.some(({ logState }) => logState === "suspected" || logState === "persistent")) return false;
  return pods.some(
    ({ pod, logState, isOlderThanServiceAccount }) =>
      logState === "persistent" && !isOlderThanServiceAccount && isCanary(pod, spec),
  );
}

/**
 * Status records a revert that is still due. In Observe mode above all, much may have changed since: the pods may have recovered, or a new
 * ServiceAccount may explain all 401s.
 */
function isRevertRecorded(subject: Subject): boolean {
  if (subject.daemonSet.record?.outcome !== "Reverting") return false;
  const canaries = activePodsOf(subject.daemonSet).filter(({ pod }) => isCanary(pod, subject.spec));
  const isExplained =
    canaries.length > 0 && canaries.every(({ isOlderThanServiceAccount }) => isOlderThanServiceAccount);
  return !isExplained && !hasRecovered(subject);
}

/** A deleted pod proves nothing: its successor must outlive its first token. */
function hasRecovered({ daemonSet, spec, nowMs }: Subject): boolean {
  const pods = activePodsOf(daemonSet);
  if (pods.length < Math.max(daemonSet.pods.length, daemonSet.view.replicas)) return false;
  const canaries = pods.filter(({ pod }) => isCanary(pod, spec));
  const isProven = (one: ObservedPod): boolean => {
    const endMs = (one.pod.readySinceMs ?? one.pod.createdAtMs) + trialMs(spec);
    return one.logState === "quiet" && nowMs >= endMs && one.logReadMs >= endMs;
  };
  return canaries.length > 0 && canaries.every(isProven);
}

/** The change was reverted, and the template is still the same. */
export function reverted(subject: Subject): DaemonSetFinding | undefined {
  if (subject.daemonSet.record?.outcome !== "Reverted" || !isSameTemplate(subject)) return undefined;
  const sentence = `${nameOf(subject)}: change reverted, because pods got 401 responses with the shorter token. The operator does not retry until the template changes; make the client reread its token file.`;
  return { status: "False", reason: "Reverted", sentence, entry: entryOf(subject, "Reverted"), isStalled: true };
}
