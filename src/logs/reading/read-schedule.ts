// When which container's log is read. Pure.

/** Between two reads of a container without 401s. */
export const HEALTHY_INTERVAL_MS = 30_000;

/** Between two reads while something is suspected or a successor is being watched; never more often, whoever asks. */
export const SUSPICIOUS_INTERVAL_MS = 5_000;

/** Logs read in one pass of one object. Hundreds of pods are read in turns. */
export const READS_AT_ONCE = 32;

/** How far the interval of one pod may lie from that of another, as a share: so thousands do not beat together. */
const JITTER = 0.3;

/** When something was last read; absent if it never was. */
export interface Readable {
  readonly uid: string;
  readonly lastReadMs: number | undefined;
  readonly suspicious: boolean;
}

/** When the next read is due, on the monotonic clock. What was never read is due since ever. */
export function dueMs(item: Readable): number {
  if (item.lastReadMs === undefined) return -Infinity;
  if (item.suspicious) return item.lastReadMs + SUSPICIOUS_INTERVAL_MS;
  return item.lastReadMs + HEALTHY_INTERVAL_MS * (1 - JITTER / 2 + JITTER * shareOf(item.uid));
}

/** Of these at most so many are suspects, so that a great many of them do not keep the others from their turn. */
const SUSPECTS_AT_ONCE = 24;

/** What to read now: what is due, suspects first, and among equals the longest overdue first, so that all get their turn. */
export function pickDue<T extends Readable>(items: readonly T[], nowMs: number): readonly T[] {
  const due = items.filter(item => dueMs(item) <= nowMs).sort((a, b) => compare(dueMs(a), dueMs(b)));
  const suspects = due.filter(item => item.suspicious).slice(0, SUSPECTS_AT_ONCE);
  const others = due.filter(item => !item.suspicious);
  return [...suspects, ...others].slice(0, READS_AT_ONCE);
}

/** -Infinity minus itself is no number. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** A number in [0, 1) that stays the same for a uid (FNV-1a). */
function shareOf(uid: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < uid.length; i++) hash = Math.imul(hash ^ uid.charCodeAt(i), 0x01000193);
  return (hash >>> 0) / 2 ** 32;
}
