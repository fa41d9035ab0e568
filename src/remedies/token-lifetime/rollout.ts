import { restartsOf } from "../../restarts/history";
import { withPatience } from "../../restarts/limits";
import { formatDuration, toSeconds } from "../../core/time";
import type { DaemonSetStatus } from "../../api/controller-resilience";
import type { DaemonSetView } from "../../core/views";
import {
  activePodsOf,
  type DaemonSetFinding,
  entryOf,
  entryWithChange,
  isBounded,
  isOurRollout,
  lifetimeOf,
  nameOf,
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

/** Part of the pods that a rollout of this remedy may replace at once; at least one pod. */
const MAX_SHARE = 0.1;

/** How many pods a rolling update replaces at once. The DaemonSet controller rounds percentages up; an unreadable value counts as all. */
function atOnceOf({ replicas, maxUnavailable = 1, maxSurge = 0 }: DaemonSetView): number {
  return Math.max(1, countOf(maxUnavailable, replicas), countOf(maxSurge, replicas));
}

/** How many pods a rollout of this remedy may replace at once. */
function mostAtOnce({ replicas }: DaemonSetView): number {
  return Math.max(1, Math.ceil(replicas * MAX_SHARE));
}

function countOf(value: number | string, replicas: number): number {
  if (typeof value === "number") return value;
  const percent = /^(\d+)%$/.exec(value)?.[1];
  return percent === undefined ? replicas : Math.ceil((replicas * Number(percent)) / 100);
}

export function skipped(subject: Subject): DaemonSetFinding | undefined {
  const { daemonSet, templatePlan } = subject;
  if (!daemonSet.view.skip) return undefined;
  if (isOnTrial(daemonSet.view)) {
    const words =
      ": the skip annotation holds its trial on one node, and updateStrategy OnDelete holds every update of its template; remove the annotation, or set updateStrategy.type: RollingUpdate";
    return stalled(subject, "Unsupported", "Trial", words);
  }
  const sentence = `${nameOf(subject)} unchanged: it has the skip annotation.`;
  if (templatePlan.kind === "Bounded")
    return { status: "True", reason: "Bounded", sentence, entry: entryOf(subject, "Bounded") };
  return { status: "True", reason: "NothingToDo", sentence, entry: entryOf(subject, "LeftAlone") };
}

/** What a person has chosen. */
const ON_PURPOSE: readonly LeftAloneReason[] = ["AutomountOff", "DefaultTokenLeft"];

/** The operator cannot change it safely. */
export function unsupported(subject: Subject, cause: string): DaemonSetFinding {
  return stalled(subject, "Unsupported", "LeftAlone", ` unchanged: ${cause}`);
}

/** There is no token to bound, or the operator can not bound it. */
export function nothingToChange(subject: Subject): DaemonSetFinding | undefined {
  const { daemonSet, templatePlan } = subject;
  if (templatePlan.kind !== "LeftAlone") return undefined;
  const { replicas, updatedPods, updateStrategy } = daemonSet.view;
  // The template is restored, and its pods are being replaced.
  if (daemonSet.record?.outcome === "Rolling" && updateStrategy !== "OnDelete" && !isSettled(daemonSet.view))
    return underWay(subject, `${updatedPods} of ${replicas} pods have the restored template`);
  const finding = unsupported(subject, templatePlan.cause);
  if (!ON_PURPOSE.includes(templatePlan.reason)) return finding;
  return { ...finding, status: "True", reason: "NothingToDo", isStalled: false };
}

/** The template is bounded, but not all pods are. */
export function rolling(subject: Subject): DaemonSetFinding | undefined {
  const { daemonSet, templatePlan, spec } = subject;
  if (templatePlan.kind !== "Bounded") return undefined;
  const isOurs = isOurRollout(daemonSet.record);
  const areBounded = activePodsOf(daemonSet).every(({ pod }) => isBounded(pod, spec));
  // A bounded DaemonSet stays bounded during other rollouts.
  if (areBounded && (!isOurs || isSettled(daemonSet.view))) return undefined;
  const progress = describeProgress(subject);
  const unreplaced = whyUnreplaced(subject);
  if (unreplaced !== undefined) return stalled(subject, "Unsupported", "Bounded", `: ${progress}; ${unreplaced}`);
  return underWay(subject, progress);
}

/** A rollout that moves, or is stuck. */
function underWay(subject: Subject, progress: string): DaemonSetFinding {
  const { daemonSet, nowMs } = subject;
  const isOurs = isOurRollout(daemonSet.record);
  if (isStuck(daemonSet, nowMs)) {
    const words = `: rollout stuck, ${progress}: no pod became Ready for ${formatDuration(STUCK_AFTER_MS)}; kubectl describe the DaemonSet, and its pods that are not Ready`;
    return stuckSince(stalled(subject, "RolloutStuck", isOurs ? "Rolling" : "Bounded", words), subject);
  }
  const words = `: ${progress}; the DaemonSet controller replaces the others`;
  const finding = progressing(subject, "Rolling", "Bounded", words);
  return isOurs ? { ...finding, entry: entryWithChange(subject, "Rolling") } : finding;
}

/** What only a person does. */
function whyUnreplaced(subject: Subject): string | undefined {
  const { view } = subject.daemonSet;
  if (isSettled(view)) return overridden(subject);
  return view.updateStrategy === "OnDelete" ? "delete the others by hand" : undefined;
}

/** Admission gave a pod of the bounded template another token as well, for a webhook's sidecar or by the ServiceAccount as it was then. */
export function overridden({ daemonSet, spec }: Subject): string | undefined {
  const { key = "", value } = daemonSet.view.rollout?.currentLabel ?? {};
  const found = activePodsOf(daemonSet).find(({ pod }) => pod.labels[key] === value && !isBounded(pod, spec));
  const sentence = `pod ${found?.pod.name} has the present template, and a token that lives longer, such as of a webhook's sidecar; take out what adds that, or delete the pod if nothing does any more`;
  return value === undefined || found === undefined ? undefined : sentence;
}

/** How many pods are bounded, of those that exist or should exist. */
export function describeProgress({ daemonSet, spec }: Subject): string {
  const active = activePodsOf(daemonSet);
  const boundedPods = active.filter(({ pod }) => isBounded(pod, spec)).length;
  const pods = Math.max(active.length, daemonSet.view.replicas);
  return `${boundedPods} of ${pods} pods have tokens bounded to ${lifetimeOf(spec)}`;
}

/** The template and all pods are bounded. */
export function bounded(subject: Subject): DaemonSetFinding | undefined {
  if (subject.templatePlan.kind !== "Bounded") return undefined;
  const sentence = `${nameOf(subject)}: tokens bounded to ${lifetimeOf(subject.spec)}.`;
  return { status: "True", reason: "Bounded", sentence, entry: entryOf(subject, "Bounded") };
}

// Blockers: each is the cause of a delay, as the end of a sentence.

/** Without the ServiceAccount a pod that is deleted gets no successor. */
export function serviceAccountBlocker({ daemonSet }: Subject): string | undefined {
  if (!daemonSet.lacksServiceAccount) return undefined;
  const { serviceAccountName } = daemonSet.view;
  return `its ServiceAccount ${serviceAccountName} is missing or being deleted, so no pod could be created`;
}

/** Why this is not the time for a change. */
export function blockerOf(subject: Subject): string | undefined {
  return serviceAccountBlocker(subject) ?? rolloutBlocker(subject) ?? restartBlocker(subject) ?? logBlocker(subject);
}

/** Another remedy restarts its pods. */
export function restartBlocker({ daemonSet: { view }, observed }: Subject): string | undefined {
  const other = restartsOf(workloadOf(view), observed.otherOpenRestarts)[0];
  return other && `pod ${other.pod} is being replaced`;
}

/** The engine counts what status shows: not what is seen first, such as a change whose record was lost, a revert, or pods that a skip left old. */
function rolloutBlocker({ daemonSet: { view }, isAnotherRolling }: Subject): string | undefined {
  if (!isSettled(view)) return describeUnsettled(view);
  return isAnotherRolling ? "another DaemonSet of this ControllerResilience is replacing its pods" : undefined;
}

function describeUnsettled({ generation, observedGeneration, replicas, updatedPods, availablePods }: DaemonSetView) {
  const isRolledOut = observedGeneration >= generation && updatedPods >= replicas;
  return isRolledOut ? `${availablePods} of ${replicas} pods are available` : "a rollout is in progress";
}

/** It is persistently answered 401, or soon will be. */
export function isRejected({ logState, isOlderThanServiceAccount }: ObservedPod): boolean {
  return logState === "persistent" || isOlderThanServiceAccount;
}

/** The logs before a change are compared with those after it. */
export function logBlocker({ daemonSet }: Subject): string | undefined {
  const sandboxes = activePodsOf(daemonSet).map(({ sandboxState }) => sandboxState);
  if (sandboxes.some(state => state === "persistent" || state === "suspected")) {
    return "pods on its nodes already fail to start, because the API server answers their network plugin 401";
  }
  if (sandboxes.includes("unreadable"))
    return "Events about pods that cannot start are unreadable, so harm could not be detected";
  const pods = activePodsOf(daemonSet);
  const states = pods.map(({ logState }) => logState);
  if (pods.some(isRejected) || states.includes("suspected")) {
    return "its pods already get 401 responses, so later ones could not be attributed to the change";
  }
  if (states.includes("unreadable")) return "the logs of its pods are unreadable, so harm could not be detected";
  return states.includes("unread") ? unreadYet(sandboxes.includes("unread")) : undefined;
}

function unreadYet(isSandboxUnread: boolean): string {
  if (!isSandboxUnread) return "the logs of its pods have not been read yet";
  return "Events about pods that cannot start on its nodes have not been watched for two minutes yet";
}

/** A changed template would take down too many agents at once. */
export function tooManyAtOnce(subject: Subject): DaemonSetFinding | undefined {
  const { view } = subject.daemonSet;
  const [atOnce, most] = [atOnceOf(view), mostAtOnce(view)];
  if (atOnce <= most) return undefined;
  return unsupported(
    subject,
    `its rolling update replaces ${atOnce} pods at once, and the operator accepts at most ${most} of ${view.replicas}; lower maxUnavailable or maxSurge`,
  );
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

function sinceWhen(entry: DaemonSetStatus, { daemonSet: { record }, nowMs }: Subject): DaemonSetStatus {
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
