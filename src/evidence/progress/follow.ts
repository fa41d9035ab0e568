import { arrayOf, canonical, type JsonObject, numberOf, objectOf, textOf, textsOf, timeOf } from "../../core/json";
import {
  type DueObject,
  type KindObject,
  type KindQuestion,
  type KindReading,
  UNREAD_KIND,
  type Work,
} from "../../core/progress";
import { PAUSING_ANNOTATIONS } from "./well-known";

// Follows the objects of one kind from reading to reading: what is due, and what moves. Does not read itself.

/**
 * Returns the metadata of an object; undefined if it has no name. The manager of each field and the time of the last change of its value are in
 * managedFields.
 *
 * @param hasStatus the kind has the subresource `status`
 */
export function kindObject(raw: unknown, hasStatus: boolean): KindObject | undefined {
  const metadata = objectOf(objectOf(raw)["metadata"]);
  const { namespace = "", name, uid, resourceVersion = "" } = textsOf(metadata);
  if (name === undefined || uid === undefined) return undefined;
  const finalizers = arrayOf(metadata["finalizers"]);
  const fields = arrayOf(metadata["managedFields"]).map(objectOf);
  const writes = fields
    .filter(entry => isOfStatus(entry, hasStatus))
    .map(({ manager, operation, time }) => [manager, operation, time]);
  const writtenMs = latest(writes.map(([, , time]) => time));
  const specs = fields.filter(entry => "f:spec" in objectOf(entry["fieldsV1"]) && !isOfStatus(entry, hasStatus));
  const isDeleted = textOf(metadata["deletionTimestamp"]) !== undefined;
  return {
    ...{ namespace, name, uid, resourceVersion, createdMs: timeOf(metadata["creationTimestamp"]) },
    generation: numberOf(metadata["generation"]),
    labels: textsOf(metadata["labels"]),
    isDeleted,
    // Deleting raises the generation, and the object may wait for others to remove their finalizers.
    isPaused: isDeleted || hasPause(textsOf(metadata["annotations"])),
    hasFinalizers: finalizers.length > 0,
    isWritten: fields.length === 0 || writes.length > 0 || finalizers.length > 0,
    // Without managedFields any change may be one of the controller.
    written: fields.length === 0 ? resourceVersion : canonical([writes, finalizers]),
    writtenMs,
    isOutdated: writtenMs > -Infinity && writtenMs < latest(specs.map(({ time }) => time)),
  };
}

function latest(times: readonly unknown[]): number {
  return Math.max(-Infinity, ...times.flatMap(time => timeOf(time) ?? []));
}

function hasPause(annotations: Readonly<Record<string, string>>): boolean {
  return Object.entries(PAUSING_ANNOTATIONS).some(([key, value]) => {
    const found = annotations[key];
    return found !== undefined && (value === null || found === value);
  });
}

/** Reports whether an entry of managedFields is about the status. */
export function isOfStatus(entry: JsonObject, hasStatus: boolean): boolean {
  return hasStatus ? entry["subresource"] === "status" : "f:status" in objectOf(entry["fieldsV1"]);
}

function writesOfStatus(raw: unknown, hasStatus: boolean): JsonObject[] {
  const { managedFields } = objectOf(objectOf(raw)["metadata"]);
  return arrayOf(managedFields)
    .map(objectOf)
    .filter(entry => isOfStatus(entry, hasStatus));
}

/** Returns the field managers of an object's status. Anybody who may write to it chooses the name. */
export function statusWriters(raw: unknown, hasStatus: boolean): string[] {
  return writesOfStatus(raw, hasStatus).flatMap(({ manager }) => textOf(manager) ?? []);
}

/** Reports whether the default definition of due has an answer for an object, by its metadata alone. */
export function isFollowable(raw: unknown, hasStatus: boolean): boolean {
  const statuses = writesOfStatus(raw, hasStatus).map(({ fieldsV1 }) => objectOf(objectOf(fieldsV1)["f:status"]));
  return statuses.some(fields => "f:observedGeneration" in fields);
}

/** An answer for one object. */
interface Answer {
  readonly work: Work;
  readonly observed?: number | undefined;
}

/** An object of a list. Answers are there if the whole object was. */
export interface Listed {
  readonly object: KindObject;
  readonly answers?: ReadonlyMap<Definition, Answer>;
}

/** What is remembered of an object for one definition of due. */
interface WorkTrack extends Answer {
  /** What was answered for. */
  readonly resourceVersion: string;
  readonly generation: number | undefined;
  /** Since when it has been due. */
  readonly dueMs: number | undefined;
  readonly wasDone: boolean;
  /** When its status was last changed, by the clock of the API server. */
  readonly writtenMs: number;
  /** Its status was written between its change and the reading that first showed it due. */
  readonly isLookedAt: boolean;
}

