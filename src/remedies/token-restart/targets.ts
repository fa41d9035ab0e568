import type { LabelSelector } from "../../api/controller-resilience";
import type { PodView, WorkloadView } from "../../core/views";

/** Whether labels match a selector, as the API server would say. */
export function matchesSelector(labels: Readonly<Record<string, string>>, selector: LabelSelector): boolean {
  const all = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return all && (selector.matchExpressions ?? []).every(requirement => meets(labels, requirement));
}

type Requirement = NonNullable<LabelSelector["matchExpressions"]>[number];

function meets(labels: Readonly<Record<string, string>>, { key, operator, values = [] }: Requirement): boolean {
  const value = labels[key];
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
  }
}

/**
 * Whether the pod belongs to the workload. A Deployment's pods are owned by a ReplicaSet that the Deployment controller names
 * by the pod's own template hash, so no right on ReplicaSets is needed, and `web` never takes the pods of `web-api`.
 */
export function isPodOf(pod: PodView, workload: WorkloadView): boolean {
  const { owner } = pod;
  if (owner === undefined || pod.namespace !== workload.namespace) return false;
  if (workload.kind !== "Deployment") return owner.kind === workload.kind && owner.uid === workload.uid;
  const hash = pod.labels["pod-template-hash"];
  return owner.kind === "ReplicaSet" && hash !== undefined && owner.name === `${workload.name}-${hash}`;
}

/** Pods that are over (Succeeded, Failed) hold no token and come to nothing. */
export function isOver(pod: PodView): boolean {
  return pod.phase === "Succeeded" || pod.phase === "Failed";
}
