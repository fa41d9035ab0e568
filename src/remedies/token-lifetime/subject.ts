import { Cause } from "../../api/conditions";
import type { DaemonSetStatus, RestartStatus, TokenLifetimeSpec } from "../../api/controller-resilience";
import { formatDuration, toSeconds } from "../../core/time";
import type { Intent, RestartClaim, RestartLimits } from "../../core/intent";
import type { Right } from "../../core/readers";
import type { Mode } from "../../core/remedy";
import type { DaemonSetView, PodView } from "../../core/views";
import type { Finding } from "../kit/finding";
import { EXTENDED_SECONDS } from "../kit/pods";
import { evictionOf } from "../../restarts/claims";
import { isRolledOut } from "../../restarts/rollouts";
import type { Reason } from "./reasons";
import type { PodLogState } from "./review";
import type { TemplatePatch, TemplatePlan } from "./template/parts";
import { isDue, planRelease } from "./template/plan";

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
  /** DaemonSets in status that do not exist or are no targets now. */
  readonly former: readonly FormerDaemonSet[];
  /** Restarts by this remedy. */
  readonly restarts: readonly RestartStatus[];
  /** Restarts by other remedies whose outcome is not known yet. */
  readonly otherOpenRestarts: readonly RestartStatus[];
}

export interface FormerDaemonSet {
  readonly record: DaemonSetStatus;
  /** It is still on trial. */
  readonly trial?: DaemonSetView | undefined;
}

export interface ObservedDaemonSet {
  readonly view: DaemonSetView;
  /** The ServiceAccount is missing or being deleted: no pod can be created, and all pods get 401 responses. */
  readonly lacksServiceAccount: boolean;
  /** The status entry of this object. Of a predecessor with the same name only a revert and its template. */
  readonly record?: DaemonSetStatus | undefined;
  /** What its template needs. */
  readonly plan: TemplatePlan;
  readonly pods: readonly ObservedPod[];
  /**
   * Started: a pod with its own network has started on the node of the first pod with the shorter token since a copy of that expired. Forbidden:
   * the operator may not list the pods of that node. Read only in the trial of a CNI agent; absent: not known.
   */
  readonly nodeProof?: "Started" | "Forbidden" | undefined;
  /** The other ControllerResilience that has it; read only if this one is to change it, or during a trial. */
  readonly holder?: string | undefined;
  /** Rights that a trial needs and the operator lacks; read only before a change. */
  readonly missingRights?: readonly Right[];
}

export interface ObservedPod extends PodView {
  /** What its logs, and Events about its node, say; `unread` also if they were not requested. */
  readonly logState: PodLogState;
  /** All its logs were read up to this time; -Infinity if one was not. */
  readonly logReadMs: number;
  /** What Events say about pods that start on its node, if it can be a CNI agent; part of the log state. */
  readonly sandboxState?: PodLogState;
  /** Its ServiceAccount was recreated after it, which explains every 401. */
  readonly isOlderThanServiceAccount: boolean;
}

export type Spec = TokenLifetimeSpec;

/** One DaemonSet with everything that the checks need. */
export interface Subject extends ObservedDaemonSet {
  readonly observed: Observed;
  readonly spec: Spec;
  readonly nowMs: number;
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
  return pods.filter(({ deletedAtMs }) => deletedAtMs === undefined);
}

/** Reports whether pods are replaced because of this remedy's change. */
export function isOurRollout(record: DaemonSetStatus | undefined): boolean {
  return record !== undefined && (record.outcome === "Planned" || isRolledOut(record));
}

/** A rollout without a pod that comes, goes or becomes Ready for this long is stuck. DaemonSets have no progress deadline; that of Deployments is 10 minutes. */
export const STUCK_AFTER_MS = 600_000;

