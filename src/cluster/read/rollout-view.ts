import type { V1DaemonSet, V1Deployment, V1StatefulSet } from "@kubernetes/client-node";
import { objectOf } from "../../core/json";
import type { RolloutView, WorkloadView } from "../../core/views";
import { annotationsOf, type Metadata } from "./identity";
import { present, type Received } from "./received";

/** The DaemonSet controller counts a pod with this label as updated if its value is that of the annotation. */
const TEMPLATE_GENERATION_LABEL = "pod-template-generation";
const TEMPLATE_GENERATION_ANNOTATION = "deprecated.daemonset.template.generation";

const REVISION_LABEL = "controller-revision-hash";

/** The update strategy with which only a person replaces pods of an earlier template. */
const ON_DELETE = "OnDelete";

/** Returns how far the pods of a workload have its present template; undefined without a generation. */
export function rolloutView(kind: WorkloadView["kind"], raw: unknown): RolloutView | undefined {
  const object = objectOf(raw) as Received<V1Deployment | V1StatefulSet | V1DaemonSet>;
  const { metadata, status } = object;
  if (metadata?.generation === undefined || metadata.generation === null) return undefined;
  const isObserved = (status?.observedGeneration ?? 0) >= metadata.generation;
  if (kind === "Deployment") return deploymentRollout(object, isObserved);
  return kind === "StatefulSet" ? statefulSetRollout(object, isObserved) : daemonSetRollout(object, isObserved);
}

function deploymentRollout({ spec, status }: Received<V1Deployment>, isObserved: boolean): RolloutView {
  const { strategy, paused, progressDeadlineSeconds: deadlineS } = spec ?? {};
  const isComplete = isObserved && atLeast(status?.updatedReplicas, status?.replicas);
  return {
    strategy: typeOf(strategy),
    isComplete,
    // A paused rollout waits for a person.
    isInProgress: !isComplete && paused !== true,
    ...present({ progressDeadlineMs: typeof deadlineS === "number" ? deadlineS * 1000 : undefined }),
  };
}

function statefulSetRollout({ spec, status }: Received<V1StatefulSet>, isObserved: boolean): RolloutView {
  const strategy = typeOf(spec?.updateStrategy);
  const { currentRevision, updateRevision, updatedReplicas } = status ?? {};
  const currentLabel = isObserved ? labelOf(REVISION_LABEL, updateRevision) : undefined;
  const isComplete = currentLabel !== undefined && currentRevision === updateRevision;
  const isReached = currentLabel !== undefined && atLeast(updatedReplicas, replicasToUpdate(spec));
  return {
    strategy,
    isComplete,
    isInProgress: strategy !== ON_DELETE && !isComplete && !isReached,
    ...present({ currentLabel }),
  };
}

/** Pods below the partition keep the earlier template. */
function replicasToUpdate(spec: Received<V1StatefulSet>["spec"]): number {
  return (spec?.replicas ?? 1) - (spec?.updateStrategy?.rollingUpdate?.partition ?? 0);
}

function daemonSetRollout({ metadata, spec, status }: Received<V1DaemonSet>, isObserved: boolean): RolloutView {
  const strategy = typeOf(spec?.updateStrategy);
  const isComplete = isObserved && atLeast(status?.updatedNumberScheduled, status?.currentNumberScheduled);
  return {
    strategy,
    isComplete,
    isInProgress: strategy !== ON_DELETE && !isComplete,
    ...present({ currentLabel: labelOf(TEMPLATE_GENERATION_LABEL, templateGenerationOf(metadata)) }),
  };
}

/** The default of the API server is RollingUpdate. */
function typeOf(strategy: { readonly type?: string | null } | null | undefined): string {
  return strategy?.type ?? "RollingUpdate";
}

/** As in the API server, an absent number is 0. */
function atLeast(updated: number | null | undefined, total: number | null | undefined): boolean {
  return (updated ?? 0) >= (total ?? 0);
}

function templateGenerationOf(metadata: Metadata): string | undefined {
  return annotationsOf(metadata)[TEMPLATE_GENERATION_ANNOTATION];
}

function labelOf(key: string, value: string | null | undefined): RolloutView["currentLabel"] {
  return value ? { key, value } : undefined;
}
