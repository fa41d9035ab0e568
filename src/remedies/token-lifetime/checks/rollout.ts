import type { DaemonSetView } from "../../../core/views";
import { activePodsOf, isBounded, type ObservedDaemonSet, type Spec } from "../observed";

/** A rollout without a new or newly Ready pod for this long is stuck. DaemonSets have no progress deadline; that of Deployments is 10 minutes. */
const STUCK_AFTER_MS = 600_000;

export interface Rollout {
  readonly isDone: boolean;
  readonly isStuck: boolean;
  readonly stuckAfterMs: number;
  readonly pods: number;
  readonly boundedPods: number;
}

/** Reports whether the DaemonSet controller has finished the rollout of the current template. */
export function isSettled(view: DaemonSetView): boolean {
  const { generation, observedGeneration, replicas, updatedPods, availablePods } = view;
  return observedGeneration >= generation && updatedPods >= replicas && availablePods >= replicas;
}

/** The replacement of the pods since the template was changed. */
export function rolloutOf(daemonSet: ObservedDaemonSet, spec: Spec, appliedMs: number, nowMs: number): Rollout {
  const pods = activePodsOf(daemonSet).map(({ pod }) => pod);
  const bounded = pods.filter(pod => isBounded(pod, spec));
  // A pod that became unready is no progress.
  const times = pods.flatMap(({ createdAtMs, ready, readySinceMs = 0 }) => [createdAtMs, ready ? readySinceMs : 0]);
  const lastProgressMs = Math.max(appliedMs, ...times);
  const isDone = isSettled(daemonSet.view) && bounded.length === pods.length;
  return {
    isDone,
    isStuck: !isDone && nowMs - lastProgressMs > STUCK_AFTER_MS,
    stuckAfterMs: STUCK_AFTER_MS,
    pods: pods.length,
    boundedPods: bounded.length,
  };
}
