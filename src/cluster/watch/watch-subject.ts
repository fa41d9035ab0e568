import type { Resource } from "../http/resources";
import type { Delta, Identified } from "./view-cache";
import type { WatchEnd } from "./watch-end";

/** In milliseconds. */
export interface WatchTiming {
  /**
   * The server ends the watch after one to two times this, by default 30 to 60 minutes. client-go asks for 5 to 10, to spread its watches
   * over the API servers; a dead connection is found by its silence, so a short timeout would only add requests.
   */
  readonly serverTimeoutMs: number;
  /** A silent watch ends after this time. Bookmarks arrive every 60 to 75 s, so two of them are missing then. */
  readonly stallMs: number;
  /** A watch that lasts this long resets the backoff. */
  readonly steadyMs: number;
  /** Reads fail if the server has not confirmed the cache for this time: a stall plus the time to relist. */
  readonly staleMs: number;
}

export interface WatchSubject<V extends Identified> {
  readonly resource: Resource;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly fieldSelector?: string;
  /**
   * The API server has no watch cache for this resource and sends no bookmarks. Silence then means nothing, and only a list confirms
   * the cache: the watch relists whenever it ends.
   */
  readonly withoutBookmarks?: boolean;
  /** Returns the part of an object to keep; null for an invalid object. */
  readonly project: (raw: unknown) => V | null;
  /** Called for each change; its errors are logged. */
  readonly onDelta: (delta: Delta<V>) => void;
  /** Called after each list, when its changes are reported. */
  readonly onListed?: () => void;
  /** Called at each end. With true as its answer the watch ends for good, and leaves it to the caller to log that. */
  readonly isLast?: (end: WatchEnd) => boolean;
}

const DEFAULT_TIMING: WatchTiming = {
  serverTimeoutMs: 1_800_000,
  stallMs: 150_000,
  steadyMs: 5_000,
  staleMs: 240_000,
};

/** The server closes the watch within twice the first value, so a stall is longer than that. */
const WITHOUT_BOOKMARKS: Partial<WatchTiming> = { serverTimeoutMs: 100_000, stallMs: 220_000, staleMs: 300_000 };

export function timingOf({ withoutBookmarks }: Pick<WatchSubject<Identified>, "withoutBookmarks">): WatchTiming {
  return { ...DEFAULT_TIMING, ...(withoutBookmarks === true ? WITHOUT_BOOKMARKS : {}) };
}
