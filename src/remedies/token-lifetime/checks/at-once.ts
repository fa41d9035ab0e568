import type { DaemonSetView } from "../../../core/views";

/** Part of the pods that a rollout of this remedy may replace at once; at least one pod. */
const MAX_SHARE = 0.1;

/** How many pods a rolling update replaces at once. The DaemonSet controller rounds percentages up; an unreadable value counts as all. */
export function atOnceOf({ replicas, maxUnavailable = 1, maxSurge = 0 }: DaemonSetView): number {
  return Math.max(1, countOf(maxUnavailable, replicas), countOf(maxSurge, replicas));
}

/** How many pods a rollout of this remedy may replace at once. */
export function mostAtOnce({ replicas }: DaemonSetView): number {
  return Math.max(1, Math.ceil(replicas * MAX_SHARE));
}

function countOf(value: number | string, replicas: number): number {
  if (typeof value === "number") return value;
  const percent = /^(\d+)%$/.exec(value)?.[1];
  return percent === undefined ? replicas : Math.ceil((replicas * Number(percent)) / 100);
}
