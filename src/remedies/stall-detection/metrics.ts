import type { RestartStatus } from "../../api/controller-resilience";
import { timeInMessage } from "../../core/time";
import {
  isOfKind,
  type QueueFinding,
  stuckQueues,
  stuckWorkers,
  watchesDeadSince,
  workedOn,
} from "../../evidence/metrics/judge";
import { deniedOf, REFUSED_WRITE } from "../../logs/traces";
import { isCreatedAfter, isSeenAfter } from "../../restarts/history";
import { isRunning, otherRenewed } from "./lease-judge";
import { isRecent } from "./logs";
import type { ObservedPod, ObservedWorkload, Pass } from "./observed";

// What the metrics of the pods show: one that does nothing while it has work, or sees none; and work that speaks against the evidence Progress.

/** Adds to each pod what it says of itself. A failure is said once for each workload: its pods serve the same. */
export function withMetrics(workloads: readonly ObservedWorkload[], pass: Pass): ObservedWorkload[] {
  const { spec, readers, problems } = pass;
  const { metrics } = spec;
  if (metrics === undefined || !spec.evidence.includes("Metrics")) return [...workloads];
  const epochMs = readers.clock.now().getTime() - readers.clock.monotonicMs();
  return workloads.map(workload => {
    const read = workload.pods.map(pod => ({ pod, reading: readers.podMetrics(pod.view, metrics) }));
    const unknown = read.flatMap(({ reading }) => reading.unknown ?? [])[0];
    if (unknown !== undefined) problems.push(unknown);
    const pods = read.map(({ pod, reading: { track } }) => (track ? { ...pod, metrics: { track, epochMs } } : pod));
    return { ...workload, pods };
  });
}

/**
 * A pod that does not say whether it leads is a standby while another one of its workload renews a Lease: it may have led before, and keep a full
 * queue.
 */
export function withStandbys(workload: ObservedWorkload, forMs: number): ObservedWorkload {
  const leads = (pod: ObservedPod): boolean => otherRenewed(pod.leases, forMs) !== undefined;
  if (!workload.pods.some(leads)) return workload;
  const pods = workload.pods.map((pod): ObservedPod => {
    const { metrics } = pod;
    if (metrics === undefined || metrics.track.isLeader !== undefined || leads(pod)) return pod;
    return { ...pod, metrics: { ...metrics, track: { ...metrics.track, isLeader: false } } };
  });
  return { ...workload, pods };
}

/** A pod whose metrics show that it does not do its work. */
export interface IdlePod {
  readonly pod: ObservedPod;
  readonly reason: "QueueStuck" | "WatchesDead" | "WorkerStuck";
  /** Wall-clock time. */
  readonly sinceMs: number;
  readonly sentence: string;
}

/** Returns the worst that the metrics of a pod show. Undefined: nothing. */
export function idlePod(pod: ObservedPod): IdlePod | undefined {
  const { view, metrics } = pod;
  if (metrics === undefined || !isRunning(view)) return undefined;
  const { track, epochMs } = metrics;
  const found = (reason: IdlePod["reason"], ms: number, describe: (since: string) => string): IdlePod => {
    const sinceMs = epochMs + ms;
    return { pod, reason, sinceMs, sentence: describe(describeSince(sinceMs)) };
  };
  const [stuck, ...more] = stuckQueues(track);
  if (stuck !== undefined)
    return found("QueueStuck", stuck.sinceMs, since => describeStuck(stuck, more.length, view.name, since));
  const deadMs = watchesDeadSince(track);
  if (deadMs !== undefined)
    return found("WatchesDead", deadMs, since => {
      return `Pod ${view.name} renews its Lease and has sent no GET since ${since}, so it sees no change.`;
    });
  const [busy] = stuckWorkers(track);
  return (
    busy &&
    found("WorkerStuck", busy.sinceMs, since => {
      return `A worker of queue ${busy.queue} of pod ${view.name} has been busy with one item since ${since}.`;
    })
  );
}

function describeStuck({ queue, depth = 1 }: QueueFinding, more: number, pod: string, since: string): string {
  const others = more === 0 ? "" : `; so are ${more} more of its queues`;
  return `Queue ${queue} of pod ${pod} has ${describeDepth(depth)} and has finished none since ${since}${others}.`;
}

/** What waits in the queue of a kind, for the sentence about what is due; empty if nothing does, or another finding says it. */
export function describeQueueOf(kind: string, pods: readonly ObservedPod[]): string {
  const sentences = pods.flatMap(pod => {
    const { view, metrics } = pod;
    if (metrics === undefined || idlePod(pod) !== undefined) return [];
    const queues = Array.from(metrics.track.queues).filter(
      ([queue, { depth = 0 }]) => isOfKind(queue, kind) && depth > 0,
    );
    return queues.map(([queue, { depth = 0, idleFromMs }]) => {
      return ` ${describeStuck({ queue, depth, sinceMs: idleFromMs }, 0, view.name, describeSince(metrics.epochMs + idleFromMs))}`;
    });
  });
  return sentences[0] ?? "";
}

/** Without a number that changes at each reading. */
function describeDepth(depth: number): string {
  return depth < 2 ? "an item" : `${10 ** Math.floor(Math.log10(depth))} or more items`;
}

/** In whole minutes, since it is known from a reading each half minute. */
function describeSince(ms: number): string {
  return timeInMessage(Math.floor(ms / 60_000) * 60_000);
}

/** Reports whether the metrics of a pod show that it does nothing at all. */
export function doesNothing(idle: IdlePod | undefined): boolean {
  return idle !== undefined && idle.reason !== "WorkerStuck";
}

/** Reports whether a queue of that kind has finished an item, or counted an error, lately: then its controller works. */
export function hasWorked(kind: string, pods: readonly ObservedPod[], sinceMs: number): boolean {
  const tracks = pods.flatMap(({ metrics }) => metrics?.track ?? []);
  return (workedOn(kind, tracks) ?? -Infinity) >= sinceMs;
}

/** Reports whether a pod leads, as its metrics say. */
export function leadsByMetrics({ metrics }: ObservedPod): boolean {
  return metrics?.track.isLeader === true;
}

/** Reports whether requests of the pod are refused: its work cannot succeed then, and a restart does not change that. */
export function isRefusedWork({ pod, sinceMs }: IdlePod, nowMs: number): boolean {
  const { track: { requests } = {}, epochMs = 0 } = pod.metrics ?? {};
  if (epochMs + (requests?.refusedMs ?? -Infinity) >= sinceMs) return true;
  return pod.logs.some(
    ({ has401, topics }) =>
      has401 ||
      Array.from(topics).some(([topic, trace]) => {
        return (topic === REFUSED_WRITE || deniedOf(topic) !== undefined) && isRecent(trace, nowMs);
      }),
  );
}

/** Reports whether another pod works since a restart: it has finished items, and each of its queues that has items has finished some. */
export function worksSince(pod: ObservedPod, entry: RestartStatus): boolean {
  const { view, metrics } = pod;
  if (metrics === undefined || view.uid === entry.podUID || !view.ready || idlePod(pod) !== undefined) return false;
  const { track, epochMs } = metrics;
  // A standby has taken over, or the pod is a successor.
  const isNew =
    isCreatedAfter(view.createdAtMs, entry) || (track.isLeader === true && isSeenAfter(epochMs + track.fromMs, entry));
  const queues = [...track.queues.values()];
  const isMoving =
    queues.some(({ done }) => done > 0) && queues.every(({ done, depth = 0 }) => done > 0 || depth === 0);
  return isNew && track.isLeader !== false && isMoving;
}
