import { timeInMessage } from "../../core/time";
import {
  isOfKind,
  type QueueFinding,
  STUCK_MS,
  stuckQueues,
  stuckWorkers,
  watchesDeadSince,
} from "../../evidence/metrics/judge";
import { deniedOf, REFUSED_WRITE } from "../../logs/traces";
import { isRunning, otherRenewed } from "./lease-judge";
import type { IdlePod, ObservedPod, ObservedWorkload, Pass, Scope } from "./observed";
import type { Finding } from "./reasons";

// What the metrics of the pods show: one that does nothing while it has work, or sees none; and work that speaks against the evidence Progress.

/**
 * Adds to each pod what it says of itself, whether it leads, and what its metrics show if it does. A pod that does not say whether it leads is a standby
 * while another one of its workload does: it may have led before, and keep a full queue. A failure is said once: all pods serve the same.
 */
export function withMetrics(
  pods: readonly Omit<ObservedPod, "track" | "leads" | "idle">[],
  epochMs: number,
  { spec: { metrics }, readers, problems }: Pass,
): ObservedPod[] {
  const read = pods.map(pod => ({ ...pod, ...(metrics && readers.podMetrics(pod.view, metrics)) }));
  problems.push(...read.flatMap(({ unknown }) => unknown ?? []).slice(0, 1));
  const shown = ({ track, leases }: (typeof read)[number]): boolean =>
    track?.isLeader ?? otherRenewed(leases) !== undefined;
  const isLed = read.some(shown);
  return read.map(pod => {
    const leads = shown(pod) || (!isLed && pod.track?.isLeader !== false);
    return { ...pod, leads, idle: leads ? idleOf(pod, epochMs) : undefined };
  });
}

/** Returns the worst that the metrics of a pod that leads show. Undefined: nothing. */
function idleOf({ view, track }: Pick<ObservedPod, "view" | "track">, epochMs: number): IdlePod | undefined {
  if (track === undefined || !isRunning(view)) return undefined;
  const [stuck, ...more] = stuckQueues(track);
  if (stuck !== undefined) {
    const sentence = describeStuck(stuck, { more: more.length, pod: view.name, epochMs });
    return { reason: "QueueStuck", sinceMs: epochMs + stuck.sinceMs, sentence, hasWork: stuck.depth !== undefined };
  }
  const deadMs = watchesDeadSince(track);
  if (deadMs === undefined) return undefined;
  const sinceMs = epochMs + deadMs;
  const sentence = `Pod ${view.name} renews its Lease and has sent no GET since ${describeSince(sinceMs)}, so it sees no change.`;
  return { reason: "WatchesDead", sinceMs, sentence, hasWork: false };
}

/** Says of pods that work that one of their workers is stuck: a warning, and no stall. */
export function stuckWorkerFindings({ pods, observed: { epochMs } }: Scope): Finding[] {
  return pods.flatMap(({ view, track, leads, idle }): Finding[] => {
    const [stuck] = track !== undefined && leads && idle === undefined && isRunning(view) ? stuckWorkers(track) : [];
    if (stuck === undefined) return [];
    const since = describeSince(epochMs + stuck.sinceMs);
    const sentence = `A worker of queue ${stuck.queue} of pod ${view.name} has been busy with one item since ${since}.`;
    return [{ status: "True", reason: "WorkerStuck", sentence, isNotable: true }];
  });
}

function describeStuck(
  { queue, depth, sinceMs }: QueueFinding,
  { more, pod, epochMs }: { readonly more: number; readonly pod: string; readonly epochMs: number },
): string {
  const others = more === 0 ? "" : `; so are ${more} more of its queues`;
  const since = `${describeSince(epochMs + sinceMs)}${others}`;
  return depth === undefined
    ? `All workers of queue ${queue} of pod ${pod} are busy, and have finished nothing since ${since}.`
    : `Queue ${queue} of pod ${pod} has ${describeDepth(depth)} and has finished none since ${since}.`;
}

/** What waits in the queue of a kind, for the sentence about what is due; empty if nothing does, or another finding says it. */
export function describeQueueOf(kind: string, { pods, observed: { epochMs } }: Scope): string {
  const sentences = pods.flatMap(({ view: { name: pod }, track, idle }) => {
    const queues = idle === undefined ? [...(track?.queues ?? [])] : [];
    const [waits] = queues.filter(([queue, { depth }]) => isOfKind(queue, kind) && depth > 0);
    if (waits === undefined) return [];
    const [queue, { depth, done }] = waits;
    return ` ${describeStuck({ queue, depth, sinceMs: done.stillFromMs }, { more: 0, pod, epochMs })}`;
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

/** Reports whether a pod of the workload has a queue that is named after the kind. */
export function hasQueueOf(kind: string, { pods }: ObservedWorkload): boolean {
  return pods.some(({ track }) => [...(track?.queues.keys() ?? [])].some(queue => isOfKind(queue, kind)));
}

/** Reports whether requests of a pod were refused in the last quarter of an hour: its work cannot succeed then, and a restart does not change that. */
export function isRefusedWork({ track, logs }: ObservedPod): boolean {
  const { readMs = NaN, requests } = track ?? {};
  if (requests?.refused.hasChanged === true && readMs - requests.refused.stillFromMs < STUCK_MS) return true;
  return logs.has401 || logs.recent.some(topic => topic === REFUSED_WRITE || deniedOf(topic) !== undefined);
}
