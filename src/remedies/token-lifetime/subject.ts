import { Cause } from "../../api/conditions";
import type { DaemonSetStatus, RestartStatus, TokenLifetimeSpec } from "../../api/controller-resilience";
import { formatDuration, toSeconds } from "../../core/time";
import type { Intent, ObjectRef, RestartClaim, RestartLimits } from "../../core/intent";
import type { Right } from "../../core/readers";
import type { Mode } from "../../core/remedy";
import type { DaemonSetView, PodView } from "../../core/views";
import type { Finding } from "../kit/finding";
import { EXTENDED_SECONDS } from "../kit/pods";
import { evictionOf } from "../../restarts/claims";
import { isRolledOut } from "../../restarts/rollouts";
import type { Reason } from "./reasons";
import type { PodLogState } from "./review";
import type { PreviousSeconds, TemplateInput, TemplatePatch, TemplatePlan } from "./template/parts";
import { fingerprint, planRelease } from "./template/plan";

/** What the checks found out about one DaemonSet, and what the operator writes for it. */
export interface DaemonSetFinding extends Finding<Reason> {
  readonly status: "True" | "False";
  /** For status.daemonSets, before any write of this pass. */
  readonly entry: DaemonSetStatus;
  /** The outcome in status once the intents are executed. */
  readonly after?: DaemonSetStatus["outcome"];
  readonly recheckAfterMs?: number;
}

/** Delay of the next pass when it only waits for status to be written, in milliseconds. */
export const IMMEDIATE_MS = 1_000;

/** Delay of the next pass while the cluster has to change first, in milliseconds. */
export const RECHECK_MS = 10_000;

/** Everything that a plan is based on: plain data. */
export interface Observed {
  readonly mode: Mode;
  /** What the ControllerResilience asks for: there is one change for each. */
  readonly generation: number;
  readonly daemonSets: readonly ObservedDaemonSet[];
  /** Targets of kind DaemonSet that match no DaemonSet. */
  readonly missingTargets: readonly string[];
  /** Logs are read, or a restart has no outcome yet. */
  readonly isReviewing: boolean;
  /** When a rotation of the signing keys made tokens invalid, if one did and logs are read. */
  readonly rotatedMs: number | undefined;
  /** Status entries of DaemonSets that do not exist or are no targets now. */
  readonly formerEntries: readonly DaemonSetStatus[];
  /** Those of them that are still on trial. */
  readonly formerTrials: readonly Pick<ObservedDaemonSet, "view" | "record">[];
  /** Restarts by this remedy. */
  readonly restarts: readonly RestartStatus[];
  /** Restarts by other remedies whose outcome is not known yet. */
  readonly otherOpenRestarts: readonly RestartStatus[];
}

export interface ObservedDaemonSet {
  readonly view: DaemonSetView;
  /** automountServiceAccountToken of its ServiceAccount. */
  readonly automount?: boolean;
  /** The ServiceAccount is missing or being deleted: no pod can be created, and all pods get 401 responses. */
  readonly lacksServiceAccount: boolean;
  /** The status entry of this object. Of a predecessor with the same name only a revert and its template. */
  readonly record?: DaemonSetStatus;
  /** The change that its template needs. */
  readonly templatePlan: TemplatePlan;
  readonly pods: readonly ObservedPod[];
  /** The other ControllerResilience that has it; read only if this one is to change it, or during a trial. */
  readonly holder?: string;
  /** Rights that a trial needs and the operator lacks; read only before a change. */
  readonly missingRights?: readonly Right[];
}

export interface ObservedPod {
  readonly pod: PodView;
  /** What its logs say; `unread` also if they were not requested. */
  readonly logState: PodLogState;
  /** All its logs were read up to this time; -Infinity if one was not. */
  readonly logReadMs: number;
  /** What Events say about pods that start on its node, if it can be a CNI agent; part of the log state. */
  readonly sandboxState?: PodLogState;
  /** A pod with its own network has started on its node since a copy of its first token expired. Absent: not known. */
  readonly hasSandboxStarted?: boolean;
  /** The operator may not list the pods of its node. */
  readonly isNodeForbidden?: boolean;
  /** Its ServiceAccount was recreated after it, which explains every 401. */
  readonly isOlderThanServiceAccount: boolean;
}

