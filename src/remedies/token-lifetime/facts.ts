import type {
  ControllerResilience,
  DaemonSetStatus,
  RestartStatus,
  TokenLifetimeSpec,
} from "../../api/controller-resilience";
import type { ClusterObjectView, DaemonSetView, PodView } from "../../core/views";
import type { PodLogState } from "../../logs/pod-log-review";
import { planTemplate, type TemplateInput, type TemplatePlan } from "./template";

/** All that a decision rests on: plain data, as observed. */
export interface TokenLifetimeFacts {
  readonly mode: "Enforce" | "Observe";
  /** Of the ControllerResilience: changes are counted for each. */
  readonly generation: number;
  readonly daemonSets: readonly DaemonSetFacts[];
  /** DaemonSet targets that don't exist (yet). */
  readonly missingTargets: readonly string[];
  /** How often the API server has been shown a token past its asked-for life; null where that is not known. */
  readonly staleTokens: number | null;
  /** When the next log read is due. */
  readonly nextReadInMs: number;
  /** What status tells of DaemonSets that don't exist now. */
  readonly kept: readonly DaemonSetStatus[];
  /** The ControllerResilience, whose uid is on what is made for it. */
  readonly owner: Pick<ControllerResilience, "metadata">;
  /** Null where the API server does not serve these kinds. */
  readonly admission: AdmissionFacts | null;
  /** Pods that were replaced because of their token's life. */
  readonly restarts: readonly RestartStatus[];
  /** Pods that were replaced for any other cause, as long as nobody knows what came of it. */
  readonly otherRestarts: readonly RestartStatus[];
}

/** All policies and bindings of the cluster; none where none can be of this object's. */
export interface AdmissionFacts {
  readonly policies: readonly ClusterObjectView[];
  readonly bindings: readonly ClusterObjectView[];
}

/** One DaemonSet of the targets. */
export interface DaemonSetFacts {
  readonly view: DaemonSetView;
  /** automountServiceAccountToken of its ServiceAccount. */
  readonly automount?: boolean;
  /** Its ServiceAccount is not there, or on its way out: no pod can be created, and every 401 comes of that. */
  readonly lacksAccount: boolean;
  /** Of this very object; of a predecessor of the same name only that it was Reverted, and for which template. */
  readonly record?: DaemonSetStatus;
  readonly pods: readonly PodFacts[];
}

/** One of its pods. */
export interface PodFacts {
  readonly pod: PodView;
  /** Its logs; unread as well where they were not asked for. */
  readonly verdict: PodLogState;
  /** It is older than its ServiceAccount: whatever is answered 401, a shorter token is not the cause. */
  readonly isOlderThanAccount: boolean;
}

/** The block of the spec. */
export type Spec = TokenLifetimeSpec;

/** What the planner needs of a DaemonSet. */
export function inputOf({ view, automount }: Pick<DaemonSetFacts, "view" | "automount">): TemplateInput {
  return { template: view.template, automount, ownedVolumes: view.ownedVolumes };
}

/** What has to be applied so that its tokens are bounded. */
export function planOf(facts: Pick<DaemonSetFacts, "view" | "automount" | "record">, spec: Spec): TemplatePlan {
  // Admission shortens the default token as well; there is nothing to project, and nothing to leave.
  const asked = spec.via === "Admission" ? { ...spec, defaultToken: "Project" as const } : spec;
  return planTemplate(inputOf(facts), asked, facts.record?.previous);
}

/** A pod whose tokens are all bounded; one that mounts none is as well. */
export function isBounded({ mountsToken, maxTokenExpirationSeconds }: PodView, spec: Spec): boolean {
  return mountsToken !== true || (maxTokenExpirationSeconds ?? Infinity) <= spec.expirationSeconds;
}

/** A pod with tokens as short as asked for: what becomes of it tells whether that does harm. */
export function isCanary(pod: PodView, spec: Spec): boolean {
  return pod.mountsToken === true && isBounded(pod, spec);
}

/** Its pods that are not on their way out. */
export function livingOf({ pods }: Pick<DaemonSetFacts, "pods">): PodFacts[] {
  return pods.filter(({ pod }) => pod.deletedAtMs === undefined);
}

/** Outcomes during which the pods are being replaced because of the change. */
const ROLLING: readonly DaemonSetStatus["outcome"][] = ["Planned", "Rolling", "Stuck"];

/** Whether the pods are being replaced because of this remedy's change. */
export function isOurRollout(record: DaemonSetStatus | undefined): boolean {
  return record !== undefined && ROLLING.includes(record.outcome);
}
