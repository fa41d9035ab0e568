import type { V1DaemonSet, V1Deployment, V1StatefulSet } from "@kubernetes/client-node";
import { objectOf } from "../../core/json";
import type { RolloutView, WorkloadView } from "../../core/views";
import { annotationsOf, type Metadata } from "./identity";
import { present, type Received } from "./received";

/** The DaemonSet controller counts a pod with this label as updated if its value is that of the annotation. */
const TEMPLATE_GENERATION_LABEL = "pod-template-generation";
const TEMPLATE_GENERATION_ANNOTATION = "deprecated.daemonset.template.generation";

const REVISION_LABEL = "controller-revision-hash";

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
  const { replicas, updatedReplicas } = status ?? {};
  return {
    strategy: spec?.strategy?.type ?? "RollingUpdate",
    isComplete: isObserved && (updatedReplicas ?? 0) >= (replicas ?? 0),
  };
}

function statefulSetRollout({ spec, status }: Received<V1StatefulSet>, isObserved: boolean): RolloutView {
  const { currentRevision, updateRevision } = status ?? {};
  const isKnown = isObserved && Boolean(updateRevision);
  return {
    strategy: spec?.updateStrategy?.type ?? "RollingUpdate",
    isComplete: isKnown && currentRevision === updateRevision,
    ...present({ currentLabel: isKnown ? labelOf(REVISION_LABEL, updateRevision) : undefined }),
  };
}

function daemonSetRollout({ metadata, spec, status }: Received<V1DaemonSet>, isObserved: boolean): RolloutView {
  const { currentNumberScheduled, updatedNumberScheduled } = status ?? {};
  return {
    strategy: spec?.updateStrategy?.type ?? "RollingUpdate",
    isComplete: isObserved && (updatedNumberScheduled ?? 0) >= (currentNumberScheduled ?? 0),
    ...present({ currentLabel: labelOf(TEMPLATE_GENERATION_LABEL, templateGenerationOf(metadata)) }),
  };
}

function templateGenerationOf(metadata: Metadata): string | undefined {
  return annotationsOf(metadata)[TEMPLATE_GENERATION_ANNOTATION];
}

function labelOf(key: string, value: string | null | undefined): RolloutView["currentLabel"] {
  return value ? { key, value } : undefined;
}
