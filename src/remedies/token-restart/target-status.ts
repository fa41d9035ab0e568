import { Cause } from "../../api/conditions";
import type { TargetStatus } from "../../api/controller-resilience";
import { incidentOf, RESTARTS_WINDOW_MS } from "../../core/restarts";
import { PERSISTENT } from "../../logs/persistence";
import type { Assessment } from "./assessment";
import { nextClaim, type WorkloadState } from "./candidates";
import { isLogEvidence, isRejected, isSuspected, withoutOneSided, type ObservedPod } from "./observed";
import { persistentPods } from "./known-pods";
import { waitingStatus } from "./waiting";
import { describeTime } from "./wording";

/** The workload's entry in status.targets. */
export function targetStatus(state: WorkloadState, assessment: Assessment): TargetStatus {
  const { view, pods } = state.workload;
  const lastUnauthorizedTime = shownLastUnauthorized(state);
  return {
    kind: view.kind,
    name: view.name,
    pods: pods.length,
    rejectedPods: state.rejected.length,
    ...(lastUnauthorizedTime === undefined ? {} : { lastUnauthorizedTime }),
    ...recreatedBy(state),
    ...persistentPods(pods),
    ...exhaustion(state, assessment),
    ...waitingStatus(state, assessment),
  };
}

const HOOKS = { Helm: "HelmHook", "Argo CD": "ArgoCDHook" } as const;

/**
 * What recreated the ServiceAccount, where that is the proven cause. The proof ends when the kubelet renews the token; the cause is
 * remembered until the logs of these pods were quiet.
 */
function recreatedBy({ rejected, workload, previous }: WorkloadState): Pick<TargetStatus, "recreatedBy"> {
  const known = previous?.recreatedBy === undefined ? [] : workload.pods.filter(pod => !isQuiet(pod) || !wasRead(pod));
  const pods = [...rejected.filter(({ proof }) => proof?.cause === Cause.ServiceAccountRecreated), ...known];
  const recreations = pods.flatMap(({ recreation }) => recreation ?? []);
  if (recreations.length === 0) return {};
  const [hook] = recreations.flatMap(one => one.hook ?? []);
  return { recreatedBy: hook === undefined ? "Other" : HOOKS[hook.tool] };
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
  const readsLogs = isLogEvidence(workload.view, spec);
  if (present.length === 0 || !present.every(pod => isQuiet(pod) && (wasRead(pod) || !readsLogs))) return true;
  return now.getTime() - lastUnauthorizedMs(state) < RESTARTS_WINDOW_MS;
}

function wasRead({ readMs, unreadable }: ObservedPod): boolean {
  return readMs !== undefined && !unreadable;
}

function isQuiet(pod: ObservedPod): boolean {
  return !isRejected(pod) && pod.logs.state === "quiet" && !isSuspected(pod);
}

/**
 * The time of the last 401 as status has it. While the same number of pods is rejected, it follows the exact time coarsely: each change of
 * status is a write.
 */
function shownLastUnauthorized(state: WorkloadState): string | undefined {
  const lastMs = lastUnauthorizedMs(state);
  const { lastUnauthorizedTime: before, rejectedPods } = state.previous ?? {};
  const isSame = rejectedPods === state.rejected.length && lastMs - Date.parse(before ?? "") < GRAIN_MS;
  return isSame ? before : (describeTime(lastMs) ?? before);
}

/** A part of the window of persistence: status remembers persistent 401s for one window (known-pods.ts). */
const GRAIN_MS = PERSISTENT.windowMs / 2;

/** The latest 401 that the logs or status show; -Infinity if there was none. */
function lastUnauthorizedMs({ workload, previous }: WorkloadState): number {
  const before = Date.parse(previous?.lastUnauthorizedTime ?? "");
  return Math.max(
    Number.isNaN(before) ? -Infinity : before,
    ...workload.pods
      .map(withoutOneSided)
      .flatMap(({ logs, sandboxes }) => [logs.lastMs ?? -Infinity, sandboxes?.lastMs ?? -Infinity]),
  );
}
