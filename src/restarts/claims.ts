import { Cause } from "../api/conditions";
import type { RestartStatus } from "../api/controller-resilience";
import type { Intent, Outcome, RestartClaim } from "../core/intent";
import type { EventRequest, PendingRestart, ReasonRule } from "../core/remedy";
import { timeInMessage } from "../core/time";
import { isOpen, restartId } from "./history";
import type { PodView, WorkloadView } from "../core/views";
import { workloadId } from "../core/text";

// What tokenRestart and stallDetection say in the same way about the restart of a pod. Pure.

/** The part of a claim that follows from the pod. Only the successor of a DaemonSet's pod is known by its node. */
export function podClaim(
  { view: workload, pods }: { readonly view: WorkloadView; readonly pods: readonly { readonly view: PodView }[] },
  { name, uid, createdAtMs, nodeName }: PodView,
): Pick<RestartClaim, "workload" | "pod" | "podUID" | "podCreatedAtMs" | "newestPodMs" | "nodeName"> {
  const isOnNode = workload.kind === "DaemonSet" && nodeName !== undefined;
  const newestPodMs = Math.max(...pods.map(({ view }) => view.createdAtMs));
  const pod = { pod: name, podUID: uid, podCreatedAtMs: createdAtMs, newestPodMs };
  return { workload: workloadId(workload), ...pod, ...(isOnNode && { nodeName }) };
}

/** The eviction of a pod. */
export function evictionOf({ namespace, name, uid }: PodView, why: string, restart: RestartClaim): Intent {
  const target = { apiVersion: "v1", kind: "Pod", namespace, name, uid };
  return { verb: "evict", target, why, eventReason: "PodEvicted", restart };
}

/** The worst reasons of the conditions of both. */
export const WORST_RESTART_REASONS = {
  RestartsExhausted: {
    event: "Warning",
    help: "Restarts did not help: mend the cause, then restart it by hand. More follow after a day.",
  },
  BreakerTripped: {
    event: "Warning",
    help: "No restart without proof until a person resets the breaker; the message has the command.",
  },
} as const satisfies Record<string, ReasonRule>;

/** Further reasons of both, worst first, between those for which a person must act and those of a calm workload. */
export const RESTART_REASONS = {
  Conflict: {
    event: "Warning",
    help: "Another object acts on the workload, as a rule the oldest; remove it from the targets of one of them.",
  },
  WouldRestart: { event: "Warning", help: "It is only observed: set mode Enforce, or restart the pod by hand." },
  RestartBlocked: {
    event: "Warning",
    help: "The API server refuses the eviction for now, such as for a PodDisruptionBudget: add a replica (no help with `maxUnavailable: 0`), or delete the pod by hand.",
  },
  RestartDeferred: {
    event: "Normal",
    passes: true,
    help: "A limit, or a write that failed, delays the restart; the message says which.",
  },
  Restarting: { event: "None", help: "A pod was restarted; the operator is watching its successor." },
  TargetNotFound: { event: "Warning", help: "No such workload (yet): check kind and name." },
  Forbidden: {
    event: "Warning",
    help: "Grant the right in the message; if it was the chart's, apply that again with `--force-conflicts`.",
  },
} as const satisfies Record<string, ReasonRule>;

/** One of these reasons. */
export type RestartReason = keyof typeof WORST_RESTART_REASONS | keyof typeof RESTART_REASONS;

/** What a person can do about a restart that the API server, or the operator, has not allowed for an hour. */
export const BLOCKED_HINT =
  "if the eviction is refused, check the PodDisruptionBudget and the admission webhooks, add a replica, or delete the pod by hand; a turn comes by itself";

/**
 * The restart of a pod that the API server refused, and the time of the next try. Of the refusal's text only the PodDisruptionBudget is repeated: how
 * many pods are healthy changes all the time.
 */
export function describeBlock(refusal: string, pod: string, untilMs: number): string {
  const [, name] = /The disruption budget (\S+) /.exec(refusal) ?? [];
  const budget = name === undefined ? "a PodDisruptionBudget" : `PodDisruptionBudget ${name}`;
  const isByBudget = /disruption ?budget/i.test(refusal);
  const cause = isByBudget ? `${budget} does not allow` : "the API server refused for now";
  return `${cause} the eviction of pod ${pod}, next try at ${timeInMessage(untilMs)}`;
}

/** A webhook may forbid the eviction of one pod, and allow that of its siblings. */
const REFUSED: readonly Outcome["result"][] = ["Blocked", "Failed", "Forbidden"];

/** Returns the last restart of a pod, if the API server has refused or failed it, and it is in backoff. */
export function refusedRestart(
  { uid }: PodView,
  { pending, now }: { readonly pending: readonly PendingRestart[]; readonly now: Date },
): PendingRestart | undefined {
  return pending.find(({ restart, outcome, untilMs }) => {
    return restart.podUID === uid && REFUSED.includes(outcome.result) && untilMs > now.getTime();
  });
}

/** Returns the restarts that have got an outcome since `before`. */
export function newlySettled(before: readonly RestartStatus[], after: readonly RestartStatus[]): RestartStatus[] {
  const known = new Map(before.map(entry => [restartId(entry), entry.outcome]));
  return after.filter(entry => !isOpen(entry) && (known.get(restartId(entry)) ?? entry.outcome) !== entry.outcome);
}

/** The Event of a restart that has got its outcome. */
export function eventOf({ pod, workload, cause, outcome }: RestartStatus): EventRequest {
  if (outcome === "Recovered") {
    const note = `The successor of pod ${pod} of ${workload} is Ready and ${SIGNS[cause] ?? "its tokens are accepted"}.`;
    return { type: "Normal", reason: "PodRecovered", note };
  }
  if (outcome === "Replaced") {
    const why =
      "its successor has shown no sign yet, or there is none: the workload was scaled down, it or the node is gone, or it is no target";
    const note = `Whether restarting pod ${pod} of ${workload} helped is not confirmed: ${why}.`;
    return { type: "Normal", reason: "PodReplaced", note };
  }
  const note = `Restarting pod ${pod} of ${workload} did not help, or not for long.`;
  return { type: "Warning", reason: "RestartIneffective", note };
}

/** How a successor shows that the restart has helped. */
const SIGNS: Partial<Record<RestartStatus["cause"], string>> = {
  [Cause.CniCredentialRejected]: "no new pod on its node has failed with a 401 since",
  [Cause.LeaseNotRenewed]: "renews a Lease",
  [Cause.ProgressStopped]: "does its work again",
};
