// Decides when each container's log is read. Pure.

/** Time between two reads of a log without 401s. */
export const HEALTHY_INTERVAL_MS = 30_000;

/** Shortest time between two reads of a log: while 401s are suspected or a restarted pod's successor is observed. */
export const SUSPICIOUS_INTERVAL_MS = 5_000;

/** Most logs read in one pass of one object. */
export const READS_AT_ONCE = 32;

/** Spread of the intervals of different pods, as a share, so that thousands of reads do not coincide. */
const JITTER = 0.3;

/** A log that can be read; lastReadMs is undefined before its first read. */
export interface Readable {
  readonly uid: string;
  readonly lastReadMs: number | undefined;
  readonly suspicious: boolean;
}

/** Returns when the next read is due, on the monotonic clock. A first read is always due. */
export function dueMs(log: Readable): number {
  if (log.lastReadMs === undefined) return -Infinity;
  if (log.suspicious) return log.lastReadMs + SUSPICIOUS_INTERVAL_MS;
  return log.lastReadMs + HEALTHY_INTERVAL_MS * (1 - JITTER / 2 + JITTER * shareOf(log.uid));
}

/** Most suspicious logs among them, so that the others are read as well. */
const SUSPECTS_AT_ONCE = 24;

/** Returns the logs to read now: suspicious ones first, then by how long they are overdue. */
export function pickDue<T extends Readable>(items: readonly T[], nowMs: number): readonly T[] {
  const due = items.filter(item => dueMs(item) <= nowMs).sort((a, b) => compare(dueMs(a), dueMs(b)));
  const suspects = due.filter(item => item.suspicious).slice(0, SUSPECTS_AT_ONCE);
  const others = due.filter(item => !item.suspicious);
  return [...suspects, ...others].slice(0, READS_AT_ONCE);
}

/** Compares without subtraction, because -Infinity - -Infinity is NaN. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Returns a number in [0, 1) that depends only on the uid (FNV-1a). */
function shareOf(uid: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < uid.length; i++) hash = Math.imul(hash ^ uid.charCodeAt(i), 0x01000193);
  return (hash >>> 0) / 2 ** 32;
}
