import type { DueObject, KindReading } from "../../core/progress";

// Whether work is due and nothing moves. Pure. Unknown means no accusation. Times are monotonic, in milliseconds.

/** A reading that is older proves nothing: the next one comes after a minute. */
export const MAX_AGE_MS = 180_000;

/** Its controller has to have moved an object in this time before the work became due: one that never did may not exist. */
export const MOVED_WITHIN_MS = 3_600_000;

/** What a kind is judged by. */
export interface Case {
  readonly reading: KindReading;
  readonly nowMs: number;
  /** How long work is due before it is too long. */
  readonly forMs: number;
  /** For how long the controller has been able to work, as far as is known. */
  readonly ableForMs: number;
  /** Reports whether an earlier pass, perhaps of another process, has accused the controller of this object. */
  readonly wasAccused: (object: DueObject) => boolean;
}

/** Work that its controller does not do. */
export interface Stuck {
  /** What has been due for the longest time. */
  readonly object: DueObject;
  /** Other objects that are due as well. */
  readonly others: number;
  /** For how long this process has seen that work is due and nothing moves. */
  readonly stillMs: number;
}

/** Judges a kind; undefined: nothing shows that its controller is stalled. */
export function judgeKind(one: Case): Stuck | undefined {
  const { reading, nowMs, forMs, ableForMs } = one;
  if (reading.unknown !== undefined || nowMs - (reading.readMs ?? -Infinity) > MAX_AGE_MS) return undefined;
  if (ableForMs < forMs) return undefined;
  const stuck = reading.due.filter(object => isStuck(object, one) || isStillStuck(object, one));
  const [object] = stuck.toSorted((a, b) => a.dueMs - b.dueMs || (nameOf(a) < nameOf(b) ? -1 : 1));
  return object && { object, others: stuck.length - 1, stillMs: nowMs - stillFromMs(object, reading) };
}

/** Time until a kind may be stalled, if nothing moves from now on. Undefined: it may not be. */
export function untilStuckMs(one: Case): number | undefined {
  const expected = one.reading.due.filter(object => isExpected(object, one.reading));
  const waits = expected.map(object => stillFromMs(object, one.reading) + one.forMs - one.nowMs);
  return waits.length === 0 ? undefined : Math.max(Math.min(...waits), one.forMs - one.ableForMs);
}

function isStuck(object: DueObject, { reading, nowMs, forMs }: Case): boolean {
  return isExpected(object, reading) && nowMs - stillFromMs(object, reading) >= forMs;
}

/** A reading that failed, or another process of this operator, does not take back what was found. */
function isStillStuck(object: DueObject, { reading, nowMs, forMs, wasAccused }: Case): boolean {
  return wasAccused(object) && isLeft(object, reading) && nowMs - reading.movedMs >= forMs;
}

/** Its controller has handled the object before, and has worked lately. */
function isExpected(object: DueObject, reading: KindReading): boolean {
  return object.wasDone && isLeft(object, reading) && reading.movedMs >= object.dueMs - MOVED_WITHIN_MS;
}

/** Otherwise the object alone is stuck: its controller has looked at it since it became due, or has done later work. */
function isLeft({ dueMs, movedMs }: DueObject, { passedMs }: KindReading): boolean {
  return movedMs <= dueMs && passedMs <= dueMs;
}

/** From when on the object was due, nothing moved, and readings succeeded. */
function stillFromMs({ dueMs }: DueObject, { movedMs, steadyMs }: KindReading): number {
  return Math.max(dueMs, movedMs, steadyMs);
}

function nameOf({ namespace, name }: DueObject): string {
  return `${namespace}/${name}`;
}
