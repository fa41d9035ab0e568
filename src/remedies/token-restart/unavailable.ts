import { isOpen } from "../../core/restarts";
import type { Assessment } from "./assessment";
import { nextCandidate, type WorkloadState } from "./candidates";
import { isRejected, type ObservedPod, type ObservedWorkload } from "./observed";
import { rolloutWaitMs } from "./rollout-bound";
import { describeShare } from "./wording";

// maxUnavailable: pods that are down delay the restart of others. Pure.

/** What a person can do while a pod does not become healthy. */
export const UNHEALTHY_HINT = "see kubectl describe for pods that are not Ready or do not terminate";

/** A pod that still exists this long after the end of its grace period does not terminate by itself: its node does not answer. */
const STUCK_TERMINATING_MS = 180_000;

/** As many pods are down as allowed. */
export function tooManyDown(state: WorkloadState): Assessment | undefined {
  const { workload, rejected, spec } = state;
  if (rejected.length === 0) return undefined;
  const down = downPods(state);
  const { maxUnavailable } = spec;
  const others = notReady(state);
  if (Math.max(down.length, others.length + missing(state, down)) < maxUnavailable) return undefined;
  const sentence = `${describeShare(workload, rejected)}; ${describeWait(down, others)} (maxUnavailable ${maxUnavailable}).`;
  return { status: "False", reason: "RestartDeferred", sentence, isProgressing: true, waitHint: UNHEALTHY_HINT };
}

/** Number of restarted pods whose successors do not exist yet, so that they are not among the pods that are not Ready. */
function missing({ workload }: WorkloadState, down: readonly string[]): number {
  const present = workload.pods.filter(({ view }) => view.deletedAtMs === undefined);
  return Math.min(down.length, Math.max(0, workload.view.replicas - present.length));
}

function describeWait([restarted]: readonly string[], [other]: readonly string[]): string {
  if (restarted !== undefined) return `waiting until the successor of pod ${restarted} is healthy`;
  return `waiting until pod ${other ?? ""} is Ready`;
}

/** Names of the pods that the operator's restarts took down: still terminating, or without a successor that is known to be healthy. */
export function downPods({ workload, history, now }: WorkloadState): string[] {
  const stuck = new Set(workload.pods.filter(pod => isStuckTerminating(pod, now)).map(({ view }) => view.uid));
  const open = history.filter(entry => isOpen(entry) && !stuck.has(entry.podUID ?? ""));
  const restarted = new Set(history.map(entry => entry.podUID));
  const terminating = workload.pods.filter(({ view }) => view.deletedAtMs !== undefined && restarted.has(view.uid));
  const names = new Map(open.map(entry => [entry.podUID ?? entry.pod, entry.pod]));
  for (const { view } of terminating) if (!stuck.has(view.uid)) names.set(view.uid, view.name);
  return [...names.values()];
}

function isStuckTerminating({ view }: ObservedPod, now: Date): boolean {
  return view.deletedAtMs !== undefined && now.getTime() - view.deletedAtMs >= STUCK_TERMINATING_MS;
}

/**
 * Names of the pods that are not Ready for any other reason, if the restart would take one more down. It would not if the next pod is not
 * Ready itself, and it may if every pod is proven to be rejected: then none of them works. Pods of nodes that do not answer do not count,
 * so that a lost node does not stop the healing of a DaemonSet; nor do pods that have not been Ready for an hour while others are; nor do,
 * while a rollout is stuck, the pods that it has added.
 */
function notReady(state: WorkloadState): string[] {
  const present = state.workload.pods.filter(({ view }) => view.deletedAtMs === undefined);
  const isAllProven = present.every(pod => pod.proof !== undefined && isRejected(pod));
  if (isAllProven || nextCandidate(state)?.view.ready !== true) return [];
  const counted = present.filter(({ view }) => !view.ready && view.nodeUnreachable !== true);
  const isServed = present.filter(({ view }) => view.ready).length > 1;
  const lasting = counted.filter(pod => !isServed || !isChronic(pod, state));
  return lasting.slice(addedByRollout(state, present.length)).map(({ view }) => view.name);
}

function addedByRollout({ workload }: WorkloadState, present: number): number {
  return isStuck(workload) ? Math.max(0, present - workload.view.replicas) : 0;
}

const CHRONIC_MS = 3_600_000;

function isChronic({ view }: ObservedPod, { workload, now }: WorkloadState): boolean {
  const patienceMs = isStuck(workload) ? rolloutWaitMs(workload.view) : CHRONIC_MS;
  return now.getTime() - (view.readySinceMs ?? view.createdAtMs) >= patienceMs;
}

/** Restarts wait while a rollout makes progress. Once they don't, it is stuck. */
function isStuck({ rolloutSinceMs }: ObservedWorkload): boolean {
  return rolloutSinceMs !== undefined;
}
