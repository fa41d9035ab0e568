import type { DaemonSetStatus } from "../../../api/controller-resilience";
import { isOpen, restartsOf } from "../../../core/restarts";
import { HEALTHY_INTERVAL_MS } from "../../../core/readers";
import { toSeconds } from "../../../core/time";
import { IMMEDIATE_MS, type DaemonSetFinding } from "../finding";
import { activePodsOf, isBounded, isCanary, isOurRollout, type ObservedPod, type Spec } from "../observed";
import type { Subject } from "../subject";

/** Time for a 401 to be logged and read, in milliseconds. */
const TRIAL_MARGIN_MS = 60_000;

/** Reports whether logs were read at the end of a trial: where there are many logs, each is read rarely. */
export function isReadAt({ logReadMs }: Pick<ObservedPod, "logReadMs">, endMs: number): boolean {
  return logReadMs >= endMs - HEALTHY_INTERVAL_MS;
}

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
