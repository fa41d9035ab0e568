import { arrayOf, canonical, type JsonObject, numberOf, objectOf, textOf, textsOf, timeOf } from "../../core/json";
import type { DueObject, KindObject, KindQuestion, KindReading, Work } from "../../core/progress";

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
  return {
    ...{ namespace, name, uid, resourceVersion, createdMs: timeOf(metadata["creationTimestamp"]) },
    generation: numberOf(metadata["generation"]),
    ...{ labels: textsOf(metadata["labels"]), annotations: textsOf(metadata["annotations"]) },
    isDeleted: textOf(metadata["deletionTimestamp"]) !== undefined,
    hasFinalizers: finalizers.length > 0,
    isWritten: fields.length === 0 || writes.length > 0 || finalizers.length > 0,
    // Without managedFields any change may be one of the controller.
    written: fields.length === 0 ? resourceVersion : canonical([writes, finalizers]),
    writtenMs: Math.max(-Infinity, ...writes.flatMap(([, , time]) => timeOf(time) ?? [])),
  };
}

/** Reports whether an entry of managedFields is about the status. */
export function isOfStatus(entry: JsonObject, hasStatus: boolean): boolean {
  return hasStatus ? entry["subresource"] === "status" : "f:status" in objectOf(entry["fieldsV1"]);
}

/** An answer for one object. */
interface Answer {
  readonly work: Work;
  readonly observed?: number | undefined;
}

/** An object of a list. Answers are there if the whole object was. */
export interface Listed {
  readonly object: KindObject;
  readonly answers?: ReadonlyMap<Asked, Answer>;
}

/** What is remembered of an object for one question. */
interface WorkTrack extends Answer {
  /** What was answered for. */
  readonly resourceVersion: string;
  /** Since when it has been due. */
  readonly dueMs: number | undefined;
  readonly wasDone: boolean;
}

/** A question, and what is remembered for it. */
interface Asked {
  question: KindQuestion;
  wantedMs: number;
  /** By uid. */
  readonly works: Map<string, WorkTrack>;
  movedMs: number;
  passedMs: number;
}

interface Tracked {
  readonly object: KindObject;
  /** When its status was last seen to change. */
  readonly movedMs: number;
}

/** Questions about one kind. */
const MAX_QUESTIONS = 16;

/** The objects of one kind. */
export class KindTrack {
  readonly #asked = new Map<string, Asked>();
  /** By uid; undefined: they were not listed yet. */
  #objects: ReadonlyMap<string, Tracked> | undefined;
  #writtenMs = -Infinity;