export type Spec = TokenLifetimeSpec;

export function templateInputOf({ view, automount }: Pick<ObservedDaemonSet, "view" | "automount">): TemplateInput {
  return { template: view.template, automount, audiences: view.apiAudiences, ownedVolumes: view.ownedVolumes };
}

/** Reports whether all tokens of a pod are bounded; a pod without a token counts as bounded. */
export function isBounded({ mountsToken, maxTokenExpirationSeconds: most = Infinity }: PodView, spec: Spec): boolean {
  return mountsToken !== true || (most <= spec.expirationSeconds && most !== EXTENDED_SECONDS);
}

/** A pod with bounded tokens: its logs show whether they do harm. */
export function isCanary(pod: PodView, spec: Spec): boolean {
  return pod.mountsToken === true && isBounded(pod, spec);
}

/** The pods that are not being deleted. */
export function activePodsOf({ pods }: Pick<ObservedDaemonSet, "pods">): ObservedPod[] {
  return pods.filter(({ pod }) => pod.deletedAtMs === undefined);
}

/** Reports whether pods are replaced because of this remedy's change. */
export function isOurRollout(record: DaemonSetStatus | undefined): boolean {
  return record !== undefined && (record.outcome === "Planned" || isRolledOut(record));
}

/** One DaemonSet with everything that the checks need. */
export interface Subject {
  readonly observed: Observed;
  readonly daemonSet: ObservedDaemonSet;
  readonly spec: Spec;
  readonly templatePlan: TemplatePlan;
  /** This remedy causes another DaemonSet of the same ControllerResilience to replace pods. */
  readonly isAnotherRolling: boolean;
  readonly nowMs: number;
}

export function subjectOf(daemonSet: ObservedDaemonSet, observed: Observed, spec: Spec, nowMs: number): Subject {
  const isAnotherRolling = observed.daemonSets.some(other => other !== daemonSet && isReplacingPods(other, nowMs));
  return { observed, daemonSet, spec, templatePlan: daemonSet.templatePlan, isAnotherRolling, nowMs };
}

/** A trial counts also if a crash has kept it out of status. */
function isReplacingPods(daemonSet: ObservedDaemonSet, nowMs: number): boolean {
  const { record, view } = daemonSet;
  if (isOnTrial(view)) return true;
  const isOurs = isOurRollout(record) || record?.outcome === "Reverted" || record?.appliedTime !== undefined;
  return isOurs && !isSettled(view) && !isStuck(daemonSet, nowMs);
}

/** A rollout without a pod that comes, goes or becomes Ready for this long is stuck. DaemonSets have no progress deadline; that of Deployments is 10 minutes. */
export const STUCK_AFTER_MS = 600_000;

/** No pod was created or deleted, or became Ready, for so long since the operator's change, if it made one. */
export function isStuck({ record, view, pods }: ObservedDaemonSet, nowMs: number): boolean {
  if (view.observedGeneration < view.generation || record?.outcome === "Planned" || record?.outcome === "Trial")
    return false;
  // A pod that became unready is no progress.
  const times = pods.flatMap(({ pod: { createdAtMs, deletedAtMs = 0, ready, readySinceMs = 0 } }) => [
    ...[createdAtMs, deletedAtMs],
    ready ? readySinceMs : 0,
  ]);
  return nowMs - Math.max(Date.parse(record?.appliedTime ?? "") || 0, ...times) > STUCK_AFTER_MS;
}

/** `DaemonSet agent`. */
export function nameOf({ daemonSet }: Subject): string {
  return `DaemonSet ${daemonSet.view.name}`;
}

/** The requested token lifetime, such as `10m`. */
export function lifetimeOf({ expirationSeconds }: Spec): string {
  return formatDuration(1000 * expirationSeconds);
}

