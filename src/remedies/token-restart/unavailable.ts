import { isOpen } from "../../restarts/history";
import type { WorkloadView } from "../../core/views";
import { isHealable, type WorkloadState } from "./candidates";
import { isPresent, isRejected, type ObservedPod, type ObservedWorkload } from "./observed";
import { deferred, stalled, type Assessment } from "./reasons";
import { describeTime } from "./wording";

// Pods of the workload that are down, and rollouts of its own template: reasons for a restart to wait. Pure.

/** What a person can do while a pod does not become healthy. */
export const UNHEALTHY_HINT = "see kubectl describe for pods that are not Ready or do not terminate";

const UPGRADE_HINT = "delete the pod once it may be upgraded";

/** A pod that still exists this long after the end of its grace period does not terminate by itself: its node does not answer. */
const STUCK_TERMINATING_MS = 180_000;

/** Pods that have not been Ready for this long do not hold others back. */
const CHRONIC_MS = 3_600_000;

/** How long a rollout delays restarts: the default progressDeadlineSeconds of a Deployment, and the longest time. */
const ROLLOUT_MS = 600_000;
const LONGEST_ROLLOUT_MS = 900_000;

/** With update strategy OnDelete a restart would upgrade each pod that it can heal, which a person has not allowed yet. */
export function upgradeDeferred({ workload, rejected, share, next }: WorkloadState): Assessment | undefined {
  const pod = rejected.find(one => isHealable(one));
  if (pod === undefined || next !== undefined) return undefined;
  const isKnown = workload.view.rollout?.currentLabel !== undefined;
  const has = isKnown ? "has" : "may have";
  const sentence = `${share}; pod ${pod.view.name} ${has} an older template, and with update strategy OnDelete a restart would upgrade it; ${UPGRADE_HINT}.`;
  if (isKnown) return stalled(sentence);
  // Right after a change of the workload, its controller has not published the revision yet.
  return { status: "False", reason: "Rejected", sentence, isProgressing: true, waitHint: UPGRADE_HINT };
}

/** The rollout may replace the rejected pods itself. One that does not, such as for their sake, is not waited for any longer. */
export function rolloutInProgress({ workload, share, next, now }: WorkloadState): Assessment | undefined {
  const untilMs = (workload.rolloutSinceMs ?? -Infinity) + rolloutWaitMs(workload.view);
  const retryAfterMs = untilMs - now.getTime();
  if (next === undefined || retryAfterMs <= 0) return undefined;
  const until = describeTime(untilMs) ?? "an unknown time";
  return deferred(`${share}; waiting for the rollout in progress, until ${until} at the latest.`, { retryAfterMs });
}

function rolloutWaitMs({ rollout }: Pick<WorkloadView, "rollout">): number {
  return Math.min(rollout?.progressDeadlineMs ?? ROLLOUT_MS, LONGEST_ROLLOUT_MS);
}

/** As many pods are down as `maxUnavailable` allows. */
export function tooManyDown(state: WorkloadState): Assessment | undefined {
  const { rejected, share, spec } = state;
  if (rejected.length === 0) return undefined;
  const { maxUnavailable } = spec;
  const [down, others] = [downPods(state), notReady(state)];
  if (Math.max(down.length, others.length + missing(state, down)) < maxUnavailable) return undefined;
  const [restarted] = down;
  const wait = restarted === undefined ? otherWait(others) : `the successor of pod ${restarted} is healthy`;
  return deferred(`${share}; waiting until ${wait} (maxUnavailable ${maxUnavailable}).`, { waitHint: UNHEALTHY_HINT });
}

function otherWait([notReady]: readonly string[]): string {
  return notReady === undefined ? "all pods exist" : `pod ${notReady} is Ready`;
}

/**
 * Number of pods that do not exist, or terminate, whatever the reason, so that they are not among the pods that are not Ready. A pod that cannot
 * terminate because its node does not answer does not count, as in {@link notReady}. If the next pod is not Ready itself, its restart takes no
 * further one down, and only the successors of restarted pods count.
 */
