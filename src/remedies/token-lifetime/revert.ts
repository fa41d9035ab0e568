import { AT_ONCE_MS, type Assessment } from "./assessment";
import { buildRelease } from "./build";
import { entryOf, isSameTemplate, nameOf, type Case } from "./case";
import { missingAccount, ROLLING_MS } from "./checks";
import { isCanary, livingOf, type PodFacts } from "./facts";
import { isWatched, trialMs } from "./watch";

/** The pods are answered 401 since the template was changed: the change is taken back. */
export function reverting(given: Case): Assessment | undefined {
  const { own, spec } = given;
  // Of another template than that which was changed, nothing is known yet.
  if (!spec.revertOnUnauthorized || own.record?.appliedTime === undefined || !isSameTemplate(given)) return undefined;
  if (own.record.outcome === "Reverted") return undefined;
  const isAgreed = isDecided(given);
  if (!isAgreed && !isToBlame(given)) return undefined;
  const sentence = `${nameOf(given)}: pods with the shorter token are answered 401, and no pod was before; the change is taken back.`;
  const finding = {
    status: "False" as const,
    reason: "Reverting" as const,
    sentence,
    entry: entryOf(given, "Reverting"),
    isProgressing: true,
  };
  // Written down first: whoever leads next must not try the change again.
  if (!isAgreed) return { ...finding, recheckAfterMs: AT_ONCE_MS };
  return held(given, finding) ?? { ...finding, intents: [buildRelease(own, sentence)] };
}

/** What is taken back rolls pods as well: that waits until their successors can be created. */
export function held(given: Case, finding: Assessment): Assessment | undefined {
  const why = missingAccount(given);
  if (why === undefined) return undefined;
  const sentence = `${nameOf(given)}: pods with the shorter token were answered 401, and it is to be taken back, but not yet: ${why}.`;
  return { ...finding, sentence, recheckAfterMs: ROLLING_MS };
}

/** 401s of pods with the shorter token, for which nothing else is to blame: neither their ServiceAccount, nor what old pods suffer too. */
export function isToBlame({ own, spec, nowMs }: Case): boolean {
  if (own.lacksAccount) return false;
  const pods = livingOf(own);
  const others = pods.filter(({ pod }) => !isCanary(pod, spec));
  // However late, where evictions are held up for hours: pods with the longer token that are quiet are proof enough.
  const isCompared = spec.via === "Admission" && others.some(({ verdict }) => verdict === "quiet");
  if (!isCompared && !isWatched(own.record, spec, nowMs)) return false;
  if (others.some(({ verdict }) => verdict === "suspected" || verdict === "persistent")) return false;
  return pods.some(
    ({ pod, verdict, isOlderThanAccount }) => verdict === "persistent" && !isOlderThanAccount && isCanary(pod, spec),
  );
}

/**
 * It stands in status that it is to be taken back, and holds still. Much may have happened since, above all in Observe mode: a cure, or
 * another ServiceAccount, by which all 401s are explained.
 */
export function isDecided(given: Case): boolean {
  if (given.own.record?.outcome !== "Reverting") return false;
  const canaries = livingOf(given.own).filter(({ pod }) => isCanary(pod, given.spec));
  const isExplained = canaries.length > 0 && canaries.every(({ isOlderThanAccount }) => isOlderThanAccount);
  return !isExplained && !isWellAgain(given);
}

/** That a pod is gone is no cure: its successor has to outlive its first token. */
function isWellAgain({ own, spec, nowMs }: Case): boolean {
  const living = livingOf(own);
  if (living.length < Math.max(own.pods.length, own.view.replicas)) return false;
  const canaries = living.filter(({ pod }) => isCanary(pod, spec));
  const isProven = ({ pod, verdict }: PodFacts): boolean =>
    verdict === "quiet" && nowMs >= pod.createdAtMs + trialMs(spec);
  return canaries.length > 0 && canaries.every(isProven);
}

/** It was taken back, and nothing has changed that would make the next try any better. */
export function reverted(given: Case): Assessment | undefined {
  if (given.own.record?.outcome !== "Reverted" || !isSameTemplate(given)) return undefined;
  const sentence = `${nameOf(given)}: the shorter token was taken back, because pods were answered 401 with it. It is not tried again before the template changes: does its client read the token file again?`;
  return { status: "False", reason: "Reverted", sentence, entry: entryOf(given, "Reverted"), isStalled: true };
}
