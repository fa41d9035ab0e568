import { restartsOf } from "../../restarts/history";
import { withPatience } from "../../restarts/limits";
import { count } from "../../core/text";
import { formatDuration, toSeconds } from "../../core/time";
import type { DaemonSetStatus } from "../../api/controller-resilience";
import {
  activePodsOf,
  calm,
  type DaemonSetFinding,
  isBounded,
  isOurRollout,
  lifetimeOf,
  type ObservedDaemonSet,
  type ObservedPod,
  progressing,
  RECHECK_MS,
  stalled,
  type Subject,
  isOnTrial,
  isSettled,
  isStuck,
  STUCK_AFTER_MS,
  workloadOf,
} from "./subject";
import type { LeftAloneReason } from "./template/parts";

// How far the pods are, what is in the way, and since when. Pure.

/** The operator cannot change it safely. */
export function unsupported(subject: Subject, cause: string): DaemonSetFinding {
  return stalled(subject, "Unsupported", "LeftAlone", ` unchanged: ${cause}`);
}

/** Reasons that a person has chosen. */
const ON_PURPOSE: readonly LeftAloneReason[] = ["AutomountOff", "DefaultTokenLeft"];

/** There is no token to bound, or the operator can not bound it. */
export function nothingToChange(subject: Subject): DaemonSetFinding | undefined {
  const { view, record, plan } = subject;
  if (plan.kind !== "LeftAlone") return undefined;
  // The template is restored, and its pods are being replaced.
  if (record?.outcome === "Rolling" && view.updateStrategy !== "OnDelete" && !isSettled(view))
    return underWay(subject, `${view.updatedPods} of ${view.replicas} pods have the restored template`);
  if (!ON_PURPOSE.includes(plan.reason)) return unsupported(subject, plan.cause);
  return calm(subject, "NothingToDo", "LeftAlone", ` unchanged: ${plan.cause}`);
}

/** The template is bounded, but not all pods are. */
export function rolling(subject: Subject): DaemonSetFinding | undefined {
  const { view, record, plan, spec } = subject;
  if (plan.kind !== "Bounded") return undefined;
  const areBounded = activePodsOf(subject).every(pod => isBounded(pod, spec));
  // A bounded DaemonSet stays bounded during other rollouts.
  if (areBounded && (!isOurRollout(record) || isSettled(view))) return undefined;
  const progress = describeProgress(subject);
  const byHand = view.updateStrategy === "OnDelete" ? "delete the others by hand" : undefined;
  const unreplaced = isSettled(view) ? overridden(subject) : byHand;
  if (unreplaced !== undefined) return stalled(subject, "Unsupported", "Bounded", `: ${progress}; ${unreplaced}`);
  return underWay(subject, progress);
}

/** A rollout that moves, or is stuck. */
function underWay(subject: Subject, progress: string): DaemonSetFinding {
  const outcome = isOurRollout(subject.record) ? "Rolling" : "Bounded";
  if (isStuck(subject, subject.nowMs)) {
    const words = `: rollout stuck, ${progress}: no pod became Ready for ${formatDuration(STUCK_AFTER_MS)}; kubectl describe the DaemonSet, and its pods that are not Ready`;
    return stuckSince(stalled(subject, "RolloutStuck", outcome, words), subject);
  }
  const words = `: ${progress}; the DaemonSet controller replaces the others`;
  return progressing(subject, "Rolling", outcome, words);
}

/** Admission gave a pod of the bounded template another token as well, for a webhook's sidecar or by the ServiceAccount as it was then. */
export function overridden(subject: Subject): string | undefined {
  const { key = "", value } = subject.view.rollout?.currentLabel ?? {};
  const found = activePodsOf(subject).find(pod => pod.labels[key] === value && !isBounded(pod, subject.spec));
  const sentence = `pod ${found?.name} has the present template, and a token that lives longer, such as of a webhook's sidecar; take out what adds that, or delete the pod if nothing does any more`;
  return value === undefined || found === undefined ? undefined : sentence;
}

