import { type DueObject, guessResource, type KindReading, UNREAD_KIND } from "../../core/progress";
import { workloadId } from "../../core/text";
import { CLOCK_SKEW_MS, parseDuration, timeInMessage } from "../../core/time";
import {
  isOfKind,
  type QueueFinding,
  STUCK_MS,
  stuckQueues,
  stuckWorkers,
  watchesDeadSince,
  workedOn,
} from "../../evidence/metrics/judge";
import { DueError, type ProgressEntry, questionOf } from "../../evidence/progress/due";
import { judgeKind } from "../../evidence/progress/judge";
import { deniedOf, REFUSED_WRITE } from "../../logs/traces";
import { isRunning } from "./lease-judge";
import type { IdlePod, ObservedKind, ObservedPod, ObservedWorkload, Pass, Scope } from "./observed";
import { accuse, note, type Sign } from "./reasons";

// What the metrics of the pods show: one that does nothing while it has work, or sees none; and work that speaks against the evidence Progress.

/**
 * Adds to each pod what it says of itself, whether it leads, and what its metrics show if it does. A pod that does not say whether it leads is a standby
 * while another one of its workload does: it may have led before, and keep a full queue. While Leases are not known, another one may lead unseen. A
 * failure is said once: all pods serve the same.
 */
export function withMetrics(
  pods: readonly Omit<ObservedPod, "track" | "leads" | "idle">[],
  { epochMs, areLeasesKnown }: { readonly epochMs: number; readonly areLeasesKnown: boolean },
  { spec: { metrics }, readers, problems }: Pass,
): ObservedPod[] {
  const read = pods.map(pod => ({ ...pod, ...(metrics && readers.podMetrics(pod.view, metrics)) }));
  problems.push(...read.flatMap(({ unknown }) => unknown ?? []).slice(0, 1));
  const shown = ({ track, leases }: (typeof read)[number]): boolean =>
    track?.isLeader ?? leases.some(({ renewed }) => renewed !== undefined);
  const isLed = read.some(shown);
  return read.map(pod => {
    const leads = shown(pod) || (!isLed && pod.track?.isLeader !== false);
    const isCertain = shown(pod) || areLeasesKnown || read.length === 1;
    return { ...pod, leads, idle: leads && isCertain ? idleOf(pod, epochMs) : undefined };
  });
}

/** Returns the worst that the metrics of a pod that leads show. Undefined: nothing. */
function idleOf({ view, track }: Pick<ObservedPod, "view" | "track">, epochMs: number): IdlePod | undefined {
  if (track === undefined || !isRunning(view)) return undefined;
  const [stuck, ...more] = stuckQueues(track);
  if (stuck !== undefined) {
    const sentence = describeQueue(stuck, { more: more.length, pod: view.name, epochMs });
    return { reason: "QueueStuck", sinceMs: epochMs + stuck.sinceMs, sentence, hasWork: stuck.depth !== undefined };
  }
  const deadMs = watchesDeadSince(track);
  if (deadMs === undefined) return undefined;
  const sinceMs = epochMs + deadMs;
  const sentence = `Pod ${view.name} renews its Lease and has sent no GET since ${describeSince(sinceMs)}, so it sees no change.`;
  return { reason: "WatchesDead", sinceMs, sentence, hasWork: false };
}

/** What the metrics show. That one worker of a pod that works is stuck is a warning, and no stall. */
export function signsOfMetrics(scope: Scope): Sign[] {
  return scope.pods.flatMap(({ view, track, leads, idle }): Sign[] => {
    if (idle !== undefined) return [accuse(idle.reason, { pod: view.name, podUID: view.uid }, idle.sentence, scope)];
    const [stuck] = track !== undefined && leads && isRunning(view) ? stuckWorkers(track) : [];
    if (stuck === undefined) return [];
    const since = describeSince(scope.observed.epochMs + stuck.sinceMs);
    const sentence = `A worker of queue ${stuck.queue} of pod ${view.name} has been busy with one item since ${since}.`;
    return [{ status: "True", reason: "WorkerStuck", sentence, isNotable: true }];
  });
}

