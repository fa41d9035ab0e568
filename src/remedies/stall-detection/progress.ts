import { type DueObject, guessResource, type KindReading, UNREAD_KIND } from "../../core/progress";
import { CLOCK_SKEW_MS, parseDuration, timeInMessage } from "../../core/time";
import { workloadId } from "../../core/text";
import { judgeKind } from "../../evidence/progress/judge";
import { DueError, type ProgressEntry, questionOf } from "../../evidence/progress/due";
import { deniedOf, REFUSED_WRITE } from "../../logs/traces";
import { workedOn } from "../../evidence/metrics/judge";
import { describeQueueOf, hasQueueOf } from "./metrics";
import type { ObservedKind, ObservedPod, ObservedWorkload, Pass, Scope } from "./observed";

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
  const shown = workloads.filter(workload => hasQueueOf(kind, workload));
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

/** Returns what is stuck of the kinds that a workload handles: the object that has been due for the longest time, as in status. */
export function stuckKinds(scope: Scope): { readonly id: string; readonly sentence: string }[] {
  return kindsOf(scope).flatMap(({ stuck, ...one }) => {
    if (stuck === undefined) return [];
    const id = objectId(one.kind, stuck, scope.view.namespace);
    return [{ id, sentence: id + describeStuck(stuck, one, scope) + describeQueueOf(one.kind, scope) }];
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
      const id = objectId(kind, unproven, scope.view.namespace);
      const since = timeInMessage(scope.observed.epochMs + unproven.dueMs);
      return [`${id} is due since ${since}, which proves nothing: no controller was seen to handle a ${kind}.`];
    }
    if (!refused || due.length === 0) return [];
    const why = `The log of ${scope.id} shows that its writes are refused`;
    return [`${why}, so it proves nothing that objects of kind ${kind} are due.`];
  });
}

function kindsOf({ observed, view }: Scope): ObservedKind[] {
  return observed.kinds.filter(({ owners }) => owners[0]?.view.uid === view.uid);
}

function objectId(kind: string, { namespace, name }: DueObject, own: string): string {
  return `${kind} ${namespace === "" || namespace === own ? name : `${namespace}/${name}`}`;
}

/** Without the number of the others, which may grow with each reading. */
function describeStuck(
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
