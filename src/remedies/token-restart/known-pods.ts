import type { TargetStatus } from "../../api/controller-resilience";
import type { Persistence, PersistenceRule } from "../../logs/persistence";
import { targetOf, type ObservedPod, type ObservedWorkload } from "./observed";

// Persistent 401s stay persistent until they end. A container that crashes again and again soon has too few occasions in the window, and a
// new leader reads the last two lives at most. So status remembers the pods. Pure.

/** Pods of one workload in status. */
const MAX_PODS = 16;

/** status.targets[].persistentPods: pods whose logs are persistent now. */
export function persistentPods(pods: readonly ObservedPod[]): Pick<TargetStatus, "persistentPods"> {
  const uids = pods
    .filter(({ view, logs }) => view.deletedAtMs === undefined && logs.state === "persistent")
    .map(({ view }) => view.uid);
  return uids.length === 0 ? {} : { persistentPods: uids.toSorted().slice(0, MAX_PODS) };
}

/** Returns the workload with what status remembers of its pods. */
export function withMemory(
  workload: ObservedWorkload,
  targets: readonly TargetStatus[],
  { rule, nowMs }: { readonly rule: PersistenceRule; readonly nowMs: number },
): ObservedWorkload {
  const previous = targetOf(workload.view, targets);
  // A log shows no more than one window either.
  const isRecent = nowMs - Date.parse(previous?.lastUnauthorizedTime ?? "") < rule.windowMs;
  const known = new Set(isRecent ? previous?.persistentPods : []);
  if (known.size === 0) return workload;
  const pods = workload.pods.map(pod =>
    known.has(pod.view.uid) ? { ...pod, logs: stillPersistent(pod.logs, rule) } : pod,
  );
  return { ...workload, pods };
}

/** 401s that go on. A restart also needs two occasions `minDuration` apart that this process has read, and a fresh one. */
function stillPersistent(logs: Persistence, rule: PersistenceRule): Persistence {
  if (logs.state !== "suspected") return logs;
  const { firstMs = 0, lastMs = 0, isFresh = false } = logs;
  return { ...logs, state: "persistent", isFresh: isFresh && lastMs - firstMs >= rule.minDurationMs };
}
