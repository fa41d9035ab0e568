import type { DaemonSetStatus, RestartStatus, TokenLifetimeSpec } from "../../api/controller-resilience";
import type { Mode } from "../../core/remedy";
import type { Right } from "../../core/readers";
import type { DaemonSetView, PodView } from "../../core/views";
import type { PodLogState } from "../../logs/pod-log-review";
import { planTemplate, type TemplateInput, type TemplatePlan } from "./template";

/** Everything that a plan is based on: plain data. */
export interface Observed {
  readonly mode: Mode;
  /** Generation of the ControllerResilience: status counts changes per generation. */
  readonly generation: number;
  readonly daemonSets: readonly ObservedDaemonSet[];
  /** Targets of kind DaemonSet that match no DaemonSet. */
  readonly missingTargets: readonly string[];
  /** Logs are read, or a restart has no outcome yet. */
  readonly isReviewing: boolean;
  /** How many expired tokens API servers have received; null if unknown. */
  readonly staleTokens: number | null;
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
  readonly pods: readonly ObservedPod[];
  /** Since when this process has watched it without a gap; absent in Observe mode and with the skip annotation. */
  readonly watchedSinceMs?: number;
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
  return { template: view.template, automount, ownedVolumes: view.ownedVolumes };
}

/** The change that the template needs. */
export function templatePlanOf(
  daemonSet: Pick<ObservedDaemonSet, "view" | "automount" | "record">,
  spec: Spec,
): TemplatePlan {
  return planTemplate(templateInputOf(daemonSet), spec, daemonSet.record?.previous);
}

/** Reports whether all tokens of a pod are bounded; a pod without a token counts as bounded. */
export function isBounded({ mountsToken, maxTokenExpirationSeconds }: PodView, spec: Spec): boolean {
  return mountsToken !== true || (maxTokenExpirationSeconds ?? Infinity) <= spec.expirationSeconds;
}

/** A pod with bounded tokens: its logs show whether they do harm. */
export function isCanary(pod: PodView, spec: Spec): boolean {
  return pod.mountsToken === true && isBounded(pod, spec);
}

/** The pods that are not being deleted. */
export function activePodsOf({ pods }: Pick<ObservedDaemonSet, "pods">): ObservedPod[] {
  return pods.filter(({ pod }) => pod.deletedAtMs === undefined);
}

const ROLLING: readonly DaemonSetStatus["outcome"][] = ["Planned", "Trial", "Rolling", "Stuck"];

/** Reports whether pods are replaced because of this remedy's change. */
export function isOurRollout(record: DaemonSetStatus | undefined): boolean {
  return record !== undefined && ROLLING.includes(record.outcome);
}
