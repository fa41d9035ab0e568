import type { DaemonSetStatus } from "../../api/controller-resilience";
import { toSeconds } from "../../core/time";
import { isOpen } from "../../core/restarts/budget";
import { AT_ONCE_MS, type Assessment } from "./assessment";
import type { Case } from "./case";
import { isBounded, isCanary, isOurRollout, livingOf, type Spec } from "./facts";

/** A client that never reads its token again fails after one life of it; of a longer one than this nobody waits for the end, in milliseconds. */
const LONGEST_TRIAL_MS = 3_600_000;

/** Long enough for a 401 to be logged and read, in milliseconds. */
const TRIAL_MARGIN_MS = 60_000;

/** How long a pod with the shorter token has to be quiet to prove anything, in milliseconds. */
export function trialMs({ expirationSeconds }: Spec): number {
  return Math.min(1000 * expirationSeconds, LONGEST_TRIAL_MS) + TRIAL_MARGIN_MS;
}

/**
 * For an hour and two lives of a token the logs are watched: what does not read its token again fails after one. Counted from the
 * change, or from what {@link withWatch} has noted since.
 */
export function isWatched(record: DaemonSetStatus | undefined, spec: Spec, nowMs: number): boolean {
  if (record?.appliedTime === undefined) return false;
  const fromMs = Math.max(Date.parse(record.appliedTime), Date.parse(record.watchTime ?? "") || 0);
  return nowMs < fromMs + 3_600_000 + 2_000 * spec.expirationSeconds;
}

/** The watch begins anew with another template, and with each pod that is replaced; logs are read from the next pass on. */
export function withWatch(assessment: Assessment, given: Case): Assessment {
  const { entry, recheckAfterMs = Infinity } = assessment;
  const watchTime = watchTimeOf(entry, given);
  if (watchTime === undefined || watchTime === entry.watchTime) return assessment;
  return { ...assessment, entry: { ...entry, watchTime }, recheckAfterMs: Math.min(recheckAfterMs, AT_ONCE_MS) };
}

function watchTimeOf(entry: DaemonSetStatus, given: Case): string | undefined {
  const { own, spec, nowMs } = given;
  // Without a change there is nothing to watch for.
  if (entry.appliedTime === undefined || own.record === undefined) return undefined;
  if (own.record.fingerprint !== entry.fingerprint) return toSeconds(new Date(nowMs));
  if (!isReplacing(entry, given)) return undefined;
  const canaries = livingOf(own).filter(({ pod }) => isCanary(pod, spec));
  const newestMs = Math.max(...canaries.map(({ pod }) => pod.createdAtMs));
  const fromMs = Math.max(Date.parse(entry.appliedTime), Date.parse(entry.watchTime ?? "") || 0);
  return newestMs > fromMs ? toSeconds(new Date(newestMs)) : undefined;
}

/** Its pods are being replaced because of this remedy, whatever holds the next one back. */
function isReplacing(entry: DaemonSetStatus, { own, facts, spec, plan }: Case): boolean {
  // A template that is still to be changed replaces nothing, however often that is tried.
  const isMade = spec.via === "Admission" || plan.kind !== "Change" || own.record?.outcome !== "Planned";
  if (isMade && (isOurRollout(own.record) || isOurRollout(entry))) return true;
  const isLastOpen = facts.restarts.some(one => isOpen(one) && one.workload === `DaemonSet/${own.view.name}`);
  return isLastOpen || livingOf(own).some(({ pod }) => !isBounded(pod, spec));
}