function describeQueue(
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
function describeQueueOf(kind: string, { pods, observed: { epochMs } }: Scope): string {
  const sentences = pods.flatMap(({ view: { name: pod }, track, idle }) => {
    const queues = idle === undefined ? [...(track?.queues ?? [])] : [];
    const [waits] = queues.filter(([queue, { depth }]) => isOfKind(queue, kind) && depth > 0);
    if (waits === undefined) return [];
    const [queue, { depth, done }] = waits;
    return ` ${describeQueue({ queue, depth, sinceMs: done.stillFromMs }, { more: 0, pod, epochMs })}`;
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

/** Reports whether requests of a pod were refused in the last quarter of an hour: its work cannot succeed then, and a restart does not change that. */
export function isRefusedWork({ track, logs }: ObservedPod): boolean {
  const { readMs = NaN, requests } = track ?? {};
  if (requests?.refused.hasChanged === true && readMs - requests.refused.stillFromMs < STUCK_MS) return true;
  return logs.has401 || logs.recent.some(topic => topic === REFUSED_WRITE || deniedOf(topic) !== undefined);
}

// Which kinds the controllers should handle, and whether work is due while nothing moves. What is done about it is decided with their metrics.

/** Reads the kinds of the spec, all at once: a first reading may take a while. */
export async function readKinds(workloads: readonly ObservedWorkload[], pass: Pass): Promise<ObservedKind[]> {
  const { spec, readers, problems } = pass;
  const read = await Promise.all((spec.progress ?? []).map(entry => readKind(entry, readers)));
  problems.push(...read.flatMap(({ reading: { unknown } }) => unknown ?? []));
  return read.map(one => observedKind(one, workloads, pass));
}

/** An entry of the spec, and what was read of its kind. */
type ReadKind = ProgressEntry & { readonly reading: KindReading };

async function readKind(entry: ProgressEntry, readers: Pass["readers"]): Promise<ReadKind> {
  try {
    return { ...entry, reading: await readers.kind(questionOf(entry)) };
  } catch (error) {
    if (!(error instanceof DueError)) throw error;
    return { ...entry, reading: { ...UNREAD_KIND, unknown: { forbidden: false, message: error.message } } };
  }
}

/** The workload with a queue that is named after the kind handles it. If none or several have one, each may, so all have to be able to work. */
function observedKind(
  { kind, for: duration, reading }: ReadKind,
  workloads: readonly ObservedWorkload[],
  { object, readers: { clock }, memory }: Pass,
): ObservedKind {
  const nowMs = clock.now().getTime();
  const hasQueue = ({ track }: ObservedPod): boolean =>
    [...(track?.queues.keys() ?? [])].some(name => isOfKind(name, kind));
  const shown = workloads.filter(workload => workload.pods.some(hasQueue));
  const owners = shown.length > 0 ? shown : workloads;
  const pods = owners.flatMap(owner => owner.pods);
  if (pods.some(pod => isRefused(pod, kind))) return { kind, reading, owners, isRefused: true };
  const ableOf = (pod: ObservedPod): number => {
    const heldFromMs = Math.max(...pod.leases.map(({ track }) => track.heldFromMs));
    return Math.min(memory.able.ofMs(pod.view, clock), nowMs - heldFromMs);
  };
  const leaders = owners.map(owner => owner.pods.filter(pod => pod.leads));
  const tracks = pods.flatMap(({ track }) => track ?? []);
  const verdict = judgeKind({
    ...{ reading, forMs: parseDuration(duration), nowMs: clock.monotonicMs(), workedMs: workedOn(kind, tracks) },
    ableForMs: Math.min(...leaders.map(leading => Math.max(0, ...leading.map(ableOf))), Infinity),
    // Both times are the API server's, in whole seconds.
    isHandled: leaders.flat().every(({ view }) => reading.writtenMs > view.createdAtMs),
    wasAccused: due => wasAccused(due, { kind, writtenMs: reading.writtenMs }, object),
  });
  return { kind, reading, owners, isRefused: false, ...verdict };
}

/** Since then another of the same name may have come, or while no operator looked its controller may have worked again. */
function wasAccused(
  due: DueObject,
  { kind, writtenMs }: { readonly kind: string; readonly writtenMs: number },
  { metadata, status }: Pass["object"],
): boolean {
  const id = objectId(kind, due, metadata.namespace);
  const lastMs = Math.max(due.createdMs ?? 0, writtenMs - CLOCK_SKEW_MS);
  const known = status?.stalls ?? [];
  return known.some(one => one.evidence === "Progress" && one.object === id && lastMs <= Date.parse(one.since));
}

/** Admission, a quota or missing rights keep it from writing: a webhook may refuse each write of a status. */
function isRefused({ logs: { recent } }: ObservedPod, kind: string): boolean {
  const isOfKind = (topic: string): boolean => deniedOf(topic)?.resource.split("/")[0] === guessResource(kind);
  return recent.some(topic => topic === REFUSED_WRITE || isOfKind(topic));
}

/** Reports whether work is due that no other workload may handle. */
export function hasOwnWork(scope: Scope): boolean {
  return kindsOf(scope).some(({ stuck, owners }) => stuck !== undefined && owners.length === 1);
}

/** What the kinds show that a workload handles: of each the object that has been due for the longest time. */
export function signsOfKinds(scope: Scope): Sign[] {
  return kindsOf(scope).flatMap((one): Sign[] => {
    const { kind, reading, isRefused: refused, stuck, unproven } = one;
    const { unanswered, due } = reading;
    const idOf = (object: DueObject): string => objectId(kind, object, scope.view.namespace);
    if (stuck !== undefined) {
      const object = idOf(stuck);
      const sentence = object + describeDue(stuck, one, scope) + describeQueueOf(kind, scope);
      return [accuse("ProgressStopped", { object }, sentence, scope)];
    }
    if (unanswered !== undefined) {
      const why = "it fails, or a field that it names is missing";
      return [note(`due of ${kind} has no answer for any object, such as ${unanswered}: ${why}.`)];
    }
    if (unproven !== undefined) {
      const since = timeInMessage(scope.observed.epochMs + unproven.dueMs);
      const why = `which proves nothing: no controller was seen to handle a ${kind}`;
      return [note(`${idOf(unproven)} is due since ${since}, ${why}.`)];
    }
    if (!refused || due.length === 0) return [];
    const why = `The log of ${scope.id} shows that its writes are refused`;
    return [note(`${why}, so it proves nothing that objects of kind ${kind} are due.`)];
  });
}

function kindsOf({ observed, view }: Scope): ObservedKind[] {
  return observed.kinds.filter(({ owners }) => owners[0]?.view.uid === view.uid);
}

function objectId(kind: string, { namespace, name }: DueObject, own: string): string {
  return `${kind} ${namespace === "" || namespace === own ? name : `${namespace}/${name}`}`;
}

/** Without the number of the others, which may grow with each reading. */
function describeDue(
  { generation, observed, dueMs }: DueObject,
  { kind, reading, owners, hasOthers = false }: ObservedKind,
  { observed: { epochMs } }: Scope,
): string {
  const isCounted = generation !== undefined && observed !== undefined;
  const seen = isCounted ? ` (generation ${generation}, observed ${observed})` : "";
  const since = timeInMessage(epochMs + dueMs);
  const orEarlier = dueMs === reading.steadyMs ? " or earlier" : "";
  // The clock of the API server tells of times before this process.
  const times = [epochMs + reading.movedMs, reading.writtenMs, epochMs + dueMs];
  const moved = timeInMessage(times.find(ms => ms > -Infinity) ?? dueMs);
  const [first, ...rest] = owners.map(({ view }) => workloadId(view));
  const whose = rest.length === 0 ? "" : ` ${first ?? ""} or ${rest.join(" or ")} should handle it.`;
  return `${seen}${hasOthers ? " and others are" : " is"} due since ${since}${orEarlier}; no ${kind} moved since ${moved}.${whose}`;
}
