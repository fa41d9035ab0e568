import { describeError, ForbiddenError, TransientError, UnauthorizedError, WaitError } from "../../core/errors";
import { ExpiredError } from "../http/status-errors";

/** Why a watch, or the list before it, ended; label of the metric. */
export type WatchEndReason =
  /** The server closed it, as it does when its timeout is over. */
  | "closed"
  /** 410: the resourceVersion is too old. */
  | "expired"
  | "unauthorized"
  | "forbidden"
  /** 429, or another answer with Retry-After. */
  | "throttled"
  /** No byte came for longer than bookmarks take. */
  | "stalled"
  /** It went on long after the timeout that was asked for. */
  | "overdue"
  /** It said something that is no watch event. */
  | "malformed"
  /** Reset, refused, truncated, 5xx and all the rest. */
  | "broken";

/** How a round of list and watch ended, and what follows. */
export interface WatchEnd {
  readonly reason: WatchEndReason;
  /** The last resourceVersion is of no use any more: list again. */
  readonly relist: boolean;
  /** For people; empty after a clean close. */
  readonly message: string;
  readonly error?: unknown;
  /** What the server asked us to wait, in milliseconds. */
  readonly afterMs?: number;
}

/** What was said in a watch is no watch event. */
export class MalformedError extends TransientError {}

/** Nothing was heard for too long. */
export class StalledError extends TransientError {}

/** The watch outlived its timeout. */
export class OverdueError extends TransientError {}

/** The end that an error makes. Pure. */
export function endOf(error: unknown): WatchEnd {
  const reason = reasonOf(error);
  return {
    reason,
    relist: reason === "expired" || reason === "stalled" || reason === "malformed",
    message: describeError(error),
    error,
    ...(error instanceof WaitError ? { afterMs: error.afterMs } : {}),
  };
}

function reasonOf(error: unknown): WatchEndReason {
  if (error instanceof ExpiredError) return "expired";
  if (error instanceof UnauthorizedError) return "unauthorized";
  if (error instanceof ForbiddenError) return "forbidden";
  if (error instanceof WaitError) return "throttled";
  if (error instanceof StalledError) return "stalled";
  if (error instanceof OverdueError) return "overdue";
  return error instanceof MalformedError ? "malformed" : "broken";
}
