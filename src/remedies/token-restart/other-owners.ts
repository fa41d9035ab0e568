import type { PodView } from "../../core/views";
import { matchesSelector } from "../../core/label-selector";
import { workloadId, type WatchedWorkload } from "./observed";
import { podOwner } from "./pod-owner";
import { isPodOf } from "./targets";

/** Owners in one message. */
const MAX_OWNERS = 3;

/**
 * Returns the other owners of pods that a workload's own selector matches and no workload of the targets has, as an Argo Rollout takes over
 * the pods of a Deployment. Pods that nothing recreates do not count: a Job often has the labels of its application. Pure.
 */
export function otherOwners(
  workload: WatchedWorkload,
  pods: readonly PodView[],
  watched: readonly WatchedWorkload[],
): string[] {
  const { podSelector, selected } = workload;
  if (podSelector === undefined || selected !== undefined) return [];
  const owners = pods
    .filter(pod => pod.deletedAtMs === undefined && matchesSelector(pod.labels, podSelector))
    .filter(pod => !watched.some(view => isPodOf(pod, view)))
    .map(pod => podOwner(pod))
    .filter(({ refusal }) => refusal === undefined);
  const ids = new Set(owners.map(owner => workloadId(owner)));
  ids.delete(workloadId(workload));
  return [...ids].toSorted().slice(0, MAX_OWNERS);
}
