import type { StallStatus } from "../../api/controller-resilience";
import type { DueObject, KindQuestion, KindReading } from "../../core/progress";
import { CLOCK_SKEW_MS, formatDuration, parseDuration, timeInMessage } from "../../core/time";
import { DueError } from "../../evidence/progress/due";
import { type Case, judgeKind, MAX_AGE_MS, untilStuckMs } from "../../evidence/progress/judge";
import { type ProgressEntry, questionOf } from "../../evidence/progress/question";
import { deniedOf, REFUSED_WRITE } from "../../logs/traces";
import { workloadId } from "../../restarts/claims";
import { otherRenewed } from "./lease-judge";
import { isRecent } from "./logs";
import { hasWorked, leadsByMetrics } from "./metrics";
import type { ObservedKind, ObservedPod, ObservedWorkload, Pass, Scope } from "./observed";

// Which kinds the controllers should handle, and whether work is due while nothing moves. What is done about it is decided with their metrics.

/** Reads the kinds of the spec, all at once: a first reading may take a while. */
export async function readKinds(workloads: readonly ObservedWorkload[], pass: Pass): Promise<ObservedKind[]> {
  const { spec, readers, problems } = pass;
  const entries = spec.evidence.includes("Progress") ? (spec.progress ?? []) : [];
  const asked = entries.flatMap(entry => {
    const question = questionIn(entry, pass);
    return question === undefined ? [] : [{ entry, question }];
  });
  const read = await Promise.all(
    asked.map(async ({ entry, question }) => ({ entry, reading: fresh(entry, await readers.kind(question), readers) })),
  );
  problems.push(...read.flatMap(({ reading: { unknown } }) => unknown ?? []));
  const nowMs = readers.clock.monotonicMs();
  return read.map(({ entry: { kind, for: duration }, reading }) => {
    return { kind, forMs: parseDuration(duration), reading, nowMs, ...handlerOf(workloads, reading, pass) };
  });
}

/** A reading that is too old to be judged is no reading: what is not known must not pass for healthy. */
function fresh({ kind }: ProgressEntry, reading: KindReading, { clock }: Pass["readers"]): KindReading {
  const nowMs = clock.monotonicMs();
  if (nowMs - (reading.readMs ?? nowMs) <= MAX_AGE_MS || reading.unknown !== undefined) return reading;
  const message = `the objects of kind ${kind} could not be listed for more than ${formatDuration(MAX_AGE_MS)}`;
  return { ...reading, unknown: { forbidden: false, message } };
}

function questionIn(entry: ProgressEntry, { problems }: Pass): KindQuestion | undefined {
  try {
    return questionOf(entry);
  } catch (error) {
    if (!(error instanceof DueError)) throw error;
    problems.push({ forbidden: false, message: error.message });
    return undefined;
  }
}

/**
 * The workload that handles the kinds: the only one, or the first with a pod that renews a Lease. If neither shows, each of them may be it, so
 * all have to be able to work.
 */
function handlerOf(
  workloads: readonly ObservedWorkload[],
  { resource = "" }: KindReading,
  { spec, readers: { clock }, memory }: Pass,
): Pick<ObservedKind, "owner" | "ableForMs" | "isRefused"> {
  const nowMs = clock.now().getTime();
  const forMs = parseDuration(spec.for);
  const isLeader = (pod: ObservedPod): boolean => leadsByMetrics(pod) || otherRenewed(pod.leases, forMs) !== undefined;
  const leading = workloads.find(({ pods }) => pods.some(isLeader));
  const candidates = leading === undefined ? workloads : [leading];
  const ableOf = (pod: ObservedPod): number => {
    const heldFromMs = Math.max(...pod.leases.map(({ track }) => track.heldFromMs));
    return Math.min(memory.able.ofMs(pod.view, clock), nowMs - heldFromMs);
  };
  const ableForMs = candidates.map(({ pods }) => {
    const leaders = pods.filter(isLeader);
    return Math.max(0, ...(leaders.length === 0 ? pods : leaders).map(ableOf));
  });
  const pods = candidates.flatMap(one => one.pods);
  return {
    owner: candidates[0]?.view.uid,
    ableForMs: Math.min(...ableForMs, Infinity),
    isRefused: pods.some(pod => isRefused(pod, resource, nowMs)),
  };
}

