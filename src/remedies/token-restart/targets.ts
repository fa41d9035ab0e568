import type { PodView, WorkloadView } from "../../core/views";

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