/** How many pods are bounded, of those that exist or should exist. */
export function describeProgress(subject: Subject): string {
  const active = activePodsOf(subject);
  const boundedPods = active.filter(pod => isBounded(pod, subject.spec)).length;
  const pods = Math.max(active.length, subject.view.replicas);
  return `${boundedPods} of ${pods} pods have tokens bounded to ${lifetimeOf(subject.spec)}`;
}

/** The template and all pods are bounded. */
export function bounded(subject: Subject): DaemonSetFinding | undefined {
  if (subject.plan.kind !== "Bounded") return undefined;
  return calm(subject, "Bounded", "Bounded", `: tokens bounded to ${lifetimeOf(subject.spec)}`);
}

/** Part of the pods that a rollout of this remedy may replace at once; at least one pod. */
const MAX_SHARE = 0.1;

/** A changed template would take down too many agents at once. An unreadable value counts as all pods. */
export function tooManyAtOnce(subject: Subject): DaemonSetFinding | undefined {
  const { replicas, maxUnavailable = 1, maxSurge = 0 } = subject.view;
  const atOnce = Math.max(1, countOf(maxUnavailable, replicas), countOf(maxSurge, replicas));
  const most = Math.max(1, Math.ceil(replicas * MAX_SHARE));
  if (atOnce <= most) return undefined;
  return unsupported(
    subject,
    `its rolling update replaces ${atOnce} pods at once, and the operator accepts at most ${most} of ${replicas}; lower maxUnavailable or maxSurge`,
  );
}

/** The DaemonSet controller rounds percentages up. */
function countOf(value: number | string, replicas: number): number {
  if (typeof value === "number") return value;
  const percent = /^(\d+)%$/.exec(value)?.[1];
  return percent === undefined ? replicas : Math.ceil((replicas * Number(percent)) / 100);
}

// Blockers: each is the cause of a delay, as the end of a sentence.

/** Without the ServiceAccount a pod that is deleted gets no successor. */
export function serviceAccountBlocker({ view, lacksServiceAccount }: Subject): string | undefined {
  if (!lacksServiceAccount) return undefined;
  return `its ServiceAccount ${view.serviceAccountName} is missing or being deleted, so no pod could be created`;
}

/** Why this is not the time for a change. */
export function blockerOf(subject: Subject): string | undefined {
  return (
    serviceAccountBlocker(subject) ??
    rolloutBlocker(subject) ??
    restartBlocker(subject) ??
    sparedBlocker(subject) ??
    logBlocker(subject)
  );
}

/** The DaemonSet controller replaces all pods, also one that a person wants to be left alone; where it would start none any more, it takes the pod away. */
export function sparedBlocker(subject: Subject): string | undefined {
  const { plan, spec, view } = subject;
  const pods = activePodsOf(subject);
  const left = pods.length - view.replicas;
  if (left > 0)
    return `on ${count(left, "node")} it would start no pod now, such as for a new taint, and the rollout would take away the one there for good; tolerate the taint, or delete the pod`;
  const spared = pods.find(pod => pod.skip && isBounded(pod, spec) === (plan.kind === "Restore"));
  return spared && `pod ${spared.name} has the skip annotation, and the rollout would replace it`;
}

/** Another remedy restarts its pods. */
export function restartBlocker({ view, observed }: Subject): string | undefined {
  const other = restartsOf(workloadOf(view), observed.otherOpenRestarts)[0];
  return other && `pod ${other.pod} is being replaced`;
}

/** The engine counts what status shows: not what is seen first, such as a change whose record was lost, a revert, or pods that a skip left old. */
function rolloutBlocker({ view, observed, nowMs }: Subject): string | undefined {
  const { generation, observedGeneration, replicas, updatedPods, availablePods } = view;
  // In a trial only the pod that the operator evicts gets the changed template.
  const isRolledOut = observedGeneration >= generation && (updatedPods >= replicas || isOnTrial(view));
  if (!isRolledOut) return "a rollout is in progress";
  if (availablePods < replicas) return `${availablePods} of ${replicas} pods are available`;
  // It takes down one pod, and others may never end: the trial would be over without its proof.
  if (isOnTrial(view)) return undefined;
  const isAnotherRolling = observed.daemonSets.some(one => one.view.uid !== view.uid && isReplacingPods(one, nowMs));
  return isAnotherRolling ? "another DaemonSet of this ControllerResilience is replacing its pods" : undefined;
}