/** No pod was created or deleted, or became Ready, for so long since the operator's change, if it made one. */
export function isStuck({ record, view, pods }: ObservedDaemonSet, nowMs: number): boolean {
  if (view.observedGeneration < view.generation || record?.outcome === "Planned" || record?.outcome === "Trial")
    return false;
  // A pod that became unready is no progress.
  const times = pods.flatMap(({ createdAtMs, deletedAtMs = 0, ready, readySinceMs = 0 }) => [
    ...[createdAtMs, deletedAtMs],
    ready ? readySinceMs : 0,
  ]);
  return nowMs - Math.max(Date.parse(record?.appliedTime ?? "") || 0, ...times) > STUCK_AFTER_MS;
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

/** `DaemonSet agent`. */
export function nameOf({ view }: Subject): string {
  return `DaemonSet ${view.name}`;
}

/** The workload's name in status.restarts. */
export function workloadOf({ name }: Pick<DaemonSetView, "name">): string {
  return `DaemonSet/${name}`;
}

/** The requested token lifetime, such as `10m`. */
export function lifetimeOf({ expirationSeconds }: Spec): string {
  return formatDuration(1000 * expirationSeconds);
}

/** When the template was changed; now if that is not recorded yet. */
export function appliedMs({ record, nowMs }: Subject): number {
  return Date.parse(record?.appliedTime ?? "") || nowMs;
}

/** Reports whether the template, without the operator's fields, is the recorded one. */
export function isSameTemplate({ record, plan }: Subject): boolean {
  return record?.fingerprint === plan.fingerprint;
}

/** What holds of a DaemonSet. `words` follow its name. */
function finding(subject: Subject, reason: Reason, outcome: DaemonSetStatus["outcome"], words: string) {
  const sentence = `${nameOf(subject)}${words}.`;
  return { status: "False", reason, sentence, entry: entryOf(subject, outcome) } as const;
}

/** A DaemonSet that needs nothing. */
export function calm(...what: Parameters<typeof finding>): DaemonSetFinding {
  return { ...finding(...what), status: "True" };
}

/** A DaemonSet for which a person must act. */
export function stalled(...what: Parameters<typeof finding>): DaemonSetFinding {
  return { ...finding(...what), isStalled: true };
}

/** A DaemonSet that goes on by itself, and is looked at again soon. */
export function progressing(...what: Parameters<typeof finding>): DaemonSetFinding {
  return { ...finding(...what), isProgressing: true, recheckAfterMs: RECHECK_MS };
}

/** A watch may show a change so much later, in milliseconds. */
const SEEN_MS = 60_000;

/**
 * Why the change is not made again: each trial replaces a pod. One that did harm not for that template; another one not for that template and
 * request, or, if others took it back, whatever the template. Undefined: it may be made.
 */
export function pastOf(subject: Subject): "Reverted" | "Contested" | "Unproven" | undefined {
  const { record, plan, observed } = subject;
  const { outcome, generation } = record ?? {};
  const isSameRequest = generation === observed.generation && plan.kind !== "Restore";
  if (outcome === "Contested") return isSameRequest ? outcome : undefined;
  if (!isSameTemplate(subject)) return undefined;
  if (outcome === "Reverted" || !isSameRequest) return outcome === "Reverted" ? outcome : undefined;
  return outcome === "Unproven" ? outcome : takenBack(subject);
}

/** It was made, and is gone: from the trial, or for longer than a watch may be late. */
function takenBack(subject: Subject): "Contested" | undefined {
  const { record, view, plan, nowMs } = subject;
  const isGone = isMade(record) && plan.kind === "Change";
  return isGone && (isOnTrial(view) || nowMs >= appliedMs(subject) + SEEN_MS) ? "Contested" : undefined;
}

/** Reports whether the change is in the template, as far as status knows, and when it was made. */
export function isMade(record: DaemonSetStatus | undefined): boolean {
  return record?.appliedTime !== undefined && (record.outcome === "Bounded" || isRolledOut(record));
}

/**
 * Reports whether logs are watched for 401s: during the rollout, and for an hour and two token lifetimes after it, since a client that does
 * not reread its token fails after one.
 */
export function isWatched(record: DaemonSetStatus | undefined, spec: Spec, nowMs: number): boolean {
  if (record?.appliedTime === undefined) return false;
  return isRolledOut(record) || nowMs < Date.parse(record.appliedTime) + 3_600_000 + 2_000 * spec.expirationSeconds;
}

/** Outcomes that say only why nothing is done. */
const IDLE: readonly DaemonSetStatus["outcome"][] = ["LeftAlone", "Waiting"];

/** The entry for status.daemonSets. What happened is not forgotten because something else holds up the DaemonSet. */
export function entryOf(subject: Subject, outcome: DaemonSetStatus["outcome"]): DaemonSetStatus {
  const { record, view, plan, observed } = subject;
  // A trial, and harm, are those of what is on record, also if the template or the object changes meanwhile.
  const trial = outcome === "Reverted" || isOnTrial(view) ? record : undefined;
  const { generation = observed.generation, fingerprint = plan.fingerprint } = trial ?? {};
  const appliedTime = appliedTimeOf(subject, outcome, fingerprint);
  const previous = previousOf(subject);
  return {
    name: view.name,
    uid: view.uid,
    outcome: (IDLE.includes(outcome) ? pastOf(subject) : undefined) ?? outcome,
    // What a later leader needs to restore the template, and to watch it.
    ...(previous.length > 0 && { previous: [...previous] }),
    ...(appliedTime !== undefined && { appliedTime }),
    generation,
    fingerprint,
  };
}

/** A pass that changes nothing may not recognize the token, such as while its audience is not known. */
function previousOf({ record, plan }: Subject): TemplatePlan["previous"] {
  return isDue(plan) ? plan.previous : (record?.previous ?? plan.previous);
}

/** When the watch for harm began: with the change, also if a crash kept that out of status, and again with each step and each other template. */
function appliedTimeOf(
  { record, nowMs }: Subject,
  outcome: DaemonSetStatus["outcome"],
  fingerprint: string,
): string | undefined {
  const now = toSeconds(new Date(nowMs));
  if (isRolledOut({ outcome }) && !isMade(record)) return now;
  if (record?.appliedTime === undefined) return undefined;
  const isStep = isOurRollout(record) && record.outcome !== outcome && (outcome === "Rolling" || outcome === "Bounded");
  return isStep || record.fingerprint !== fingerprint ? now : record.appliedTime;
}

/** Server-side apply: the operator owns every field of the patch, and gives up the fields that it owned before and the patch omits. */
export function buildChange(view: DaemonSetView, patch: TemplatePatch, why: string, strategy: object = {}): Intent {
  const { namespace, name, uid, resourceVersion } = view;
  const target = { apiVersion: "apps/v1", kind: "DaemonSet", namespace, name, uid, resourceVersion };
  const body = { spec: { ...strategy, template: { spec: patch } } };
  return { verb: "apply", target, body, why, eventReason: "TokenLifetimeShortened" };
}

/** Restores the template. */
export function buildRelease(view: DaemonSetView, record: DaemonSetStatus | undefined, why: string): Intent {
  const intent = buildChange(view, planRelease(view, record?.previous), why);
  return { ...intent, eventReason: "TokenLifetimeRestored" };
}

/** The defaults of token restarts. */
const LIMITS: RestartLimits = { cooldownMs: 600_000, maxRestarts: 3 };

/** Evicts the pod that is to get the first shorter token; the Eviction API respects PodDisruptionBudgets. */
export function buildEviction(
  pod: PodView,
  { view, pods }: ObservedDaemonSet,
  why: string,
): Intent & { readonly restart: RestartClaim } {
  const newestPodMs = Math.max(...pods.map(({ createdAtMs }) => createdAtMs));
  const restart = { workload: workloadOf(view), pod: pod.name, podUID: pod.uid, newestPodMs };
  const claim = { ...restart, cause: Cause.TokenTooLong, limits: LIMITS };
  return { ...evictionOf(pod, why, claim), restart: claim };
}
