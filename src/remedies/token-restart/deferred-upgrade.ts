import type { PodView, WorkloadView } from "../../core/views";

/**
 * Reports whether the eviction of a pod could upgrade it although the update strategy OnDelete leaves the time of the upgrade to a person:
 * the pod is not known to have the present template. A rollout deletes no pod of such a workload. Pure.
 */
export function isUpgradeDeferred({ labels }: PodView, { rollout }: Pick<WorkloadView, "rollout">): boolean {
  if (rollout?.strategy !== "OnDelete" || rollout.isComplete) return false;
  const { currentLabel } = rollout;
  return currentLabel === undefined || labels[currentLabel.key] !== currentLabel.value;
}