/** This remedy has it replace pods. A trial counts also if a crash has kept it out of status. */
function isReplacingPods(daemonSet: ObservedDaemonSet, nowMs: number): boolean {
  const { record, view } = daemonSet;
  if (isOnTrial(view)) return true;
  const isOurs = record?.outcome === "Reverted" || record?.appliedTime !== undefined;
  return isOurs && !isSettled(view) && !isStuck(daemonSet, nowMs);
}

/** It is persistently answered 401, or soon will be. */
export function isRejected({ logState, isOlderThanServiceAccount }: ObservedPod): boolean {
  return logState === "persistent" || isOlderThanServiceAccount;
}

/** The logs before a change are compared with those after it. */
function logBlocker(subject: Subject): string | undefined {
  const pods = activePodsOf(subject);
  const sandboxes = pods.map(({ sandboxState }) => sandboxState);
  if (sandboxes.some(state => state === "persistent" || state === "suspected"))
    return "pods on its nodes already fail to start, because the API server answers their network plugin 401";
  if (sandboxes.includes("unreadable"))
    return "Events about pods that cannot start are unreadable, so harm could not be detected";
  const states = pods.map(({ logState }) => logState);
  if (pods.some(isRejected) || states.includes("suspected"))
    return "its pods already get 401 responses, so later ones could not be attributed to the change";
  if (states.includes("unreadable")) return "the logs of its pods are unreadable, so harm could not be detected";
  if (!states.includes("unread")) return undefined;
  return sandboxes.includes("unread")
    ? "Events about pods that cannot start on its nodes have not been watched for two minutes yet"
    : "the logs of its pods have not been read yet";
}

/** A change that a blocker delays. */
export function waitingFor(subject: Subject, blocker: string, change = "bounding its tokens"): DaemonSetFinding {
  return progressing(subject, "Waiting", "Waiting", `: ${change} is delayed: ${blocker}`);
}

/** Records when a change began to wait. */
export function withWait(finding: DaemonSetFinding, subject: Subject): DaemonSetFinding {
  const { entry, isProgressing, reason } = finding;
  if (isProgressing !== true || (reason !== "Waiting" && entry.outcome !== "Planned")) return finding;
  const waiting = { ...finding, entry: sinceWhen(entry, subject) };
  // What is planned is about to happen, unless the write turns out to be held back.
  return reason === "Waiting" ? stalledIfLong(waiting, subject.nowMs) : waiting;
}

/** Records since when pods are missing. */
export function stuckSince(finding: DaemonSetFinding, subject: Subject): DaemonSetFinding {
  return { ...finding, entry: sinceWhen(finding.entry, subject), recheckAfterMs: RECHECK_MS };
}

function sinceWhen(entry: DaemonSetStatus, { record, nowMs }: Subject): DaemonSetStatus {
  const isSameWait = record !== undefined && waitOf(record) === waitOf(entry);
  return { ...entry, waitStartTime: (isSameWait && record.waitStartTime) || toSeconds(new Date(nowMs)) };
}

/** What is planned and held back waits as well. */
function waitOf({ outcome }: DaemonSetStatus): DaemonSetStatus["outcome"] {
  return outcome === "Planned" ? "Waiting" : outcome;
}

/** No wait lasts forever: after an hour the DaemonSet is Stalled. */
export function stalledIfLong(finding: DaemonSetFinding, nowMs: number): DaemonSetFinding {
  const wayOut = "remove what delays it, or take the DaemonSet out of the targets";
  const patient = withPatience(finding, wayOut, finding.entry, new Date(nowMs));
  return patient === finding ? finding : { ...patient, reason: "Waiting" };
}
