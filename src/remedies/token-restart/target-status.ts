import { Cause } from "../../api/conditions";
import { describeTime } from "../../core/time";
import type { TargetStatus } from "../../api/controller-resilience";
import { countPresent, isPresent } from "../../restarts/history";
import type { Wait } from "../../restarts/limits";
import { PERSISTENT, type Persistence, type PersistenceRule } from "../../logs/persistence";
import type { WorkloadState } from "./candidates";
import { type ObservedPod, withoutOneSided } from "./observed";

// The entry of a workload in status.targets: what later passes, and later leaders, have to know. Pure.

/** The workload's entry in status.targets. */
export function targetStatus(state: WorkloadState, wait: Wait): TargetStatus {
  const { view, pods } = state.workload;
  const lastUnauthorizedTime = shownLastUnauthorized(state);
  return {
    kind: view.kind,
    name: view.name,
    pods: countPresent(pods),
    ...recreatedBy(state),
    rejectedPods: state.rejected.length,
    ...(lastUnauthorizedTime !== undefined && { lastUnauthorizedTime }),
    ...persistentPods(pods),
    ...wait,
  };
}

// Persistent 401s stay persistent until they end. A container that crashes again and again soon has too few occasions in the window, and a
// new leader reads the last two lives at most. So status remembers the pods.

/** Pods of one workload in status. */
const MAX_PODS = 16;

function persistentPods(pods: readonly ObservedPod[]): Pick<TargetStatus, "persistentPods"> {
  const persistent = pods.filter(pod => isPresent(pod) && pod.logs.state === "persistent");
  const uids = persistent.map(({ view }) => view.uid).toSorted();
  return uids.length === 0 ? {} : { persistentPods: uids.slice(0, MAX_PODS) };
}

/** Returns the pods of a workload with what its entry in status remembers of them. */
export function withMemory(
  pods: readonly ObservedPod[],
  { lastUnauthorizedTime = "", persistentPods = [] }: Partial<TargetStatus> = {},
  { rule, nowMs }: { readonly rule: PersistenceRule; readonly nowMs: number },
): readonly ObservedPod[] {
  // A log shows no more than one window either.
  if (!(nowMs - Date.parse(lastUnauthorizedTime) < rule.windowMs)) return pods;
  const isKnown = ({ view }: ObservedPod): boolean => persistentPods.includes(view.uid);
  return pods.map(pod => (isKnown(pod) ? { ...pod, logs: stillPersistent(pod.logs, rule) } : pod));
}

/** 401s that go on. A restart also needs two occasions `minDuration` apart that this process has read, and a fresh one. */
function stillPersistent(logs: Persistence, rule: PersistenceRule): Persistence {
  if (logs.state !== "suspected") return logs;
  const { firstMs = 0, lastMs = 0, isFresh = false } = logs;
  return { ...logs, state: "persistent", isFresh: isFresh && lastMs - firstMs >= rule.minDurationMs };
}

const HOOKS = { Helm: "HelmHook", "Argo CD": "ArgoCDHook" } as const;

/** What recreated the ServiceAccount of rejected pods that are older than it, unless another cause is proven. */
function recreatedBy({ rejected }: WorkloadState): Pick<TargetStatus, "recreatedBy"> {
  const pods = rejected.filter(({ proof }) => proof?.cause !== Cause.SigningKeyRotated);
  const recreations = pods.flatMap(({ recreation }) => recreation ?? []);
  if (recreations.length === 0) return {};
  const [hook] = recreations.flatMap(one => one.hook ?? []);
  return { recreatedBy: hook === undefined ? "Other" : HOOKS[hook.tool] };
}

/**
 * The time of the last 401 as status has it. While the same number of pods is rejected, it follows the exact time coarsely: each change of
 * status is a write.
 */
function shownLastUnauthorized(state: WorkloadState): string | undefined {
  const lastMs = lastUnauthorizedMs(state);
  const { lastUnauthorizedTime: before, rejectedPods } = state.workload.previous ?? {};
  const isSame = rejectedPods === state.rejected.length && lastMs - Date.parse(before ?? "") < GRAIN_MS;
  return isSame ? before : (describeTime(lastMs) ?? before);
}

/** A part of the window of persistence: status remembers persistent 401s for one window. */
const GRAIN_MS = PERSISTENT.windowMs / 2;

/** The latest 401 that the logs or status show; -Infinity if there was none. */
function lastUnauthorizedMs({ workload }: WorkloadState): number {
  const before = Date.parse(workload.previous?.lastUnauthorizedTime ?? "");
  return Math.max(
    Number.isNaN(before) ? -Infinity : before,
    ...workload.pods
      .map(withoutOneSided)
      .flatMap(({ logs, sandboxes }) => [logs.lastMs ?? -Infinity, sandboxes?.lastMs ?? -Infinity]),
  );
}
