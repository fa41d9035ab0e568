import type { DaemonSetStatus } from "../../api/controller-resilience";
import { whatWould } from "../../core/remedy";
import { toSeconds } from "../../core/time";
import { isRolledOut } from "../../restarts/rollouts";
import {
  activePodsOf,
  buildRelease,
  type DaemonSetFinding,
  isCanary,
  isMade,
  isOurRollout,
  isSameTemplate,
  pastOf,
  progressing,
  RECHECK_MS,
  type Spec,
  stalled,
  type Subject,
} from "./subject";

// What a shorter token does harm to is taken back. Pure.

/**
 * Reports whether logs are watched for 401s: during the rollout, and for an hour and two token lifetimes after it, since a client that does
 * not reread its token fails after one.
 */
export function isWatched(record: DaemonSetStatus | undefined, spec: Spec, nowMs: number): boolean {
  if (record?.appliedTime === undefined) return false;
  return isRolledOut(record) || nowMs < Date.parse(record.appliedTime) + 3_600_000 + 2_000 * spec.expirationSeconds;
}

/** Begins the watch again with each step of the rollout, and with each other template of the owner. */
export function withWatch(finding: DaemonSetFinding, { record, nowMs }: Subject): DaemonSetFinding {
  const { entry, recheckAfterMs = Infinity } = finding;
  if (entry.appliedTime === undefined || record?.appliedTime === undefined) return finding;
  const isStep = isOurRollout(record) && (entry.outcome === "Rolling" || entry.outcome === "Bounded");
  const isNext = (isStep && record.outcome !== entry.outcome) || record.fingerprint !== entry.fingerprint;
  if (!isNext) return finding;
  const appliedTime = toSeconds(new Date(nowMs));
  return { ...finding, entry: { ...entry, appliedTime }, recheckAfterMs: Math.min(recheckAfterMs, RECHECK_MS) };
}

/** Pods get 401 responses since the template was changed. A revert that a crash keeps out of status counts as one by others. */
export function reverting(subject: Subject): DaemonSetFinding | undefined {
  const { record, view, plan, observed } = subject;
  // Nothing is known yet about a template other than the changed one, and one without the change is restored.
  if (record === undefined || !isMade(record) || !isSameTemplate(subject) || plan.kind === "LeftAlone")
    return undefined;
  if (!isChangeHarmful(subject)) return undefined;
  const isEnforced = observed.mode === "Enforce";
  const words = `: ${harmOf(subject)}; ${isEnforced ? "reverting" : `${whatWould(observed.mode)} revert`} the template change`;
  const finding = progressing(subject, "Reverted", record.outcome, words);
  const intents = [buildRelease(view, record, finding.sentence)];
  return { ...finding, intents, after: "Reverted", isProgressing: isEnforced };
}

/** What the shorter token does, as the beginning of a sentence. */
function harmOf(subject: Subject): string {
  const isSandbox = activePodsOf(subject).some(pod => pod.sandboxState === "persistent" && isCanary(pod, subject.spec));
  return isSandbox
    ? "on nodes where it has the shorter token no pod can start, because the API server answers its network plugin 401"
    : "pods with the shorter token get 401 responses, other pods do not";
}

/** Pods with the shorter token get 401 responses which neither their ServiceAccount, a rotation of the keys nor a problem of all pods explains. */
function isChangeHarmful(subject: Subject): boolean {
  const { lacksServiceAccount, record, observed, spec, nowMs } = subject;
  if (lacksServiceAccount || !isWatched(record, spec, nowMs)) return false;
  const pods = activePodsOf(subject);
  const others = pods.filter(pod => !isCanary(pod, spec));
  if (others.some(({ logState }) => logState === "suspected" || logState === "persistent")) return false;
  return pods.some(
    pod =>
      pod.logState === "persistent" &&
      !pod.isOlderThanServiceAccount &&
      isCanary(pod, spec) &&
      pod.createdAtMs >= (observed.rotatedMs ?? -Infinity),
  );
}

/** The change was reverted, and the template is still the same. */
export function reverted(subject: Subject): DaemonSetFinding | undefined {
  if (pastOf(subject) !== "Reverted") return undefined;
  const words =
    ": change reverted, because pods got 401 responses with the shorter token. The operator does not retry until the template changes; make the client reread its token file";
  return stalled(subject, "Reverted", "Reverted", words);
}
