import type { StallStatus } from "../../api/controller-resilience";
import type { DueObject, KindQuestion, KindReading } from "../../core/progress";
import { CLOCK_SKEW_MS, parseDuration, timeInMessage } from "../../core/time";
import { DueError } from "../../evidence/progress/due";
import { type Case, judgeKind, type Stuck } from "../../evidence/progress/judge";
import { type ProgressEntry, questionOf } from "../../evidence/progress/question";
import { deniedOf, REFUSED_WRITE } from "../../logs/traces";
import { workloadId } from "../../restarts/claims";
import { isRecent } from "./logs";
import { hasQueueOf, lastWorkMs } from "./metrics";
import type { ObservedKind, ObservedPod, ObservedWorkload, Pass, Scope } from "./observed";

// Which kinds the controllers should handle, and whether work is due while nothing moves. What is done about it is decided with their metrics.

/** Reads the kinds of the spec, all at once: a first reading may take a while. */
export async function readKinds(workloads: readonly ObservedWorkload[], pass: Pass): Promise<ObservedKind[]> {
  const { spec, readers, problems } = pass;
  const asked = (spec.progress ?? []).flatMap(entry => {
    const question = questionIn(entry, pass);
    return question === undefined ? [] : [{ entry, question }];
  });
  const read = await Promise.all(
    asked.map(async ({ entry, question }) => ({ entry, reading: await readers.kind(question) })),
  );
  problems.push(...read.flatMap(({ reading: { unknown } }) => unknown ?? []));
  const nowMs = readers.clock.monotonicMs();
  return read.map(({ entry: { kind, for: duration }, reading }) => {
    return { kind, forMs: parseDuration(duration), reading, nowMs, ...handlersOf(workloads, kind, reading, pass) };
  });
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

/** The workload with a queue that is named after the kind handles it. If none or several have one, each may, so all have to be able to work. */
function handlersOf(
  workloads: readonly ObservedWorkload[],
  kind: string,
  { resource = "", writtenMs }: KindReading,
  { readers: { clock }, memory }: Pass,
): Pick<ObservedKind, "owners" | "ableForMs" | "isRefused" | "isHandled"> {
  const nowMs = clock.now().getTime();
  const shown = workloads.filter(workload => hasQueueOf(kind, workload));
  const owners = shown.length > 0 ? shown : workloads;
  const ableOf = (pod: ObservedPod): number => {
    const heldFromMs = Math.max(...pod.leases.map(({ track }) => track.heldFromMs));
    return Math.min(memory.able.ofMs(pod.view, clock), nowMs - heldFromMs);
  };
  const leaders = owners.map(({ pods }) => pods.filter(pod => pod.leads));
  return {
    owners,
    ableForMs: Math.min(...leaders.map(pods => Math.max(0, ...pods.map(ableOf))), Infinity),
    isRefused: owners.some(({ pods }) => pods.some(pod => isRefused(pod, resource, nowMs))),
    // Both times are the API server's, in whole seconds.
    isHandled: leaders.flat().every(({ view }) => writtenMs > view.createdAtMs),
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
  readonly kind: string;
  /** The object that has been due for the longest time, as in status. */
  readonly id: string;
  readonly sentence: string;
  /** No other workload may handle it. */
  readonly isOwnWork: boolean;
}

/** Returns what is stuck of the kinds that a workload handles. */
export function stuckKinds(scope: Scope): StuckKind[] {
  return kindsOf(scope).flatMap(one => {
    const { kind, owners } = one;
    const stuck = one.isRefused ? undefined : judgeKind(caseOf(one, scope));
    if (stuck === undefined) return [];
    const id = objectId(kind, stuck.object, scope);
    return [{ kind, id, isOwnWork: owners.length === 1, sentence: describeStuck(one, stuck, scope) }];
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

/** Entries of status about kinds that can't be read now: a later reading begins with them. */
export function isKept({ object = "" }: StallStatus, kinds: readonly ObservedKind[]): boolean {
  const isUnread = ({ readMs, unknown }: KindReading): boolean => readMs === undefined || unknown !== undefined;
  return kinds.some(({ kind, reading }) => isUnread(reading) && object.startsWith(`${kind} `));
}

function kindsOf({ observed, workload }: Scope): ObservedKind[] {
  return observed.kinds.filter(({ owners }) => owners[0]?.view.uid === workload.view.uid);
}

function caseOf(one: ObservedKind, scope: Scope): Case {
  const { kind, reading, nowMs, forMs, ableForMs, isHandled, owners } = one;
  const known = scope.observed.previous.filter(({ evidence }) => evidence === "Progress");
  const wasAccused = (object: DueObject): boolean => {
    const id = objectId(kind, object, scope);
    // Since then another of the same name may have come, or while no operator looked its controller may have worked again.
    const lastMs = Math.max(object.createdMs ?? 0, reading.writtenMs - CLOCK_SKEW_MS);
    return known.some(entry => entry.object === id && lastMs <= Date.parse(entry.since));
  };
  const pods = owners.flatMap(owner => owner.pods);
  return { reading, nowMs, forMs, ableForMs, isHandled, workedMs: lastWorkMs(kind, pods), wasAccused };
}

function objectId(kind: string, { namespace, name }: DueObject, { workload }: Scope): string {
  return `${kind} ${namespace === "" || namespace === workload.view.namespace ? name : `${namespace}/${name}`}`;
}

/** Without the number of the others, which may grow with each reading. */
function describeStuck({ kind, reading, owners }: ObservedKind, { object, hasOthers }: Stuck, scope: Scope): string {
  const at = (ms: number): string => timeInMessage(scope.observed.epochMs + ms);
  const { generation, observed, dueMs } = object;
  const seen =
    generation === undefined || observed === undefined ? "" : ` (generation ${generation}, observed ${observed})`;
  const are = hasOthers ? " and others are" : " is";
  const moved = at(reading.movedMs === -Infinity ? dueMs : reading.movedMs);
  const [first, ...rest] = owners.map(({ view }) => workloadId(view));
  const whose = rest.length === 0 ? "" : ` ${first ?? ""} or ${rest.join(" or ")} should handle it.`;
  return `${objectId(kind, object, scope)}${seen}${are} due since ${at(dueMs)}; no ${kind} moved since ${moved}.${whose}`;
}
