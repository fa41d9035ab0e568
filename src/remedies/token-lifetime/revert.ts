import { Reason } from "../../api/conditions";
import { AT_ONCE_MS, type Assessment } from "./assessment";
import { buildRelease } from "./build";
import { entryOf, isSameTemplate, nameOf, type Case } from "./case";
import { isCanary, livingOf, type PodFacts } from "./facts";
import { isWatched, trialMs } from "./watch";

/** The pods are answered 401 since the template was changed: the change is taken back. */
export function reverting(given: Case): Assessment | undefined {
  const { own, spec } = given;
  // Of another template than that which was changed, nothing is known yet.
  if (!spec.revertOnUnauthorized || own.record?.appliedTime === undefined || !isSameTemplate(given)) return undefined;
  if (own.record.outcome === "Reverted") return undefined;
  const isDecided = own.record.outcome === "Reverting" && !isWellAgain(given);
  if (!isDecided && !isToBlame(given)) return undefined;
  const sentence = `${nameOf(given)}: pods with the shorter token are answered 401, and no pod was before; the change is taken back.`;
  const finding = {
    status: "False" as const,
    reason: Reason.Reverting,
    sentence,
    entry: entryOf(given, "Reverting"),
    isProgressing: true,
  };
  // Written down first: whoever leads next must not try the change again.
  if (!isDecided) return { ...finding, recheckAfterMs: AT_ONCE_MS };
  return { ...finding, intents: [buildRelease(own, sentence)] };
}

/** 401s of pods with the shorter token, for which nothing else is to blame: neither their ServiceAccount's age, nor what old pods suffer too. */
export function isToBlame({ own, spec, nowMs }: Case): boolean {
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
 * Since it was decided, something has cured them; in Observe mode much time may have passed. That a pod is gone is no cure: its successor
 * has to outlive its first token.
 */
export function isWellAgain({ own, spec, nowMs }: Case): boolean {
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
  return { status: "False", reason: Reason.Reverted, sentence, entry: entryOf(given, "Reverted"), isStalled: true };
}
