import type { DueObject, KindReading } from "../../core/progress";

// Whether work is due and nothing moves. Pure. Unknown means no accusation. Times are monotonic, in milliseconds.

/** Its controller has to have moved an object in this time before the work became due, or since it started: one that never did may not exist. */
const MOVED_WITHIN_MS = 3_600_000;

/** Metrics are read each half minute: work that they show this much later, in milliseconds, may have been done before the object became due. */
const OLDER_MS = 60_000;

/** What a kind is judged by. */
export interface Case {
  readonly reading: KindReading;
  readonly nowMs: number;
  /** How long work is due before it is too long. */
  readonly forMs: number;
  /** For how long the controller has been able to work, as far as is known. */
  readonly ableForMs: number;
  /** The status of an object was written since the pods of the controller were created, so it handles the kind, however quiet that was since. */
  readonly isHandled: boolean;
  /** When metrics last showed that a queue of the kind finished an item, or counted an error; -Infinity: they do not. */
  readonly workedMs: number;
  /** Reports whether an earlier pass, perhaps of another process, has accused the controller of this object. */
  readonly wasAccused: (object: DueObject) => boolean;
}

/** Work that its controller does not do. */
export interface Stuck {
  /** What has been due for the longest time. */
  readonly object: DueObject;
  /** Others are due as well. */
  readonly hasOthers: boolean;
}

/** Judges a kind; undefined: nothing shows that its controller is stalled. */
export function judgeKind(one: Case): Stuck | undefined {
  const { reading, forMs, ableForMs } = one;
  if (reading.unknown !== undefined || ableForMs < forMs) return undefined;
  const stuck = reading.due.filter(object => isStuck(object, one) || isStillStuck(object, one));
  const [object] = stuck.toSorted((a, b) => a.dueMs - b.dueMs || (nameOf(a) < nameOf(b) ? -1 : 1));
  return object && { object, hasOthers: stuck.length > 1 };
}

function isStuck(object: DueObject, one: Case): boolean {
  const { reading, nowMs, forMs } = one;
  return isExpected(object, one) && nowMs - stillFromMs(object, reading) >= forMs;
}

/** A reading that failed, or another process of this operator, does not take back what was found. */
function isStillStuck(object: DueObject, one: Case): boolean {
  const { reading, nowMs, forMs, wasAccused } = one;
  return wasAccused(object) && isLeft(object, one) && nowMs - reading.movedMs >= forMs;
}

/** Its controller has handled the object before, and has worked lately, or since it started. */
function isExpected(object: DueObject, one: Case): boolean {
  const { reading, isHandled } = one;
  const isAtWork = isHandled || reading.movedMs >= object.dueMs - MOVED_WITHIN_MS;
  return object.wasDone && isLeft(object, one) && isAtWork;
}

/**
 * Otherwise the object alone is stuck: its controller has looked at it since it became due, has done later work, or tries again and again,
 * however long it waits in between.
 */
function isLeft({ dueMs, isLookedAt }: DueObject, { reading: { passedMs }, workedMs }: Case): boolean {
  return !isLookedAt && passedMs <= dueMs && workedMs < dueMs + OLDER_MS;
}

/** From when on the object was due, nothing moved, and readings succeeded. */
function stillFromMs({ dueMs }: DueObject, { movedMs, steadyMs }: KindReading): number {
  return Math.max(dueMs, movedMs, steadyMs);
}

function nameOf({ namespace, name }: DueObject): string {
  return `${namespace}/${name}`;
}
