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

/** What a kind shows of its controller. */
export interface Verdict {
  /** What has been due for the longest time and its controller does not do. Absent: nothing shows that it is stalled. */
  readonly stuck?: DueObject;
  /** Others are stuck as well. */
  readonly hasOthers?: boolean;
  /** What has been due too long without proof: no controller was seen at work. Absent: there is none, or one is stuck. */
  readonly unproven?: DueObject;
}

/** Judges a kind. */
export function judgeKind({ reading, nowMs, forMs, ableForMs, isHandled, workedMs, wasAccused }: Case): Verdict {
  const { due, movedMs, passedMs, steadyMs, unknown } = reading;
  if (unknown !== undefined || ableForMs < forMs) return {};
  // Otherwise the object alone is stuck: its controller has looked at it since it became due, has done later work, or tries again and again,
  // however long it waits in between.
  const left = due.filter(({ dueMs, isLookedAt }) => !isLookedAt && passedMs <= dueMs && workedMs < dueMs + OLDER_MS);
  // It was done before, and since it is due nothing moved, and readings succeeded.
  const isLate = ({ wasDone, dueMs }: DueObject): boolean =>
    wasDone && nowMs - Math.max(dueMs, movedMs, steadyMs) >= forMs;
  // Its controller has worked lately, or since it started.
  const isAtWork = ({ dueMs }: DueObject): boolean => isHandled || movedMs >= dueMs - MOVED_WITHIN_MS;
  // A reading that failed, or another process of this operator, does not take back what was found.
  const isStillStuck = (object: DueObject): boolean => nowMs - movedMs >= forMs && wasAccused(object);
  const stuck = left.filter(object => isStillStuck(object) || (isLate(object) && isAtWork(object)));
  const [oldest] = oldestFirst(stuck);
  if (oldest !== undefined) return { stuck: oldest, hasOthers: stuck.length > 1 };
  const [unproven] = oldestFirst(left.filter(isLate));
  return unproven === undefined ? {} : { unproven };
}

function oldestFirst(due: readonly DueObject[]): DueObject[] {
  const nameOf = ({ namespace, name }: DueObject): string => `${namespace}/${name}`;
  return due.toSorted((a, b) => a.dueMs - b.dueMs || (nameOf(a) < nameOf(b) ? -1 : 1));
}