/** Admission, a quota or missing rights keep it from writing: a webhook may refuse each write of a status. */
function isRefused({ logs }: ObservedPod, resource: string, nowMs: number): boolean {
  const isOfKind = (topic: string): boolean => deniedOf(topic)?.resource.split("/")[0] === resource;
  const topics = logs.flatMap(log => Array.from(log.topics));
  return topics.some(([topic, trace]) => (topic === REFUSED_WRITE || isOfKind(topic)) && isRecent(trace, nowMs));
}

/** A kind whose controller does not do its work. */
export interface StuckKind {
  readonly object: DueObject;
  /** As in status. */
  readonly id: string;
  readonly sentence: string;
  /** For how long this process has seen it. */
  readonly stillMs: number;
}

/** Returns what is stuck of the kinds that a workload handles. */
export function stuckKinds(scope: Scope): StuckKind[] {
  return kindsOf(scope).flatMap(one => {
    // Work on any object of the kind is as good as a status that changes.
    const isInnocent = one.isRefused || hasWorked(one.kind, scope.workload.pods, one.nowMs - one.forMs);
    const stuck = isInnocent ? undefined : judgeKind(caseOf(one, scope));
    if (stuck === undefined) return [];
    const { object, others, stillMs } = stuck;
    const id = objectId(one.kind, object, scope);
    return [{ object, id, stillMs, sentence: describeStuck(one, { object, others }, scope) }];
  });
}

/** What the operator cannot tell of kinds. */
export function notesOnKinds(scope: Scope): string[] {
  return kindsOf(scope).flatMap(({ kind, reading, isRefused: refused }) => {
    const { unanswered, due } = reading;
    if (unanswered !== undefined) return [`due of ${kind} fits no object, such as ${unanswered}.`];
    if (!refused || due.length === 0) return [];
    const why = `The log of ${workloadId(scope.workload.view)} shows that its writes are refused`;
    return [`${why}, so it proves nothing that objects of kind ${kind} are due.`];
  });
}

/** Reports whether an object of a kind that the workload handles has moved since then, in wall-clock time. */
export function hasMovedSince(ms: number, scope: Scope): boolean {
  return kindsOf(scope).some(({ reading: { epochMs, movedMs } }) => epochMs + movedMs >= ms);
}

/** When a pass should follow, in milliseconds. */
export function kindWaits(scope: Scope): number[] {
  const waits = kindsOf(scope).map(one => untilStuckMs(caseOf(one, scope)));
  return waits.filter(ms => ms !== undefined && ms > 0) as number[];
}

/** Entries of status about kinds that can't be read now: a later reading begins with them. */
export function isKept({ object = "" }: StallStatus, kinds: readonly ObservedKind[]): boolean {
  const isUnread = ({ readMs, unknown }: KindReading): boolean => readMs === undefined || unknown !== undefined;
  return kinds.some(({ kind, reading }) => isUnread(reading) && object.startsWith(`${kind} `));
}

function kindsOf({ observed, workload }: Scope): ObservedKind[] {
  return observed.kinds.filter(({ owner }) => owner === workload.view.uid);
}

function caseOf({ kind, reading, nowMs, forMs, ableForMs }: ObservedKind, scope: Scope): Case {
  const known = scope.observed.previous.filter(({ evidence }) => evidence === "Progress");
  const wasAccused = (object: DueObject): boolean => {
    const id = objectId(kind, object, scope);
    // Since then another of the same name may have come, or while no operator looked its controller may have worked again.
    const lastMs = Math.max(object.createdMs ?? 0, reading.writtenMs - CLOCK_SKEW_MS);
    return known.some(entry => entry.object === id && lastMs <= Date.parse(entry.since));
  };
  return { reading, nowMs, forMs, ableForMs, wasAccused };
}

function objectId(kind: string, { namespace, name }: DueObject, { workload }: Scope): string {
  return `${kind} ${namespace === "" || namespace === workload.view.namespace ? name : `${namespace}/${name}`}`;
}

function describeStuck(
  { kind, reading }: ObservedKind,
  { object, others }: { readonly object: DueObject; readonly others: number },
  scope: Scope,
): string {
  const at = (ms: number): string => timeInMessage(reading.epochMs + ms);
  const { generation, observed, dueMs } = object;
  const seen =
    generation === undefined || observed === undefined ? "" : ` (generation ${generation}, observed ${observed})`;
  const more = others === 0 ? " is" : `, and ${others} more are`;
  const sinceMs = reading.movedMs === -Infinity ? reading.steadyMs : reading.movedMs;
  return `${objectId(kind, object, scope)}${seen}${more} due since ${at(dueMs)}; no ${kind} moved since ${at(sinceMs)}.`;
}
