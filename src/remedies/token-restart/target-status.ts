import type { TargetStatus } from "../../api/controller-resilience";
import { incidentOf } from "../../core/restarts";
import type { Assessment } from "./assessment";
import { limitsOf, nextClaim, type WorkloadState } from "./candidates";
import { isRejected, isSuspected, withoutOneSided, type ObservedPod } from "./observed";
import { persistentPods } from "./known-pods";
import { unreplacedRestarts } from "./settle";
import { waitingStatus } from "./waiting";
import { describeTime } from "./wording";

/** The workload's entry in status.targets. */
export function targetStatus(state: WorkloadState, assessment: Assessment): TargetStatus {
  const { view, pods } = state.workload;
  const lastUnauthorizedTime = lastUnauthorized(state);
  return {
    kind: view.kind,
    name: view.name,
    pods: pods.length,
    rejectedPods: state.rejected.length,
    ...(lastUnauthorizedTime === undefined ? {} : { lastUnauthorizedTime }),
    ...persistentPods(pods),
    ...exhaustion(state, assessment),
    ...unreplaced(state),
    ...waitingStatus(state, assessment),
  };
}

function unreplaced({ workload, history, observed, now }: WorkloadState): Pick<TargetStatus, "unreplacedGeneration"> {
  const isUnreplaced = unreplacedRestarts(history, workload, now.getTime()).length > 0;
  return isUnreplaced ? { unreplacedGeneration: observed.generation } : {};
}

type Exhaustion = Pick<TargetStatus, "exhaustedGeneration" | "exhaustedIncident">;

/** During the cooldown the earlier generation is kept: later passes have to know that its restarts are forgiven. */
function exhaustion(state: WorkloadState, { reason }: Assessment): Exhaustion {
  const { observed, previous, isCooling } = state;
  const { exhaustedGeneration, exhaustedIncident } = previous ?? {};
  const isNew = reason === "RestartsExhausted";
  if (!isNew && !isCooling && !isStillExhausted(state)) return {};
  const generation = isCooling ? exhaustedGeneration : observed.generation;
  const claim = isNew ? nextClaim(state) : undefined;
  const incident = claim === undefined ? exhaustedIncident : incidentOf(claim);
  return {
    ...(generation === undefined ? {} : { exhaustedGeneration: generation }),
    ...(incident === undefined ? {} : { exhaustedIncident: incident }),
  };
}

/**
 * Used-up restarts are remembered until all logs were read and have been quiet for the budget's window: an unread log is no sign of
 * recovery, and a pause between two rejections is none either.
 */
function isStillExhausted(state: WorkloadState): boolean {
  const { workload, previous, observed, spec, now } = state;
  if (!((previous?.exhaustedGeneration ?? -Infinity) >= observed.generation)) return false;
  const present = workload.pods.filter(({ view }) => view.deletedAtMs === undefined).map(withoutOneSided);
  const readsLogs = spec.evidence.includes("Logs");
  if (present.length === 0 || !present.every(pod => isQuiet(pod) && (wasRead(pod) || !readsLogs))) return true;
  const quietMs = now.getTime() - Date.parse(lastUnauthorized(state) ?? "");
  return quietMs < limitsOf(spec).maxRestartsWindowMs;
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
    ...workload.pods
      .map(withoutOneSided)
      .flatMap(({ logs, sandboxes }) => [logs.lastMs ?? -Infinity, sandboxes?.lastMs ?? -Infinity]),
  );
  const before = previous?.lastUnauthorizedTime;
  const isNew = before === undefined || !(lastMs - Date.parse(before) < LAST_TIME_GRAIN_MS);
  return isNew ? (describeTime(lastMs) ?? before) : before;
}

const LAST_TIME_GRAIN_MS = 60_000;
