import { CLOCK_SKEW_MS, toSeconds } from "../../../core/time";
import { canBeAgent } from "../../../logs/sandboxes/failures";
import { isReadAt, trialMs } from "../checks/watch";
import { activePodsOf, isCanary, type ObservedDaemonSet, type ObservedPod, type Spec } from "../observed";
import type { Subject } from "../subject";

// The first pod with the shorter token must outlive it before another pod gets one. Pure.

/**
 * A trial without proof ends after the life of the token and this time, in milliseconds: OnDelete also holds up the owner's own updates.
 */
export const PATIENCE_MS = 3_600_000;

/** Reports whether the DaemonSet's pods may leave a copy of their token on the node, for a network plugin. */
export function isNodeAgent({ pods }: Pick<ObservedDaemonSet, "pods">): boolean {
  return pods.some(({ pod }) => canBeAgent(pod));
}

/** The oldest pod with the shorter token of the changed template. */
export function firstPodOf(daemonSet: Pick<ObservedDaemonSet, "pods" | "record">, spec: Spec): ObservedPod | undefined {
  const appliedMs = Date.parse(daemonSet.record?.appliedTime ?? "");
  return activePodsOf(daemonSet)
    .filter(({ pod }) => isCanary(pod, spec) && pod.createdAtMs >= appliedMs - CLOCK_SKEW_MS)
    .toSorted((a, b) => a.pod.createdAtMs - b.pod.createdAtMs)[0];
}

/** From this time on a copy of the first token is dead. The kubelet requests the token before the pod is Ready. */
export function tokenDiedMs({ pod }: Pick<ObservedPod, "pod">, { expirationSeconds }: Spec): number {
  return (pod.readySinceMs ?? pod.createdAtMs) + 1000 * expirationSeconds;
}

/** What the trial still waits for, as the end of a sentence; undefined: it has passed. */
export function missingProof(subject: Subject): string | undefined {
  const { daemonSet, spec, nowMs } = subject;
  const first = firstPodOf(daemonSet, spec);
  if (first === undefined) return "no pod has the shorter token yet";
  const endMs = first.pod.createdAtMs + trialMs(spec);
  if (nowMs < endMs) return `the first must work until ${toSeconds(new Date(endMs))} before the next pod is replaced`;
  return unhealthy(first, endMs) ?? unprovenNode(first, subject);
}

function unhealthy(first: ObservedPod, endMs: number): string | undefined {
  const { pod, logState } = first;
  if (!pod.ready) return `pod ${pod.name}, the first with the shorter token, is not Ready`;
  if (logState === "quiet" && isReadAt(first, endMs)) return undefined;
  const cause = logState === "suspected" || logState === "persistent" ? "gets 401 responses" : "has unread logs";
  return `pod ${pod.name}, the first with the shorter token, ${cause}`;
}

function unprovenNode(first: ObservedPod, { daemonSet, spec }: Subject): string | undefined {
  if (!isNodeAgent(daemonSet) || first.hasSandboxStarted === true) return undefined;
  if (first.isNodeForbidden === true)
    return "the operator may not list the pods of all namespaces, so it cannot see whether pods start on a node; grant list pods";
  const since = toSeconds(new Date(tokenDiedMs(first, spec)));
  return `no pod with its own network was seen to start on node ${first.pod.nodeName ?? "unknown"} since ${since}, when a copy of the first token expired; start one there`;
}
