import { whatWould } from "../../../core/mode";
import { isOpen, restartsOf } from "../../../core/restarts";
import { toSeconds } from "../../../core/time";
import { firstMatch, type Check } from "../../kit/checks";
import { isSettled } from "../checks/rollout";
import { blockerOf, describeProgress, waitingFor } from "../checks/shared";
import { windowClosed } from "../checks/window";
import { trialMs } from "../checks/watch";
import { RECHECK_MS, type DaemonSetFinding } from "../finding";
import { activePodsOf, isBounded, isCanary, type ObservedPod } from "../observed";
import { entryOf, lifetimeOf, nameOf } from "../subject";
import { firstPodOf, missingProof, needsProof, PATIENCE_MS, tokenDiedMs } from "../trial/first-pod";
import { buildEviction, workloadOf } from "./intents";
import type { AdmissionSubject } from "./subject";

/** Each delays the next replacement. */
const DELAYS: readonly Check<AdmissionSubject, DaemonSetFinding>[] = [
  successorUnavailable,
  successorUnsettled,
  windowShut,
  changeBlocked,
  firstTokenOnTrial,
];

/** Pods that were created before the policy keep a longer token until they are replaced. */
export function replacing(subject: AdmissionSubject): DaemonSetFinding | undefined {
  const { daemonSet, spec } = subject;
  const unbounded = activePodsOf(daemonSet).filter(({ pod }) => !isBounded(pod, spec));
  if (unbounded.length === 0) return undefined;
  const next = unbounded.filter(({ pod }) => !pod.skip).toSorted(oldestFirst)[0];
  if (next === undefined) return onlySkipped(subject);
  return firstMatch(DELAYS, subject) ?? evict(subject, next);
}

function oldestFirst({ pod: a }: ObservedPod, { pod: b }: ObservedPod): number {
  return a.createdAtMs - b.createdAtMs || (a.name < b.name ? -1 : 1);
}

function onlySkipped(subject: AdmissionSubject): DaemonSetFinding {
  const sentence = `${progressOf(subject)}; the others have the skip annotation.`;
  return { status: "True", reason: "LeftAlone", sentence, entry: entryOf(subject, "LeftAlone") };
}

/** The last successor did not become Ready, so the next eviction could take one more pod down. */
function successorUnavailable(subject: AdmissionSubject): DaemonSetFinding | undefined {
  const { daemonSet, observed } = subject;
  const last = restartsOf(workloadOf(daemonSet.view), observed.restarts).at(-1);
  if (last?.outcome !== "Ineffective" || isSettled(daemonSet.view)) return undefined;
  return {
    status: "False",
    reason: "RolloutStuck",
    sentence: `${progressOf(subject)}; not all pods are available since pod ${last.pod} was replaced. The operator replaces no more pods; see kubectl rollout status.`,
    entry: entryOf(subject, "Stuck"),
    isStalled: true,
    recheckAfterMs: RECHECK_MS,
  };
}

/** One pod at a time, over all DaemonSets of the ControllerResilience. */
function successorUnsettled(subject: AdmissionSubject): DaemonSetFinding | undefined {
  const open = subject.observed.restarts.find(isOpen);
  if (open === undefined) return undefined;
  const workload = open.workload === workloadOf(subject.daemonSet.view) ? "" : ` of ${open.workload}`;
  return inProgress(subject, `the operator is watching the successor of pod ${open.pod}${workload}`, RECHECK_MS);
}

/** Pods keep their longer tokens until then; what is replaced stays. */
function windowShut(subject: AdmissionSubject): DaemonSetFinding | undefined {
  const closed = windowClosed(subject, progressOf(subject));
  return closed && { ...closed, entry: entryOf(subject, "Rolling") };
}

function changeBlocked(subject: AdmissionSubject): DaemonSetFinding | undefined {
  const blocker = blockerOf(subject);
  return blocker === undefined ? undefined : waitingFor(subject, blocker);
}

/** The first pods with the shorter token must outlive it before another pod gets one. */
function firstTokenOnTrial(subject: AdmissionSubject): DaemonSetFinding | undefined {
  const { daemonSet, spec, nowMs } = subject;
  if (needsProof(subject)) return agentOnTrial(subject);
  const canaries = activePodsOf(daemonSet).filter(({ pod }) => isCanary(pod, spec));
  if (canaries.length === 0) return undefined;
  const endMs = Math.min(...canaries.map(({ pod }) => pod.createdAtMs)) + trialMs(spec);
  if (nowMs >= endMs) return undefined;
  const condition = `the first must work until ${toSeconds(new Date(endMs))} before the next pod is replaced`;
  return inProgress(subject, condition, endMs - nowMs);
}

/** A CNI agent's first token must also be outlived by the network plugin on its node. */
function agentOnTrial(subject: AdmissionSubject): DaemonSetFinding | undefined {
  const first = firstPodOf(subject.daemonSet, subject.spec);
  const missing = missingProof(subject);
  if (first === undefined || missing === undefined) return undefined;
  const finding = inProgress(subject, missing, RECHECK_MS);
  if (subject.nowMs < tokenDiedMs(first, subject.spec) + PATIENCE_MS) return finding;
  return { ...finding, reason: "TrialUnproven", isStalled: true, isProgressing: false };
}

function inProgress(subject: AdmissionSubject, detail: string, recheckAfterMs: number): DaemonSetFinding {
  return {
    status: "False",
    reason: "Replacing",
    sentence: `${progressOf(subject)}; ${detail}.`,
    entry: entryOf(subject, "Rolling"),
    isProgressing: true,
    recheckAfterMs,
  };
}

function evict(subject: AdmissionSubject, { pod }: ObservedPod): DaemonSetFinding {
  const { daemonSet, spec, observed } = subject;
  const why = `Pod ${pod.name} of ${nameOf(subject)} has a token that lives longer than ${lifetimeOf(spec)}; its successor gets a shorter one.`;
  const finding = inProgress(subject, `evicting pod ${pod.name}`, RECHECK_MS);
  const intents = [buildEviction(pod, daemonSet.view, why)];
  const { mode } = observed;
  if (mode === "Enforce") return { ...finding, intents };
  const sentence = `${progressOf(subject)}; ${whatWould(mode)} evict pod ${pod.name}.`;
  return { ...finding, intents, reason: "WouldChange", sentence, isProgressing: false };
}

function progressOf(subject: AdmissionSubject): string {
  const { daemonSet, spec } = subject;
  const pods = activePodsOf(daemonSet);
  const boundedPods = pods.filter(({ pod }) => isBounded(pod, spec)).length;
  return `${nameOf(subject)}: ${describeProgress(boundedPods, subject)}`;
}
