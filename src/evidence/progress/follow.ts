import { arrayOf, canonical, type JsonObject, numberOf, objectOf, textsOf, timeOf } from "../../core/json";
import type { DueObject, KindObject, KindQuestion, KindReading, Work } from "../../core/progress";
import { PAUSING_ANNOTATIONS } from "./well-known";

// Follows the objects of one kind from reading to reading: what is due, and what moves. Does not read itself.

/**
 * Returns the metadata of an object; undefined if it has no name. The manager of each field and the time of the last change of its value are in
 * managedFields.
 */
export function kindObject(raw: unknown): KindObject | undefined {
  const metadata = objectOf(objectOf(raw)["metadata"]);
  const { namespace = "", name, uid, resourceVersion = "", deletionTimestamp } = textsOf(metadata);
  if (name === undefined || uid === undefined) return undefined;
  const finalizers = arrayOf(metadata["finalizers"]);
  const fields = writesOf(raw);
  const writes = fields.filter(isOfStatus);
  const specs = fields.filter(entry => !isOfStatus(entry) && "f:spec" in objectOf(entry["fieldsV1"]));
  const writtenMs = latestOf(writes);
  const written = [writes.map(({ manager, operation, time }) => [manager, operation, time]), finalizers];
  const isWritten = writes.length > 0 || finalizers.length > 0;
  const isDeleted = deletionTimestamp !== undefined;
  return {
    ...{ namespace, name, uid, resourceVersion, createdMs: timeOf(metadata["creationTimestamp"]) },
    generation: numberOf(metadata["generation"]),
    labels: textsOf(metadata["labels"]),
    // Deleting raises the generation, and the object may wait for others to remove their finalizers.
    isPaused: isDeleted || hasPause(textsOf(metadata["annotations"])),
    isEnding: isDeleted && finalizers.length > 0,
    // Without managedFields any change may be one of the controller.
    written: fields.length === 0 ? resourceVersion : isWritten ? canonical(written) : "",
    writtenMs,
    isOutdated: writtenMs > -Infinity && writtenMs < latestOf(specs),
  };
}

function hasPause(annotations: Readonly<Record<string, string>>): boolean {
  const found = Object.entries(PAUSING_ANNOTATIONS).filter(([key]) => annotations[key] !== undefined);
  return found.some(([key, value]) => value === null || annotations[key] === value);
}

/** Returns the managedFields of an object. */
export function writesOf(raw: unknown): JsonObject[] {
  return arrayOf(objectOf(objectOf(raw)["metadata"])["managedFields"]).map(objectOf);
}

/** Reports whether an entry of managedFields is about the status. With a subresource for it, no other write changes it. */
export function isOfStatus({ subresource, fieldsV1 }: JsonObject): boolean {
  return subresource === "status" || "f:status" in objectOf(fieldsV1);
}

/** Returns the latest time of managedFields; -Infinity: there is none. */
export function latestOf(writes: readonly JsonObject[]): number {
  return Math.max(-Infinity, ...writes.flatMap(({ time }) => timeOf(time) ?? []));
}

/** An answer for one object. */
interface Answer {
  readonly work: Work;
  readonly observed: number | undefined;
}

/** An object of a list. Answers are there if the whole object was. */
export interface Listed {
  readonly object: KindObject;
  readonly answers?: ReadonlyMap<Definition, Answer>;
}

/** What is remembered of an object for one definition of due, and what it was answered for. */
interface WorkTrack extends Answer, Pick<KindObject, "resourceVersion" | "generation" | "writtenMs"> {
  /** Since when it has been due. */
  readonly dueMs: number | undefined;
  readonly wasDone: boolean;
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
      const paused: Answer = { work: "paused", observed: undefined };
      const answer = object.isPaused ? paused : answers?.get(definition);
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
    if (now === undefined && object.isEnding) this.#move(object, nowMs);
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
    // Before it was asked, what moved of its objects was not followed.
    const { movedMs = -Infinity, passedMs = -Infinity, sinceMs: steadyMs = Infinity } = asked?.get(id) ?? {};
    return {
      ...{ movedMs, passedMs, steadyMs, ...answered(selected, works) },
      writtenMs: selected.reduce((latestMs, { object }) => Math.max(latestMs, object.writtenMs), -Infinity),
      find: (namespace, name) => {
        const one = all.find(({ object }) => object.name === name && object.namespace === namespace);
        return one && { movedMs: one.movedMs, writtenMs: one.object.writtenMs };
      },
    };
  }
}

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
  const isMoved = object.written !== (before?.object.written ?? "");
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
  const { resourceVersion, generation, writtenMs, isOutdated } = object;
  const isNext = isHandledBetween(before, object, answer);
  const knownMs = isNext ? undefined : before?.dueMs;
  const isWritten = before !== undefined && writtenMs > before.writtenMs && !isOutdated;
  works.set(object.uid, {
    ...{ ...answer, resourceVersion, generation, writtenMs },
    dueMs: dueFrom(knownMs, answer.work, nowMs),
    isLookedAt: knownMs === undefined ? isWritten : before?.isLookedAt === true,
    wasDone: answer.work === "done" || isOutdated || isNext || before?.wasDone === true,
  });
}

/** What is unknown for a moment may have been due all the time. */
function dueFrom(knownMs: number | undefined, work: Work, nowMs: number): number | undefined {
  if (work === "unknown") return knownMs;
  return work === "due" ? (knownMs ?? nowMs) : undefined;
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