/** A definition of due, what is remembered for it by uid, and the questions that differ in their objects only. */
interface Definition {
  readonly workOf: KindQuestion["workOf"];
  readonly works: Map<string, WorkTrack>;
  /** By id. */
  readonly asked: Map<string, Asked>;
}

/** A question, and when the objects that it selects moved. */
interface Asked {
  readonly question: KindQuestion;
  /** When it was first asked, and last. */
  readonly sinceMs: number;
  wantedMs: number;
  movedMs: number;
  passedMs: number;
}

interface Tracked {
  readonly object: KindObject;
  /** When its status was last seen to change. */
  readonly movedMs: number;
}

/** The objects of one kind. */
export class KindTrack {
  readonly #byDue = new Map<string, Definition>();
  /** By uid; undefined: they were not listed yet. */
  #objects: ReadonlyMap<string, Tracked> | undefined;

  /** The definitions of due that are asked for. */
  get definitions(): readonly string[] {
    return [...this.#byDue.keys()];
  }

  /** Takes a question. Returns false for a new one, which needs a whole list. */
  ask(question: KindQuestion, wantedMs: number): boolean {
    const { id, due, workOf } = question;
    const definition = this.#byDue.get(due) ?? { workOf, works: new Map(), asked: new Map<string, Asked>() };
    this.#byDue.set(due, definition);
    const known = definition.asked.get(id);
    if (known !== undefined) known.wantedMs = wantedMs;
    else definition.asked.set(id, { question, sinceMs: wantedMs, wantedMs, movedMs: -Infinity, passedMs: -Infinity });
    return known !== undefined;
  }

  /** Forgets questions that were not asked since. */
  keepSince(oldestMs: number): void {
    for (const [due, { asked }] of this.#byDue) {
      for (const [id, { wantedMs }] of asked) if (wantedMs < oldestMs) asked.delete(id);
      if (asked.size === 0) this.#byDue.delete(due);
    }
  }

  /** Answers for a whole object what is not answered yet. */
  answersFor(object: KindObject, whole: JsonObject): ReadonlyMap<Definition, Answer> {
    const observed = numberOf(objectOf(whole["status"])["observedGeneration"]);
    const wanted = [...this.#byDue.values()].filter(definition => isWanted(definition, object));
    return new Map(wanted.map(definition => [definition, { work: definition.workOf(whole), observed }]));
  }

  /** Objects for which an answer is missing. */
  outdated(): KindObject[] {
    const objects = Array.from(this.#objects?.values() ?? [], ({ object }) => object);
    return objects.filter(object => [...this.#byDue.values()].some(one => isWanted(one, object)));
  }

  /** Takes a list of all objects. */
  note(listed: readonly Listed[], nowMs: number): void {
    const before = this.#objects;
    this.#objects = new Map(listed.map(({ object }) => [object.uid, trackOf(object, before, nowMs)]));
    for (const { object, movedMs } of this.#objects.values()) if (movedMs === nowMs) this.#move(object, nowMs);
    for (const { object } of before?.values() ?? [])
      this.#compare(object, this.#objects.get(object.uid)?.object, nowMs);
    for (const one of listed) this.#answer(one, nowMs);
  }

  #answer({ object, answers }: Listed, nowMs: number): void {
    for (const definition of this.#byDue.values()) {
      const answer: Answer | undefined = object.isPaused ? { work: "paused" } : answers?.get(definition);
      if (answer !== undefined) follow(definition, object, answer, nowMs);
    }
  }

  #move(object: KindObject, nowMs: number): void {
    for (const { works, asked } of this.#byDue.values())
      for (const one of asked.values()) {
        if (!one.question.selects(object)) continue;
        one.movedMs = nowMs;
        one.passedMs = Math.max(one.passedMs, works.get(object.uid)?.dueMs ?? nowMs);
      }
  }

  #compare(object: KindObject, now: KindObject | undefined, nowMs: number): void {
    // A controller has removed the last finalizer.
    if (now === undefined && object.isDeleted && object.hasFinalizers) this.#move(object, nowMs);
    // With another label it may be the object of another controller.
    if (now !== undefined && !isRelabeled(object, now)) return;
    for (const { works } of this.#byDue.values()) works.delete(object.uid);
  }

  /** Takes a whole object. */
  noteWhole(object: KindObject, whole: JsonObject, nowMs: number): void {
    for (const [definition, answer] of this.answersFor(object, whole)) follow(definition, object, answer, nowMs);
  }

  /** What is known for a question that was asked. */
  reading({ id, due, selects }: KindQuestion): KindReading {
    const { works = new Map<string, WorkTrack>(), asked } = this.#byDue.get(due) ?? {};
    const all = [...(this.#objects?.values() ?? [])];
    const selected = all.filter(({ object }) => selects(object));
    return {
      ...{ ...UNREAD_KIND, ...timesOf(asked?.get(id)), ...answered(selected, works) },
      writtenMs: selected.reduce((latestMs, { object }) => Math.max(latestMs, object.writtenMs), -Infinity),
      find: (namespace, name) => {
        const one = all.find(({ object }) => object.name === name && object.namespace === namespace);
        return one && { movedMs: one.movedMs, writtenMs: one.object.writtenMs };
      },
    };
  }
}

/** Before a question was asked, what moved of its objects was not followed. */
function timesOf(asked: Asked | undefined): Pick<KindReading, "movedMs" | "passedMs" | "steadyMs"> {
  const { movedMs, passedMs, sinceMs: steadyMs } = asked ?? UNASKED;
  return { movedMs, passedMs, steadyMs };
}

const UNASKED = { movedMs: -Infinity, passedMs: -Infinity, sinceMs: Infinity };

/** The objects that are due, and one for which there is no answer, if there is none for any. A new object may still lack fields. */
function answered(
  selected: readonly Tracked[],
  works: ReadonlyMap<string, WorkTrack>,
): Pick<KindReading, "due" | "unanswered"> {
  const found = selected.flatMap(tracked => {
    const track = works.get(tracked.object.uid);
    return track === undefined ? [] : [{ track, tracked }];
  });
  const first = found.every(({ track }) => track.work === "unknown") ? found[0]?.tracked.object : undefined;
  const due = found.flatMap(({ track, tracked }) => dueObject(track, tracked) ?? []);
  return { due, ...(first && { unanswered: `${first.namespace}/${first.name}` }) };
}

/** An object has moved if a controller has written since the last list, or before that it was not there. */
function trackOf(object: KindObject, all: ReadonlyMap<string, Tracked> | undefined, nowMs: number): Tracked {
  if (all === undefined) return { object, movedMs: -Infinity };
  const before = all.get(object.uid);
  const isMoved = before === undefined ? object.isWritten : before.object.written !== object.written;
  return { object, movedMs: isMoved ? nowMs : (before?.movedMs ?? -Infinity) };
}

function isRelabeled(before: KindObject, now: KindObject): boolean {
  return before.resourceVersion !== now.resourceVersion && canonical(before.labels) !== canonical(now.labels);
}

/** An object that has changed since the last answer is unknown. */
function dueObject(track: WorkTrack, { object, movedMs }: Tracked): DueObject | undefined {
  const { work, dueMs, wasDone, observed } = track;
  const isLookedAt = track.isLookedAt || movedMs > (dueMs ?? Infinity);
  if (work !== "due" || dueMs === undefined || track.resourceVersion !== object.resourceVersion) return undefined;
  const { namespace, name, createdMs, generation } = object;
  return { namespace, name, createdMs, generation, observed, dueMs, wasDone, isLookedAt };
}

/** Reports whether only the whole object can answer for the definition. */
function isWanted({ asked, works }: Definition, object: KindObject): boolean {
  if (object.isPaused || works.get(object.uid)?.resourceVersion === object.resourceVersion) return false;
  return [...asked.values()].some(({ question }) => question.selects(object));
}

function follow({ works }: Definition, object: KindObject, answer: Answer, nowMs: number): void {
  const before = works.get(object.uid);
  const { work } = answer;
  const { resourceVersion, generation, writtenMs, isOutdated } = object;
  const isNext = isHandledBetween(before, object, answer);
  works.set(object.uid, {
    ...{ ...answer, resourceVersion, generation, writtenMs },
    ...dueFrom(isNext ? undefined : before?.dueMs, work, nowMs),
    isLookedAt: isWrittenSince(before, object, isNext),
    wasDone: work === "done" || isOutdated || isNext || before?.wasDone === true,
  });
}

/** What is unknown for a moment may have been due all the time. */
function dueFrom(knownMs: number | undefined, work: Work, nowMs: number): Pick<WorkTrack, "dueMs"> {
  if (work === "unknown") return { dueMs: knownMs };
  return { dueMs: work === "due" ? (knownMs ?? nowMs) : undefined };
}

/** Its status was written between the last answer and this one, the first that finds it due, but after its last change. */
function isWrittenSince(before: WorkTrack | undefined, object: KindObject, isNext: boolean): boolean {
  if (before === undefined) return false;
  if (!isNext && before.dueMs !== undefined) return before.isLookedAt;
  return object.writtenMs > before.writtenMs && !object.isOutdated;
}

/** Its controller has observed the generation of the last answer, and it has changed again since: that is other work. */
function isHandledBetween(
  before: WorkTrack | undefined,
  { generation = 0 }: KindObject,
  { observed = 0 }: Answer,
): boolean {
  const last = before?.generation ?? Infinity;
  return generation > last && observed >= last && observed > (before?.observed ?? 0);
}