function missing({ workload, next, now }: WorkloadState, down: readonly string[]): number {
  const gone = workload.pods.filter(
    pod => !isPresent(pod) && (pod.view.nodeUnreachable === true || isStuckTerminating(pod, now)),
  );
  const present = workload.pods.filter(pod => isPresent(pod));
  const absent = Math.max(0, workload.view.replicas - present.length - gone.length);
  return next?.pod.view.ready === true ? absent : Math.min(down.length, absent);
}

/** Names of the pods that the operator's restarts took down: still terminating, or without a successor that is known to be healthy. */
export function downPods({ workload, history, now }: WorkloadState): string[] {
  const stuck = new Set(workload.pods.filter(pod => isStuckTerminating(pod, now)).map(({ view }) => view.uid));
  const open = history.filter(entry => isOpen(entry) && !stuck.has(entry.podUID ?? ""));
  const restarted = new Set(history.map(entry => entry.podUID));
  const terminating = workload.pods.filter(pod => !isPresent(pod) && restarted.has(pod.view.uid));
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
 * so that a lost node does not stop the healing of a DaemonSet; nor do pods that have not been Ready for an hour while others are, but for a
 * StatefulSet, which creates no successor before all pods of lower numbers are Ready; nor do, while a rollout is stuck, the pods that it has added.
 */
function notReady(state: WorkloadState): string[] {
  const { workload, next } = state;
  const present = workload.pods.filter(pod => isPresent(pod));
  const isAllProven = present.every(pod => pod.proof !== undefined && isRejected(pod));
  if (isAllProven || next?.pod.view.ready !== true) return [];
  const counted = present.filter(({ view }) => !view.ready && view.nodeUnreachable !== true);
  const isServed = present.filter(({ view }) => view.ready).length > 1;
  const lasting = counted.filter(pod => !isServed || !isChronic(pod, state));
  // Restarts wait while a rollout makes progress. Once they don't, it is stuck.
  const added = isRollingOut(workload) ? Math.max(0, present.length - workload.view.replicas) : 0;
  return lasting.slice(added).map(({ view }) => view.name);
}

function isChronic({ view }: ObservedPod, { workload, now }: WorkloadState): boolean {
  if (workload.view.kind === "StatefulSet") return false;
  const patienceMs = isRollingOut(workload) ? rolloutWaitMs(workload.view) : CHRONIC_MS;
  return now.getTime() - (view.readySinceMs ?? view.createdAtMs) >= patienceMs;
}

function isRollingOut({ rolloutSinceMs }: ObservedWorkload): boolean {
  return rolloutSinceMs !== undefined;
}

/** A wait is remembered for this long after it was last seen, in milliseconds: a pass on caches may miss the workload for a moment. */
const KEPT_MS = 60_000;

/** When rejected pods and a rollout in progress were first seen together, by the uid of the workload. */
export class RolloutWaits {
  readonly #waits = new Map<string, { readonly sinceMs: number; readonly seenMs: number }>();

  /** Adds that time to the workloads of an object's pass, and soon forgets the other workloads. `nowMs` is wall-clock time. */
  mark(workloads: readonly ObservedWorkload[], nowMs: number): ObservedWorkload[] {
    for (const [uid, { seenMs }] of this.#waits) if (nowMs - seenMs > KEPT_MS) this.#waits.delete(uid);
    return workloads.map(workload => {
      const { uid, rollout } = workload.view;
      if (rollout?.isInProgress !== true || !workload.pods.some(pod => isRejected(pod))) {
        this.#waits.delete(uid);
        return workload;
      }
      const rolloutSinceMs = this.#waits.get(uid)?.sinceMs ?? nowMs;
      this.#waits.set(uid, { sinceMs: rolloutSinceMs, seenMs: nowMs });
      return { ...workload, rolloutSinceMs };
    });
  }
}