  /** Takes a question; false if there are too many others. A new one needs a whole list. */
  ask(question: KindQuestion, wantedMs: number): "new" | "known" | "refused" {
    const known = this.#asked.get(question.id);
    if (known === undefined && this.#asked.size >= MAX_QUESTIONS) return "refused";
    if (known !== undefined) known.wantedMs = wantedMs;
    else
      this.#asked.set(question.id, {
        ...{ question, wantedMs, works: new Map<string, WorkTrack>() },
        ...{ movedMs: -Infinity, passedMs: -Infinity },
      });
    return known === undefined ? "new" : "known";
  }

  /** Forgets questions that were not asked since, and reports whether one is left. */
  keepSince(oldestMs: number): boolean {
    for (const [id, { wantedMs }] of this.#asked) if (wantedMs < oldestMs) this.#asked.delete(id);
    return this.#asked.size > 0;
  }

  /** Answers all questions for a whole object for which an answer is missing. */
  answersFor(object: KindObject, whole: JsonObject): ReadonlyMap<Asked, Answer> {
    const observed = numberOf(objectOf(whole["status"])["observedGeneration"]);
    const wanted = [...this.#asked.values()].filter(asked => isWanted(asked, object));
    return new Map(wanted.map(asked => [asked, { work: asked.question.workOf(whole), observed }]));
  }

  /** Objects for which an answer is missing: first those that were due, then those that were never read. */
  outdated(): KindObject[] {
    const all = [...this.#asked.values()];
    const rankOf = ({ uid }: KindObject): number =>
      Math.min(...all.map(({ works }) => (works.get(uid)?.work === "due" ? 0 : works.has(uid) ? 2 : 1)));
    const objects = Array.from(this.#objects?.values() ?? [], ({ object }) => object);
    const ranked = objects
      .filter(object => all.some(one => isWanted(one, object)))
      .map(object => ({ object, rank: rankOf(object) }));
    return ranked.toSorted((a, b) => a.rank - b.rank).map(({ object }) => object);
  }

  /** Takes a list of all objects. */
  note(listed: readonly Listed[], nowMs: number): void {
    const before = this.#objects;
    this.#objects = new Map(listed.map(({ object }) => [object.uid, trackOf(object, before, nowMs)]));
    for (const { object, movedMs } of this.#objects.values()) if (movedMs === nowMs) this.#move(object, nowMs);
    for (const [uid, { object }] of before ?? []) if (!this.#objects.has(uid)) this.#forget(object, nowMs);
    for (const one of listed) this.#answer(one, nowMs);
    this.#writtenMs = listed.reduce((latestMs, { object }) => Math.max(latestMs, object.writtenMs), -Infinity);
  }

  #answer({ object, answers }: Listed, nowMs: number): void {
    for (const asked of this.#asked.values()) {
      const answer = answers?.get(asked);
      if (!asked.question.selects(object)) asked.works.delete(object.uid);
      else if (asked.question.isPaused(object)) follow(asked, object, { work: "paused" }, nowMs);
      else if (answer !== undefined) follow(asked, object, answer, nowMs);
    }
  }

  #move(object: KindObject, nowMs: number): void {
    for (const asked of this.#asked.values()) {
      if (!asked.question.selects(object)) continue;
      asked.movedMs = nowMs;
      asked.passedMs = Math.max(asked.passedMs, asked.works.get(object.uid)?.dueMs ?? nowMs);
    }
  }

  #forget(object: KindObject, nowMs: number): void {
    // A controller has removed the last finalizer.
    if (object.isDeleted && object.hasFinalizers) this.#move(object, nowMs);
    for (const { works } of this.#asked.values()) works.delete(object.uid);
  }

  /** Takes a whole object. */
  noteWhole(object: KindObject, whole: JsonObject, nowMs: number): void {
    for (const [asked, answer] of this.answersFor(object, whole)) follow(asked, object, answer, nowMs);
  }

  /** What is known for a question; undefined: it is not asked. */
  reading(id: string): Omit<KindReading, "steadyMs" | "epochMs"> | undefined {
    const asked = this.#asked.get(id);
    if (asked === undefined) return undefined;
    const { works, movedMs, passedMs } = asked;
    const found = Array.from(works, ([uid, track]) => ({ track, tracked: this.#objects?.get(uid) }));
    // A new object may still lack the fields that the question names.
    const isUnanswered = found.every(({ track }) => track.work === "unknown");
    const unanswered = isUnanswered ? found[0]?.tracked?.object : undefined;
    return {
      ...{ movedMs, passedMs, writtenMs: this.#writtenMs },
      due: found
        .flatMap(({ track, tracked }) => tracked && (dueObject(track, tracked) ?? []))
        .filter(one => one !== undefined),
      ...(unanswered && { unanswered: `${unanswered.namespace}/${unanswered.name}` }),
    };
  }
}

/** An object has moved if a controller has written since the last list, or before that it was not there. */
function trackOf(object: KindObject, all: ReadonlyMap<string, Tracked> | undefined, nowMs: number): Tracked {
  if (all === undefined) return { object, movedMs: -Infinity };
  const before = all.get(object.uid);
  const isMoved = before === undefined ? object.isWritten : before.object.written !== object.written;
  return { object, movedMs: isMoved ? nowMs : (before?.movedMs ?? -Infinity) };
}

/** An object that has changed since the last answer is unknown. */
function dueObject(track: WorkTrack, { object, movedMs }: Tracked): DueObject | undefined {
  const { work, dueMs, wasDone, observed } = track;
  if (work !== "due" || dueMs === undefined || track.resourceVersion !== object.resourceVersion) return undefined;
  const { namespace, name, uid, createdMs, generation } = object;
  return { namespace, name, uid, createdMs, generation, observed, dueMs, wasDone, movedMs };
}

/** Reports whether only the whole object can answer the question. */
function isWanted({ question, works }: Asked, object: KindObject): boolean {
  if (!question.selects(object) || question.isPaused(object)) return false;
  return works.get(object.uid)?.resourceVersion !== object.resourceVersion;
}

function follow({ works }: Asked, object: KindObject, answer: Answer, nowMs: number): void {
  const before = works.get(object.uid);
  const { work } = answer;
  works.set(object.uid, {
    ...{ ...answer, resourceVersion: object.resourceVersion },
    // What is unknown for a moment may have been due all the time.
    dueMs: work === "due" ? (before?.dueMs ?? nowMs) : work === "unknown" ? before?.dueMs : undefined,
    wasDone: work === "done" || before?.wasDone === true,
  });
}
