import type { TargetStatus } from "../../api/controller-resilience";
import type { Assessment } from "./assessment";
import type { WorkloadState } from "./candidates";
import { isRejected, isSuspected, type ObservedPod } from "./observed";
import { describeTime } from "./wording";

/** The workload's entry in status.targets. */
export function targetStatus(state: WorkloadState, assessment: Assessment): TargetStatus {
  const { view, pods } = state.workload;
  const lastUnauthorizedTime = lastUnauthorized(state);
  const generation = exhaustedGeneration(state, assessment);
  return {
    kind: view.kind,
    name: view.name,
    pods: pods.length,
    rejectedPods: state.rejected.length,
    ...(lastUnauthorizedTime === undefined ? {} : { lastUnauthorizedTime }),
    ...(generation === undefined ? {} : { exhaustedGeneration: generation }),
  };
}

/** During the cooldown the earlier generation is kept: later passes have to know that its restarts are forgiven. */
function exhaustedGeneration(state: WorkloadState, { reason }: Assessment): number | undefined {
  const { observed, previous, isCooling } = state;
  if (isCooling) return previous?.exhaustedGeneration;
  return reason === "RestartsExhausted" || isStillExhausted(state) ? observed.generation : undefined;
}

/** Used-up restarts are remembered until all logs were read and found quiet: an unread log is no sign of recovery. */
function isStillExhausted({ workload, previous, observed, spec }: WorkloadState): boolean {
  if (!((previous?.exhaustedGeneration ?? -Infinity) >= observed.generation)) return false;
  const present = workload.pods.filter(({ view }) => view.deletedAtMs === undefined);
  const readsLogs = spec.evidence.includes("Logs");
  return present.length === 0 || !present.every(pod => isQuiet(pod) && (wasRead(pod) || !readsLogs));
}

function wasRead({ readMs, unreadable }: ObservedPod): boolean {
  return readMs !== undefined && !unreadable;
}

function isQuiet(pod: ObservedPod): boolean {
  return !isRejected(pod) && pod.logs.state === "quiet" && !isSuspected(pod);
}

/** Does not follow every log line: each change of status is a write. */
function lastUnauthorized({ workload, previous }: WorkloadState): string | undefined {
  const lastMs = Math.max(
    ...workload.pods.flatMap(({ logs, sandboxes }) => [logs.lastMs ?? -Infinity, sandboxes?.lastMs ?? -Infinity]),
  );
  const before = previous?.lastUnauthorizedTime;
  const isNew = before === undefined || !(lastMs - Date.parse(before) < LAST_TIME_GRAIN_MS);
  return isNew ? (describeTime(lastMs) ?? before) : before;
}

const LAST_TIME_GRAIN_MS = 60_000;
