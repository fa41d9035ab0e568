import type { DaemonSetStatus } from "../../../api/controller-resilience";
import { isOpen, restartsOf } from "../../../core/restarts";
import { toSeconds } from "../../../core/time";
import { describeProgress, logBlocker, serviceAccountBlocker, waitingFor } from "../checks/shared";
import { RECHECK_MS, type DaemonSetFinding } from "../finding";
import { buildChange, buildEviction, buildRelease, workloadOf } from "../intents";
import { activePodsOf, isBounded, templateInputOf, type ObservedPod } from "../observed";
import { appliedMs, entryWithChange, isSameTemplate, lifetimeOf, MAX_CHANGES, nameOf, type Subject } from "../subject";
import { planKeep } from "../template";
import { trialMs } from "../checks/watch";
import { firstPodOf, missingProof, PATIENCE_MS } from "./first-pod";
import { describeHeldTrials } from "./held";
import { isOnTrial } from "./strategy";
import { waitOf } from "./wait";

// Every change is tried on one node first (docs/adr/0026): the template is changed with updateStrategy OnDelete, one pod is evicted, and after
// the life of its token the rolling update continues, or the template is restored. Pure.

/** A template that changes so soon after the operator's write is changed by it, in milliseconds. */
const WEBHOOK_MS = 60_000;

/** One DaemonSet while the trial lasts; undefined: there is none. */
export function onTrial(subject: Subject): DaemonSetFinding | undefined {
  if (!isOnTrial(subject.daemonSet.view)) return takenOver(subject);
  return outdated(subject) ?? expired(subject) ?? replacing(subject) ?? proving(subject) ?? passed(subject);
}

/** The trial ended without proof, for this template and generation of the object. */
export function unproven(subject: Subject): DaemonSetFinding | undefined {
  const { record } = subject.daemonSet;
  const isCurrent = record?.outcome === "Unproven" && record.generation === subject.observed.generation;
  if (!isCurrent || subject.templatePlan.kind !== "Change" || !isSameTemplate(subject)) return undefined;
  return {
    status: "False",
    reason: "TrialUnproven",
    sentence: `${nameOf(subject)} unchanged: on one node the shorter token was not proven to work within an hour of its expiry. The operator does not retry until the template or this object changes; take the DaemonSet out of the targets if it cannot.`,
    entry: entryWithChange(subject, "Unproven"),
    isStalled: true,
  };
}

/** A trial of another template, or of another spec, proves nothing. */
function outdated(subject: Subject): DaemonSetFinding | undefined {
  const isBoundedNow = subject.templatePlan.kind === "Bounded";
  if (isBoundedNow && isSameTemplate(subject)) return undefined;
  // After a crash the time of the change is not known.
  const isRecorded = subject.daemonSet.record?.outcome === "Trial";
  if (isBoundedNow && isRecorded && subject.nowMs < appliedMs(subject) + WEBHOOK_MS) {
    return contesting(subject, "because its template changed together with the operator's change, as by a webhook");
  }
  return ending(subject, "Waiting", "because the template or this object changed during the trial");
}

function expired(subject: Subject): DaemonSetFinding | undefined {
  if (subject.nowMs < Date.parse(waitOf(subject).waitStartTime) + trialMs(subject.spec) + PATIENCE_MS) return undefined;
  const cause = missingProof(subject);
  return cause === undefined ? undefined : ending(subject, "Unproven", `because the trial gave no proof: ${cause}`);
}

/** Another field manager has set the update strategy, so the pods are replaced without proof. */
function takenOver(subject: Subject): DaemonSetFinding | undefined {
  const { record, view } = subject.daemonSet;
  const isLost = record?.outcome === "Trial" && subject.templatePlan.kind === "Bounded";
  if (!isLost) return undefined;
  if (view.updateStrategy !== "OnDelete" && view.strategyManager === undefined) return givenBack(subject);
  if (missingProof(subject) === undefined) return undefined;
  const manager = view.strategyManager ?? "another manager";
  return contesting(subject, `because ${manager} changed updateStrategy during the trial`);
}

/** The trial passed, and a crash or a lost answer kept that out of status: only the operator's own apply leaves the field without an owner. */
function givenBack(subject: Subject): DaemonSetFinding {
  const sentence = `${nameOf(subject)}: the trial on one node has passed; the DaemonSet controller replaces the other pods.`;
  const entry = entryWithChange(subject, "Rolling");
  const appliedTime = toSeconds(new Date(subject.nowMs));
  return {
    status: "False",
    reason: "Rolling",
    sentence,
    entry: { ...entry, appliedTime },
    isProgressing: true,
    recheckAfterMs: RECHECK_MS,
  };
}

/** There is no other trial for this generation of the object: each one could replace all pods. */
function contesting(subject: Subject, why: string): DaemonSetFinding {
  const finding = ending(subject, "Contested", why);
  if (finding.intents === undefined) return finding;
  return { ...finding, reason: "FieldContested", entry: { ...finding.entry, changes: MAX_CHANGES } };
}

