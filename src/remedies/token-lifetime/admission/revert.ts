import type { Intent } from "../../../core/intent";
import { toSeconds } from "../../../core/time";
import { isOpen } from "../../../core/restarts/budget";
import { AT_ONCE_MS, type Assessment } from "../assessment";
import { buildRelease } from "../build";
import { entryOf, isSameTemplate, nameOf } from "../case";
import { missingAccount, ROLLING_MS } from "../checks";
import { isCanary, livingOf, type PodFacts } from "../facts";
import { held, isDecided, isToBlame } from "../revert";
import { buildHealing, buildRemoval, workloadOf } from "./build";
import { isReleasable, outOfEffectMs, type AdmissionCase } from "./case";
import { pairsOf } from "./obsolete";

/** The pods are answered 401 since the policy is in effect: it is taken away. */
export function reverting(given: AdmissionCase): Assessment | undefined {
  if (!isHarmful(given)) return undefined;
  const sentence = `${nameOf(given)}: pods with the shorter token are answered 401, and no pod was before; the policy is taken away.`;
  const finding = {
    status: "False" as const,
    reason: "Reverting" as const,
    sentence,
    entry: entryOf(given, "Reverting"),
    isProgressing: true,
  };
  // Written down first: whoever leads next must not try it again.
  if (given.own.record?.outcome !== "Reverting") return { ...finding, recheckAfterMs: AT_ONCE_MS };
  const intents = takingBack(given, sentence);
  return intents.length === 0 ? undefined : (held(given, finding) ?? { ...finding, intents });
}

function isHarmful(given: AdmissionCase): boolean {
  const { record } = given.own;
  if (!given.spec.revertOnUnauthorized || record?.appliedTime === undefined) return false;
  // Of another template than that for which the policy was made, nothing is known yet.
  if (record.outcome === "Reverted" || !isSameTemplate(given)) return false;
  return isDecided(given) || isToBlame(given);
}

/** All that shortens tokens: the pairs, and what is left in the template from before. */
function takingBack(given: AdmissionCase, why: string): Intent[] {
  const release = isReleasable(given.own) ? [buildRelease(given.own, why)] : [];
  return [...buildRemoval(pairsOf(given.own.view.name, given.facts), why), ...release];
}

/** It was taken away; the pods that it has left without access are replaced, one at a time. */
export function reverted(given: AdmissionCase): Assessment | undefined {
  const { record } = given.own;
  if (!isTakenAway(given) || !isSameTemplate(given)) return undefined;
  // An operator that died between the deletion and its note has left it Reverting.
  const isNoted = record?.outcome === "Reverted";
  const entry = {
    ...entryOf(given, "Reverted"),
    ...(isNoted ? {} : { appliedTime: toSeconds(new Date(given.nowMs)) }),
  };
  const sentence = `${nameOf(given)}: the policy for shorter tokens was taken away, because pods were answered 401 with them. It is not made again before the template changes: does its client read the token file again?`;
  const finding = { status: "False" as const, reason: "Reverted" as const, sentence, entry, isStalled: true };
  return { ...finding, ...healing(given, finding) };
}

function healing(given: AdmissionCase, { sentence, entry }: Assessment): Partial<Assessment> {
  const dead = livingOf(given.own).filter(one => isLeftWithoutAccess(one, given));
  const [next] = dead;
  if (next === undefined) return {};
  const why = missingAccount(given) ?? othersMissing(dead, given);
  if (why !== undefined) {
    return {
      sentence: `${sentence} Pods that are answered 401 are not replaced, because ${why}.`,
      recheckAfterMs: ROLLING_MS,
    };
  }
  const isNext = given.nowMs >= outOfEffectMs(entry.appliedTime) && isFree(given);
  return { ...(isNext ? replacement(given, next) : {}), isProgressing: true, recheckAfterMs: ROLLING_MS };
}

/** Pods are down that are not among these: one more that is replaced would be one more that is down. */
function othersMissing(dead: readonly PodFacts[], { own }: AdmissionCase): string | undefined {
  const down = dead.filter(({ pod }) => !pod.ready).length;
  const missing = own.view.replicas - own.view.availablePods - down;
  return missing > 0 ? `others are not available (${missing}): see kubectl rollout status` : undefined;
}

function isTakenAway(given: AdmissionCase): boolean {
  const { record } = given.own;
  return record?.outcome === "Reverted" || (record?.outcome === "Reverting" && takingBack(given, "").length === 0);
}

function isLeftWithoutAccess({ pod, verdict, isOlderThanAccount }: PodFacts, { spec }: AdmissionCase): boolean {
  return verdict === "persistent" && !isOlderThanAccount && !pod.skip && isCanary(pod, spec);
}

/** No other pod is being replaced, by a template that was given back, by this remedy or by another. */
function isFree({ own, facts }: AdmissionCase): boolean {
  const { updateStrategy, updatedPods, replicas } = own.view;
  const isRolling = updateStrategy !== "OnDelete" && updatedPods < replicas;
  const isRestarting = facts.otherRestarts.some(({ workload }) => workload === workloadOf(own.view));
  return !isRolling && !isRestarting && !facts.restarts.some(isOpen);
}

function replacement(given: AdmissionCase, { pod }: PodFacts): Pick<Assessment, "intents"> {
  const why = `Pod ${pod.name} of ${nameOf(given)} is answered 401 with its shorter token; it is replaced, and its successor gets one as before.`;
  return { intents: [buildHealing(pod, given.own.view, why)] };
}
