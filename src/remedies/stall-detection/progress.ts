import { type DueObject, guessResource, type KindQuestion, type KindReading } from "../../core/progress";
import { CLOCK_SKEW_MS, parseDuration, timeInMessage } from "../../core/time";
import { workloadId } from "../../core/text";
import { judgeKind, type Stuck } from "../../evidence/progress/judge";
import { DueError, type ProgressEntry, questionOf } from "../../evidence/progress/due";
import { deniedOf, REFUSED_WRITE } from "../../logs/traces";
import { workedOn } from "../../evidence/metrics/judge";
import { hasRecent } from "./logs";
import { describeQueueOf, hasQueueOf } from "./metrics";
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
  return read.map(({ entry: { kind, for: duration }, reading }) =>
    observedKind({ kind, forMs: parseDuration(duration), reading }, workloads, pass),
  );
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
function observedKind(
  { kind, forMs, reading }: { readonly kind: string; readonly forMs: number; readonly reading: KindReading },
  workloads: readonly ObservedWorkload[],
  { object, readers: { clock }, memory }: Pass,
): ObservedKind {
  const nowMs = clock.now().getTime();
  const shown = workloads.filter(workload => hasQueueOf(kind, workload));
  const owners = shown.length > 0 ? shown : workloads;
  const pods = owners.flatMap(owner => owner.pods);
  if (pods.some(pod => isRefused(pod, guessResource(kind), nowMs))) return { kind, reading, owners, isRefused: true };
  const ableOf = (pod: ObservedPod): number => {
    const heldFromMs = Math.max(...pod.leases.map(({ track }) => track.heldFromMs));
    return Math.min(memory.able.ofMs(pod.view, clock), nowMs - heldFromMs);
  };
  const leaders = owners.map(owner => owner.pods.filter(pod => pod.leads));
  const tracks = pods.flatMap(({ track }) => track ?? []);
  const verdict = judgeKind({
    ...{ reading, forMs, nowMs: clock.monotonicMs(), workedMs: workedOn(kind, tracks) },
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
function isRefused({ logs }: ObservedPod, resource: string, nowMs: number): boolean {
  const isOfKind = (topic: string): boolean => deniedOf(topic)?.resource.split("/")[0] === resource;
  return logs.some(log => hasRecent(log, topic => topic === REFUSED_WRITE || isOfKind(topic), nowMs));
}

/** Returns what is stuck of the kinds that a workload handles: the object that has been due for the longest time, as in status. */
export function stuckKinds(scope: Scope): { readonly id: string; readonly sentence: string }[] {
  return kindsOf(scope).flatMap(one => {
    const { kind, stuck } = one;
    if (stuck === undefined) return [];
    const id = objectId(kind, stuck.object, scope.workload.view.namespace);
    return [{ id, sentence: describeStuck(one, { ...stuck, id }, scope) + describeQueueOf(kind, scope) }];
  });
}

/** Reports whether work is due that no other workload may handle. */
export function hasOwnWork(scope: Scope): boolean {
  return kindsOf(scope).some(({ stuck, owners }) => stuck !== undefined && owners.length === 1);
}

/** What the operator cannot tell of kinds. */
export function notesOnKinds(scope: Scope): string[] {
  return kindsOf(scope).flatMap(({ kind, reading, isRefused: refused, unproven }) => {
    const { unanswered, due } = reading;
    if (unanswered !== undefined) return [`due of ${kind} fits no object, such as ${unanswered}.`];
    if (unproven !== undefined) {
      const id = objectId(kind, unproven, scope.workload.view.namespace);
      const since = timeInMessage(scope.observed.epochMs + unproven.dueMs);
      return [`${id} is due since ${since}, which proves nothing: no controller was seen to handle a ${kind}.`];
    }
    if (!refused || due.length === 0) return [];
    const why = `The log of ${workloadId(scope.workload.view)} shows that its writes are refused`;
    return [`${why}, so it proves nothing that objects of kind ${kind} are due.`];
  });
}

function kindsOf({ observed, workload }: Scope): ObservedKind[] {
  return observed.kinds.filter(({ owners }) => owners[0]?.view.uid === workload.view.uid);
}

function objectId(kind: string, { namespace, name }: DueObject, own: string): string {
  return `${kind} ${namespace === "" || namespace === own ? name : `${namespace}/${name}`}`;
}

/** Without the number of the others, which may grow with each reading. */
function describeStuck(
  { kind, reading, owners }: ObservedKind,
  { id, object, hasOthers }: Stuck & { readonly id: string },
  scope: Scope,
): string {
  const at = (ms: number): string => timeInMessage(scope.observed.epochMs + ms);
  const { generation, observed, dueMs } = object;
  const seen =
    generation === undefined || observed === undefined ? "" : ` (generation ${generation}, observed ${observed})`;
  const are = hasOthers ? " and others are" : " is";
  const { movedMs, writtenMs, steadyMs } = reading;
  // The clock of the API server tells of times before this process.
  const moved = movedMs > -Infinity ? at(movedMs) : writtenMs > -Infinity ? timeInMessage(writtenMs) : at(dueMs);
  const orEarlier = dueMs === steadyMs ? " or earlier" : "";
  const [first, ...rest] = owners.map(({ view }) => workloadId(view));
  const whose = rest.length === 0 ? "" : ` ${first ?? ""} or ${rest.join(" or ")} should handle it.`;
  return `${id}${seen}${are} due since ${at(dueMs)}${orEarlier}; no ${kind} moved since ${moved}.${whose}`;
}
