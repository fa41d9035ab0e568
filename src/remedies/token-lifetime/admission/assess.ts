import type { Assessment } from "../assessment";
import { entryOf, life, nameOf } from "../case";
import { bounded, leftAlone, rolling, skipped } from "../checks";
import { isBounded, livingOf } from "../facts";
import { withWatch } from "../watch";
import { inEffectMs, isInNeed, withPair, type AdmissionCase } from "./case";
import { comingIntoEffect, giveBack, making } from "./make";
import { replacing } from "./replace";
import { reverted, reverting } from "./revert";

type Check = (given: AdmissionCase) => Assessment | undefined;

/** The first that has something to say decides. */
const CHECKS: readonly Check[] = [
  // Somebody asked for it to be left alone.
  skipped,
  // Its pods are answered 401 since: first of all, take it back.
  reverting,
  // It was taken back, and nothing has changed that would make the next try any better.
  reverted,
  // Nothing to bound, or nothing that can be.
  leftAlone,
  // The template has the bound by itself.
  given => (isInNeed(given) ? undefined : (rolling(given) ?? bounded(given))),
  // There is no way to do it here, and no other is taken in its place.
  unavailable,
  nameTaken,
  // The policy is not there, or not as it is to be.
  making,
  comingIntoEffect,
  // What does not work must not cost a pod more.
  ineffective,
  // The policy does now what the template did.
  giveBack,
  // Pods that are there already keep their token until they are replaced.
  replacing,
];

/** What the checks say of a DaemonSet; if none of them does, all is well. */
export function assessAdmission(given: AdmissionCase): Assessment {
  const assessment = firstOf(given) ?? done(given);
  const isAboutToBe = assessment.intents?.some(({ target }) => target.name === given.pair.name) ?? false;
  return withWatch({ ...assessment, entry: withPair(assessment.entry, given, isAboutToBe) }, given);
}

function firstOf(given: AdmissionCase): Assessment | undefined {
  for (const check of CHECKS) {
    const assessment = check(given);
    if (assessment !== undefined) return assessment;
  }
  return undefined;
}

function unavailable(given: AdmissionCase): Assessment | undefined {
  if (given.facts.admission !== null) return undefined;
  const sentence = `The tokens of ${nameOf(given)} can't be bounded by admission: this API server does not serve MutatingAdmissionPolicy in admissionregistration.k8s.io/v1, which came with Kubernetes 1.36. Nothing is done; via: Template works with older ones.`;
  return {
    status: "False",
    reason: "AdmissionUnavailable",
    sentence,
    entry: entryOf(given, "Waiting"),
    isStalled: true,
  };
}

function nameTaken(given: AdmissionCase): Assessment | undefined {
  const foreign = given.pair.halves.find(({ state }) => state === "Foreign");
  if (foreign === undefined) return undefined;
  const sentence = `The tokens of ${nameOf(given)} can't be bounded: the ${foreign.kind} ${given.pair.name} is somebody else's, by its labels. It is not touched.`;
  return { status: "False", reason: "NameTaken", sentence, entry: entryOf(given, "Waiting"), isStalled: true };
}

/** A pod that was made once the policy was in effect, and has a longer token all the same. */
function ineffective(given: AdmissionCase): Assessment | undefined {
  const { own, spec, pair } = given;
  const proof = livingOf(own).find(({ pod }) => pod.createdAtMs >= inEffectMs(given) && !isBounded(pod, spec));
  if (proof === undefined) return undefined;
  const sentence = `The policy ${pair.name} has no effect: pod ${proof.pod.name} of ${nameOf(given)} was created after it, with a token that lives longer than ${life(spec)}. Is the admission plugin MutatingAdmissionPolicy on, at every API server? No more pods are replaced; delete that pod once it is.`;
  return {
    status: "False",
    reason: "AdmissionIneffective",
    sentence,
    entry: entryOf(given, "Stuck"),
    isStalled: true,
  };
}

function done(given: AdmissionCase): Assessment {
  const sentence = `Tokens of ${nameOf(given)} live at most ${life(given.spec)}.`;
  return { status: "True", reason: "Bounded", sentence, entry: entryOf(given, "Bounded") };
}