/** When the template was changed; now if that is not recorded yet. */
export function appliedMs({ daemonSet, nowMs }: Subject): number {
  return Date.parse(daemonSet.record?.appliedTime ?? "") || nowMs;
}

/** Fingerprint of the template without the operator's fields. */
export function fingerprintOf(subject: Subject): string {
  return fingerprint(templateInputOf(subject.daemonSet), previousOf(subject));
}

/** The lifetimes that the operator's changes replace, or have replaced. */
function previousOf({ daemonSet, templatePlan }: Subject): readonly PreviousSeconds[] {
  return templatePlan.kind === "Change" ? templatePlan.previous : (daemonSet.record?.previous ?? []);
}

/** Reports whether the template, without the operator's fields, is the recorded one. */
export function isSameTemplate(subject: Subject): boolean {
  return subject.daemonSet.record?.fingerprint === fingerprintOf(subject);
}

/** A change that only restores the template. */
export function isRelease({ templatePlan }: Subject): boolean {
  return templatePlan.kind === "Change" && templatePlan.restores;
}

/** What holds of a DaemonSet that is not bounded. `words` follow its name. */
function unbounded(subject: Subject, reason: Reason, outcome: DaemonSetStatus["outcome"], words: string) {
  return {
    status: "False",
    reason,
    sentence: `${nameOf(subject)}${words}.`,
    entry: entryOf(subject, outcome),
  } as const;
}

/** A DaemonSet for which a person must act. */
export function stalled(...finding: Parameters<typeof unbounded>): DaemonSetFinding {
  return { ...unbounded(...finding), isStalled: true };
}

/** A DaemonSet that goes on by itself, and is looked at again soon. */
export function progressing(...finding: Parameters<typeof unbounded>): DaemonSetFinding {
  return { ...unbounded(...finding), isProgressing: true, recheckAfterMs: RECHECK_MS };
}

/** A watch may show a change so much later, in milliseconds. */
const SEEN_MS = 60_000;

/**
 * Why the change is not made again: each trial replaces a pod. One that did harm not for that template; another one not for that template and
 * request, or, if others took it back, whatever the template. Undefined: it may be made.
 */
export function pastOf(subject: Subject): "Reverted" | "Contested" | "Unproven" | undefined {
  const { daemonSet, observed } = subject;
  const { outcome, generation } = daemonSet.record ?? {};
  const isSameRequest = generation === observed.generation && !isRelease(subject);
  if (outcome === "Contested") return isSameRequest ? outcome : undefined;
  if (!isSameTemplate(subject)) return undefined;
  if (outcome === "Reverted" || !isSameRequest) return outcome === "Reverted" ? outcome : undefined;
  return outcome === "Unproven" ? outcome : takenBack(subject);
}

/** It was made, and a watch shows a template without it for longer than it may be late. */
function takenBack(subject: Subject): "Contested" | undefined {
  const { daemonSet, templatePlan, nowMs } = subject;
  const isGone = isMade(daemonSet.record) && templatePlan.kind === "Change";
  return isGone && nowMs >= appliedMs(subject) + SEEN_MS ? "Contested" : undefined;
}

/** Reports whether the change is in the template, as far as status knows, and when it was made. */
export function isMade(record: DaemonSetStatus | undefined): boolean {
  return record?.appliedTime !== undefined && (record.outcome === "Bounded" || isRolledOut(record));
}

/** Outcomes that say only why nothing is done. */
const IDLE: readonly DaemonSetStatus["outcome"][] = ["LeftAlone", "Waiting"];

/** The entry for status.daemonSets. What happened is not forgotten because something else holds up the DaemonSet. */
export function entryOf(subject: Subject, outcome: DaemonSetStatus["outcome"]): DaemonSetStatus {
  const { daemonSet, observed } = subject;
  const { record, view } = daemonSet;
  // A trial, and harm, are those of what is on record, also if the template or the object changes meanwhile.
  const trial = outcome === "Reverted" || isOnTrial(view) ? record : undefined;
  return {
    name: view.name,
    uid: view.uid,
    outcome: (IDLE.includes(outcome) ? pastOf(subject) : undefined) ?? outcome,
    ...keptOf(previousOf(subject), record?.appliedTime),
    generation: trial?.generation ?? observed.generation,
    fingerprint: trial?.fingerprint ?? fingerprintOf(subject),
  };
}

