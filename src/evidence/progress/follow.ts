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
  const isWritten = [...writes, ...finalizers].length > 0;
  const isDeleted = deletionTimestamp !== undefined;
  return {
    namespace,
    name,
    uid,
    resourceVersion,
    createdMs: timeOf(metadata["creationTimestamp"]),
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

const PAUSED: Answer = { work: "paused", observed: undefined };

/** An object of a list. Answers are there if the whole object was. */
export interface Listed {
  readonly object: KindObject;
  readonly answers?: ReadonlyMap<Definition, Answer>;
}

/** What is remembered of an object for one definition of due, and what it was answered for. */
interface WorkTrack extends Pick<KindObject, "resourceVersion" | "generation" | "writtenMs"> {
  readonly work: Work;
  readonly observed: number | undefined;
  /** Since when it has been due. */
  readonly dueMs: number | undefined;
  readonly wasDone: boolean;
  /** Its status was written between its change and the reading that first showed it due. */
  readonly isLookedAt: boolean;
}

type Answer = Pick<WorkTrack, "work" | "observed">;

/** A definition of due, and the questions that differ in their objects only, by id. */
interface Definition {
  readonly workOf: KindQuestion["workOf"];
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
  readonly works: Map<Definition, WorkTrack>;
}

/** The objects of one kind. */
export class KindTrack {
  readonly #byDue = new Map<string, Definition>();
  /** By uid. */
  #objects: ReadonlyMap<string, Tracked> = new Map();
  #isListed = false;

  /** The definitions of due that are asked for. */
  get definitions(): readonly string[] {
    return [...this.#byDue.keys()];
  }

  /** Takes a question. Returns false for a new one, which needs a whole list. */
  ask(question: KindQuestion, wantedMs: number): boolean {
    const { id, due, workOf } = question;
    const definition = this.#byDue.get(due) ?? { workOf, asked: new Map<string, Asked>() };
    this.#byDue.set(due, definition);
    const known = definition.asked.get(id);
    if (known !== undefined) known.wantedMs = wantedMs;
    else definition.asked.set(id, { question, sinceMs: wantedMs, wantedMs, movedMs: -Infinity, passedMs: -Infinity });
    return known !== undefined;
  }

  /** Forgets questions that were not asked since. */
  keepSince(oldestMs: number): void {
    for (const [due, definition] of this.#byDue) {
      const { asked } = definition;
      for (const [id, { wantedMs }] of asked) if (wantedMs < oldestMs) asked.delete(id);
      if (asked.size > 0) continue;
      this.#byDue.delete(due);
      for (const { works } of this.#objects.values()) works.delete(definition);
    }
  }

  /** Answers for a whole object what is not answered yet. */
  answersFor(object: KindObject, whole: JsonObject): ReadonlyMap<Definition, Answer> {
    const observed = numberOf(objectOf(whole["status"])["observedGeneration"]);
    const wanted = this.#wanted(object, this.#objects.get(object.uid)?.works);
    return new Map(wanted.map(definition => [definition, { work: definition.workOf(whole), observed }]));
  }

  /** The definitions for which only the whole object can answer. */
  #wanted(object: KindObject, works?: Tracked["works"]): Definition[] {
    if (object.isPaused) return [];
    const all = [...this.#byDue.values()];
    const open = all.filter(one => works?.get(one)?.resourceVersion !== object.resourceVersion);
    return open.filter(({ asked }) => [...asked.values()].some(({ question }) => question.selects(object)));
  }

  /** Objects for which an answer is missing. */
  outdated(): KindObject[] {
    const found = [...this.#objects.values()].filter(({ object, works }) => this.#wanted(object, works).length > 0);
    return found.map(({ object }) => object);
  }

  /** Takes a list of all objects. */
  note(listed: readonly Listed[], nowMs: number): void {
    const before = this.#objects;
    this.#objects = new Map(listed.map(({ object }) => [object.uid, this.#track(object, nowMs)]));
    this.#isListed = true;
    // A controller has removed the last finalizer.
    for (const [uid, { object, works }] of before)
      if (object.isEnding && !this.#objects.has(uid)) this.#move(object, works, nowMs);
    for (const { object, answers } of listed) this.#answer(object, answers, nowMs);
  }

  /** An object has moved if a controller has written since the last list, or before that it was not there. */
  #track(object: KindObject, nowMs: number): Tracked {
    const before = this.#objects.get(object.uid);
    // Ten thousand objects that do not change are kept once.
    if (before?.object.resourceVersion === object.resourceVersion) return before;
    const { movedMs, works } = before ?? { movedMs: -Infinity, works: new Map<Definition, WorkTrack>() };
    const isMoved = this.#isListed && object.written !== (before?.object.written ?? "");
    if (isMoved) this.#move(object, works, nowMs);
    // With another label it may be the object of another controller.
    if (isRelabeled(before, object)) works.clear();
    return { object, works, movedMs: isMoved ? nowMs : movedMs };
  }

  #move(object: KindObject, works: Tracked["works"], nowMs: number): void {
    for (const definition of this.#byDue.values())
      for (const one of definition.asked.values()) {
        if (!one.question.selects(object)) continue;
        one.movedMs = nowMs;
        one.passedMs = Math.max(one.passedMs, works.get(definition)?.dueMs ?? nowMs);
      }
  }

  #answer(object: KindObject, answers: Listed["answers"], nowMs: number): void {
    const { works } = this.#objects.get(object.uid) ?? {};
    for (const definition of this.#byDue.values()) {
      const answer = object.isPaused ? PAUSED : answers?.get(definition);
      if (answer !== undefined) works?.set(definition, follow(works.get(definition), object, answer, nowMs));
    }
  }

  /** Takes a whole object. */
  noteWhole(object: KindObject, whole: JsonObject, nowMs: number): void {
    this.#answer(object, this.answersFor(object, whole), nowMs);
  }

  /** What is known for a question that was asked. */
  reading({ id, due: text, selects }: KindQuestion): KindReading {
    const definition = this.#byDue.get(text);
    const all = [...this.#objects.values()];
    const selected = all.filter(({ object }) => selects(object));
    const found = selected.flatMap(one => {
      const track = definition && one.works.get(definition);
      return track === undefined ? [] : [{ ...one, track }];
    });
    // A new object may still lack fields.
    const first = found.every(({ track }) => track.work === "unknown") ? found[0]?.object : undefined;
    // Before it was asked, what moved of its objects was not followed.
    const { movedMs = -Infinity, passedMs = -Infinity, sinceMs = Infinity } = definition?.asked.get(id) ?? {};
    return {
      ...{ movedMs, passedMs, steadyMs: sinceMs, due: found.flatMap(one => dueObject(one.track, one) ?? []) },
      writtenMs: selected.reduce((latestMs, { object }) => Math.max(latestMs, object.writtenMs), -Infinity),
      ...(first && { unanswered: `${first.namespace}/${first.name}` }),
      find: (namespace, name) => {
        const one = all.find(({ object }) => object.name === name && object.namespace === namespace);
        return one && { movedMs: one.movedMs, writtenMs: one.object.writtenMs };
      },
    };
  }
}

function isRelabeled(before: Tracked | undefined, { labels }: KindObject): boolean {
  return canonical(before?.object.labels) !== canonical(labels);
}

/** An object that has changed since the last answer is unknown. */
function dueObject(track: WorkTrack, { object, movedMs }: Tracked): DueObject | undefined {
  const { work, dueMs, wasDone, observed } = track;
  const isLookedAt = track.isLookedAt || movedMs > (dueMs ?? Infinity);
  if (work !== "due" || dueMs === undefined || track.resourceVersion !== object.resourceVersion) return undefined;
  const { namespace, name, createdMs, generation } = object;
  return { namespace, name, createdMs, generation, observed, dueMs, wasDone, isLookedAt };
}

function follow(before = UNANSWERED, object: KindObject, answer: Answer, nowMs: number): WorkTrack {
  const { resourceVersion, generation, writtenMs, isOutdated } = object;
  const isNext = isHandledBetween(before, object, answer);
  const knownMs = isNext ? undefined : before.dueMs;
  return {
    work: answer.work,
    observed: answer.observed,
    resourceVersion,
    generation,
    writtenMs,
    // What is unknown for a moment may have been due all the time.
    dueMs: { due: knownMs ?? nowMs, unknown: knownMs, done: undefined, paused: undefined }[answer.work],
    isLookedAt: knownMs === undefined ? writtenMs > before.writtenMs && !isOutdated : before.isLookedAt,
    wasDone: answer.work === "done" || isOutdated || isNext || before.wasDone,
  };
}

/** Before the first answer. */
const UNANSWERED: WorkTrack = {
  ...{ work: "unknown", observed: undefined, resourceVersion: "", generation: undefined, writtenMs: Infinity },
  ...{ dueMs: undefined, wasDone: false, isLookedAt: false },
};

/** Its controller has observed the generation of the last answer, and it has changed again since: that is other work. */
function isHandledBetween(before: WorkTrack, { generation = 0 }: KindObject, { observed = 0 }: Answer): boolean {
  const last = before.generation ?? Infinity;
  return generation > last && observed >= last && observed > (before.observed ?? 0);
}
