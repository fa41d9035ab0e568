import type { DaemonSetView } from "../../core/views";
import { isBounded, livingOf, type DaemonSetFacts, type Spec } from "./facts";

/** A rollout that replaces no pod and makes none Ready for this long does not go on: DaemonSets have no deadline of their own, Deployments 10 minutes. */
const STUCK_AFTER_MS = 600_000;

/** How far the replacement of the pods has come. */
export interface Rollout {
  readonly isDone: boolean;
  readonly isStuck: boolean;
  readonly stuckAfterMs: number;
  readonly pods: number;
  readonly boundedPods: number;
}

/** Whether the DaemonSet has done what its present template asks for. */
export function isSettled(view: DaemonSetView): boolean {
  const { generation, observedGeneration, replicas, updatedPods, availablePods } = view;
  return observedGeneration >= generation && updatedPods >= replicas && availablePods >= replicas;
}

/** The replacement of the pods since the template was changed. */
export function rolloutOf(facts: DaemonSetFacts, spec: Spec, appliedMs: number, nowMs: number): Rollout {
  const living = livingOf(facts).map(({ pod }) => pod);
  const bounded = living.filter(pod => isBounded(pod, spec));
  // A pod that is not Ready any more is no step forward.
  const times = living.flatMap(({ createdAtMs, ready, readySinceMs = 0 }) => [createdAtMs, ready ? readySinceMs : 0]);
  const lastStepMs = Math.max(appliedMs, ...times);
  const isDone = isSettled(facts.view) && bounded.length === living.length;
  return {
    isDone,
    isStuck: !isDone && nowMs - lastStepMs > STUCK_AFTER_MS,
    stuckAfterMs: STUCK_AFTER_MS,
    pods: living.length,
    boundedPods: bounded.length,
  };
}