/** What a later leader needs to restore the template, and to watch it. */
function keptOf(previous: readonly PreviousSeconds[], appliedTime?: string): Partial<DaemonSetStatus> {
  return {
    ...(previous.length > 0 && { previous: previous.map(one => ({ ...one })) }),
    ...(appliedTime !== undefined && { appliedTime }),
  };
}

/** As {@link entryOf}; a change that a crash kept out of status was made now. */
export function entryWithChange(subject: Subject, outcome: DaemonSetStatus["outcome"]): DaemonSetStatus {
  const { record } = subject.daemonSet;
  const entry = entryOf(subject, outcome);
  const isRecorded = entry.appliedTime !== undefined && record?.outcome !== "Planned" && record?.outcome !== "Waiting";
  return isRecorded ? entry : { ...entry, appliedTime: toSeconds(new Date(subject.nowMs)) };
}

/** The defaults of token restarts. */
const LIMITS: RestartLimits = { cooldownMs: 600_000, maxRestarts: 3 };

/** Server-side apply: the operator owns every field of the patch, and gives up the fields that it owned before and the patch omits. */
export function buildChange(view: DaemonSetView, patch: TemplatePatch, why: string, strategy: object = {}): Intent {
  const body = { spec: { ...strategy, template: { spec: patch } } };
  return { verb: "apply", target: refOf(view), body, why, eventReason: "TokenLifetimeShortened" };
}

/** Restores the template. */
export function buildRelease(daemonSet: Pick<ObservedDaemonSet, "view" | "automount" | "record">, why: string): Intent {
  const patch = planRelease(templateInputOf(daemonSet), daemonSet.record?.previous ?? []);
  return { ...buildChange(daemonSet.view, patch, why), eventReason: "TokenLifetimeRestored" };
}

/** Evicts the pod that is to get the first shorter token; the Eviction API respects PodDisruptionBudgets. */
export function buildEviction(
  pod: PodView,
  { view, pods }: ObservedDaemonSet,
  why: string,
): { readonly intent: Intent; readonly claim: RestartClaim } {
  const newestPodMs = Math.max(...pods.map(one => one.pod.createdAtMs));
  const restart = { workload: workloadOf(view), pod: pod.name, podUID: pod.uid, newestPodMs };
  const claim = { ...restart, cause: Cause.TokenTooLong, limits: LIMITS };
  return { intent: evictionOf(pod, why, claim), claim };
}

/** The workload's name in status.restarts. */
export function workloadOf({ name }: Pick<DaemonSetView, "name">): string {
  return `DaemonSet/${name}`;
}

function refOf({ namespace, name, uid, resourceVersion }: DaemonSetView): ObjectRef {
  return { apiVersion: "apps/v1", kind: "DaemonSet", namespace, name, uid, resourceVersion };
}

/** Reports whether the DaemonSet controller has finished the rollout of the current template. */
export function isSettled(view: DaemonSetView): boolean {
  const { generation, observedGeneration, replicas, updatedPods, availablePods } = view;
  return observedGeneration >= generation && updatedPods >= replicas && availablePods >= replicas;
}

/** Part of an apply: the DaemonSet controller replaces no pod by itself. Leaving it out gives RollingUpdate, the default, again. */
export const TRIAL_STRATEGY = { updateStrategy: { type: "OnDelete" } } as const;

/** The operator has set updateStrategy OnDelete, so only the pods that it evicts get the changed template. */
export function isOnTrial({ updateStrategy, ownsUpdateStrategy }: DaemonSetView): boolean {
  return updateStrategy === "OnDelete" && ownsUpdateStrategy === true;
}
