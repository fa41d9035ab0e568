import { firstMatch, type Check } from "../../kit/checks";
import { bounded, boundedFinding, nothingToChange, rolling, skipped } from "../checks/shared";
import { endingTrial } from "../trial/checks";
import { lacksRights } from "../trial/rights";
import { withPatience } from "../checks/waiting";
import { withWatch } from "../checks/watch";
import type { DaemonSetFinding } from "../finding";
import { heldByOther } from "../holder";
import { activePodsOf, isBounded } from "../observed";
import { entryOf, lifetimeOf, nameOf } from "../subject";
import { MAX_POLICIES } from "./limit";
import { replacing } from "./replace-pods";
import { reverted, reverting } from "./revert";
import { inEffectMs, needsPolicy, withPolicy, type AdmissionSubject } from "./subject";
import { notInEffectYet, restoringTemplate, writingPair } from "./write-pair";

const CHECKS: readonly Check<AdmissionSubject, DaemonSetFinding>[] = [
  skipped,
  heldByOther,
  reverting,
  reverted,
  endingTrial,
  nothingToChange,
  boundByTemplate,
  unavailable,
  nameTaken,
  tooManyPolicies,
  lacksRights,
  writingPair,
  notInEffectYet,
  ineffective,
  restoringTemplate,
  replacing,
];

/** Checks one DaemonSet with via: Admission; its tokens are bounded if no check applies. */
export function checkAdmission(subject: AdmissionSubject): DaemonSetFinding {
  const finding = firstMatch(CHECKS, subject) ?? boundedFinding(subject);
  const isWritten = finding.intents?.some(({ target }) => target.name === subject.pair.name) ?? false;
  const withEntry = { ...finding, entry: withPolicy(finding.entry, subject, isWritten) };
  return withWatch(withPatience(withEntry, subject), subject);
}

function boundByTemplate(subject: AdmissionSubject): DaemonSetFinding | undefined {
  return needsPolicy(subject) ? undefined : (rolling(subject) ?? bounded(subject));
}

function unavailable(subject: AdmissionSubject): DaemonSetFinding | undefined {
  if (subject.observed.admission !== null) return undefined;
  return {
    status: "False",
    reason: "AdmissionUnavailable",
    sentence: `${nameOf(subject)} unchanged: this API server does not serve MutatingAdmissionPolicy in admissionregistration.k8s.io/v1, which requires Kubernetes 1.36. Set via: Template for older versions.`,
    entry: entryOf(subject, "Waiting"),
    isStalled: true,
  };
}

function nameTaken(subject: AdmissionSubject): DaemonSetFinding | undefined {
  const foreign = subject.pair.halves.find(({ state }) => state.is === "foreign");
  if (foreign === undefined) return undefined;
  return {
    status: "False",
    reason: "NameTaken",
    sentence: `${nameOf(subject)} unchanged: ${foreign.kind} ${subject.pair.name} has another owner, by its labels. The operator does not change it; delete it if it is not needed.`,
    entry: entryOf(subject, "Waiting"),
    isStalled: true,
  };
}

function tooManyPolicies(subject: AdmissionSubject): DaemonSetFinding | undefined {
  if (!subject.isSurplus) return undefined;
  return {
    status: "False",
    reason: "TooManyDaemonSets",
    sentence: `${nameOf(subject)} unchanged: an object has at most ${MAX_POLICIES} admission policies, one per DaemonSet. Use several objects.`,
    entry: entryOf(subject, "LeftAlone"),
    isStalled: true,
  };
}

/** A pod that was created after the policy took effect has a longer token. */
function ineffective(subject: AdmissionSubject): DaemonSetFinding | undefined {
  const { daemonSet, spec, pair } = subject;
  const proof = activePodsOf(daemonSet).find(
    ({ pod }) => pod.createdAtMs >= inEffectMs(subject) && !isBounded(pod, spec),
  );
  if (proof === undefined) return undefined;
  return {
    status: "False",
    reason: "AdmissionIneffective",
    sentence: `${nameOf(subject)}: policy ${pair.name} has no effect: pod ${proof.pod.name}, created after it, has a token that lives longer than ${lifetimeOf(spec)}. The operator replaces no more pods; turn the admission plugin MutatingAdmissionPolicy on at every API server, then delete that pod.`,
    entry: entryOf(subject, "Stuck"),
    isStalled: true,
  };
}
