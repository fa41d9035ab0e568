import { describeError, ForbiddenError, TransientError, UnauthorizedError, WaitError } from "../../core/errors";
import { ExpiredError } from "../http/status-errors";

/** Why a watch, or the list before it, ended: a label of the metric. */
export type WatchEndReason =
  /** Closed by the server, usually at its timeout. */
  | "closed"
  /** 410. */
  | "expired"
  | "unauthorized"
  | "forbidden"
  /** 429, or another status with Retry-After. */
  | "throttled"
  /** Silent for longer than the interval of bookmarks. */
  | "stalled"
  /** Open long after its timeout. */
  | "overdue"
  /** Sent something other than a watch event. */
  | "malformed"
  /** Reset, refused, truncated, 5xx and all other failures. */
  | "broken";

export interface WatchEnd {
  readonly reason: WatchEndReason;
  /** The last resourceVersion is useless. */
  readonly relist: boolean;
  /** Empty after a clean close. */
  readonly message: string;
  readonly error?: unknown;
}

export class MalformedError extends TransientError {}

export class StalledError extends TransientError {}

export class OverdueError extends TransientError {}

export function endOf(error: unknown): WatchEnd {
  const reason = reasonOf(error);
  return {
    reason,
    relist: reason === "expired" || reason === "stalled" || reason === "malformed",
    message: describeError(error),
    error,
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
