import type { RestartStatus } from "../api/controller-resilience";
import type { Intent, Outcome, RestartClaim } from "../core/intent";
import type { PendingWrite } from "../core/remedy";
import { isOpen, restartId } from "./history";
import type { PodView, WorkloadView } from "../core/views";

// What tokenRestart and stallDetection say in the same way about the restart of a pod. Pure.

/** A workload in status and messages, such as `Deployment/web`. */
export function workloadId({ kind, name }: Pick<WorkloadView, "kind" | "name">): string {
  return `${kind}/${name}`;
}

/** The part of a claim that follows from the pod. Only the successor of a DaemonSet's pod is known by its node. */
export function podClaim(
  workload: WorkloadView,
  { name, uid, createdAtMs, nodeName }: PodView,
): Pick<RestartClaim, "workload" | "pod" | "podUID" | "podCreatedAtMs" | "nodeName"> {
  const isOnNode = workload.kind === "DaemonSet" && nodeName !== undefined;
  const pod = { pod: name, podUID: uid, podCreatedAtMs: createdAtMs };
  return { workload: workloadId(workload), ...pod, ...(isOnNode && { nodeName }) };
}

/** The eviction of a pod. */
export function evictionOf({ namespace, name, uid }: PodView, why: string, restart: RestartClaim): Intent {
  const target = { apiVersion: "v1", kind: "Pod", namespace, name, uid };
  return { verb: "evict", target, why, eventReason: "PodEvicted", restart };
}

/** A webhook may forbid the eviction of one pod, and allow that of its siblings. */
const REFUSED: readonly Outcome["result"][] = ["Blocked", "Failed", "Forbidden"];

/** Returns the last restart of a pod, if the API server has refused or failed it, and it is in backoff. */
export function refusedRestart(
  { uid }: PodView,
  { pending, now }: { readonly pending: readonly PendingWrite[]; readonly now: Date },
): PendingWrite | undefined {
  return pending.find(({ restart, outcome, untilMs }) => {
    return restart?.podUID === uid && REFUSED.includes(outcome.result) && untilMs > now.getTime();
  });
}

/** Returns the restarts that have got an outcome since `before`. */
export function newlySettled(before: readonly RestartStatus[], after: readonly RestartStatus[]): RestartStatus[] {
  const known = new Map(before.map(entry => [restartId(entry), entry.outcome]));
  return after.filter(entry => !isOpen(entry) && (known.get(restartId(entry)) ?? entry.outcome) !== entry.outcome);
}