/** Gives back every field: the template, and with it the update strategy. */
function ending(subject: Subject, after: DaemonSetStatus["outcome"], why: string): DaemonSetFinding {
  const blocker = serviceAccountBlocker(subject);
  if (blocker !== undefined) return waitingFor(subject, blocker, "restoring its template");
  const sentence = `${nameOf(subject)}: restoring its template and updateStrategy, ${why}.`;
  const finding = inTrial(subject, "Rolling", sentence);
  return enforced(subject, { ...finding, intents: [buildRelease(subject.daemonSet, sentence)], after });
}

function replacing(subject: Subject): DaemonSetFinding | undefined {
  const { daemonSet, spec, observed } = subject;
  if (firstPodOf(daemonSet, spec) !== undefined) return undefined;
  const open = observed.restarts.find(isOpen);
  if (open !== undefined) return trialFinding(subject, `the operator is watching the successor of pod ${open.pod}`);
  const blocker = evictionBlocker(subject);
  if (blocker !== undefined) return trialFinding(subject, `replacing the first pod is delayed: ${blocker}`);
  const next = activePodsOf(daemonSet)
    .filter(({ pod }) => !pod.skip)
    .toSorted(oldestFirst)[0];
  return next === undefined ? trialFinding(subject, "no pod can be replaced") : evicting(subject, next);
}

function oldestFirst({ pod: a }: ObservedPod, { pod: b }: ObservedPod): number {
  return a.createdAtMs - b.createdAtMs || (a.name < b.name ? -1 : 1);
}

function evictionBlocker(subject: Subject): string | undefined {
  const { view } = subject.daemonSet;
  const other = restartsOf(workloadOf(view), subject.observed.otherOpenRestarts)[0];
  if (other !== undefined) return `pod ${other.pod} is being replaced`;
  if (view.observedGeneration < view.generation) return "the DaemonSet controller has not seen the change yet";
  const unavailable = view.replicas - view.availablePods;
  if (unavailable > 0) return `${view.availablePods} of ${view.replicas} pods are available`;
  return serviceAccountBlocker(subject) ?? logBlocker(subject);
}

function evicting(subject: Subject, { pod }: ObservedPod): DaemonSetFinding {
  const { view } = subject.daemonSet;
  const why = `Pod ${pod.name} of ${nameOf(subject)} is the first to get a token that is bounded to ${lifetimeOf(subject.spec)}.`;
  const finding = trialFinding(subject, `evicting pod ${pod.name}`);
  return enforced(subject, { ...finding, intents: [buildEviction(pod, view, why)] });
}

function proving(subject: Subject): DaemonSetFinding | undefined {
  const missing = missingProof(subject);
  return missing === undefined ? undefined : trialFinding(subject, missing);
}

/** The rolling update continues with the other pods. */
function passed(subject: Subject): DaemonSetFinding {
  const { daemonSet, spec } = subject;
  const patch = planKeep(templateInputOf(daemonSet), spec, daemonSet.record?.previous ?? []);
  const sentence = `${nameOf(subject)}: the first pod outlived its shorter token; restoring updateStrategy, so that the DaemonSet controller replaces the others.`;
  const finding = inTrial(subject, "Rolling", sentence);
  return enforced(subject, { ...finding, intents: [buildChange(daemonSet.view, patch, sentence)], after: "Rolling" });
}

function trialFinding(subject: Subject, detail: string): DaemonSetFinding {
  const { daemonSet, spec } = subject;
  const boundedPods = activePodsOf(daemonSet).filter(({ pod }) => isBounded(pod, spec)).length;
  const sentence = `${nameOf(subject)}: trial on one node, ${describeProgress(boundedPods, subject)}; ${detail}.`;
  return inTrial(subject, "Replacing", sentence);
}

function inTrial(subject: Subject, reason: "Replacing" | "Rolling", sentence: string): DaemonSetFinding {
  const entry = entryWithChange(subject, "Trial");
  const wait = waitOf(subject);
  const held = subject.observed.mode !== "Enforce" ? describeHeldTrials([entry]) : undefined;
  // After a crash the change may not be recorded; it is watched from now on.
  const appliedTime = entry.appliedTime ?? toSeconds(new Date(subject.nowMs));
  return {
    status: "False",
    reason,
    sentence: held === undefined ? sentence : `${sentence} ${held}`,
    entry: { ...entry, appliedTime, ...(wait.trialWaits > 1 && wait) },
    isProgressing: true,
    recheckAfterMs: RECHECK_MS,
  };
}

function enforced({ observed }: Subject, finding: DaemonSetFinding): DaemonSetFinding {
  return observed.mode === "Enforce" ? finding : { ...finding, reason: "WouldChange", isProgressing: false };
}
