import type { Key } from "../../../core/ports";

/** A pass without a successor for this long ends the watch, in milliseconds. */
const MAX_GAP_MS = 300_000;

/** Since when this process has watched each DaemonSet without a gap. What happened before is not known. */
export interface WatchedTimes {
  /** Returns the times by uid; DaemonSets of the object that are not named are not watched any more. */
  note(key: Key, uids: readonly string[], nowMs: number): ReadonlyMap<string, number>;
  /** Forgets a deleted object. */
  forget(key: Key): void;
}

interface Watched {
  readonly sinceMs: ReadonlyMap<string, number>;
  readonly lastMs: number;
}

export function createWatchedTimes(): WatchedTimes {
  const watches = new Map<Key, Watched>();
  return {
    note(key, uids, nowMs): ReadonlyMap<string, number> {
      const known = watches.get(key);
      const isCurrent = known !== undefined && nowMs - known.lastMs <= MAX_GAP_MS;
      const sinceMs = new Map(uids.map(uid => [uid, (isCurrent ? known.sinceMs.get(uid) : undefined) ?? nowMs]));
      watches.set(key, { sinceMs, lastMs: nowMs });
      return sinceMs;
    },

    forget: key => void watches.delete(key),
  };
}
