import { ConflictError, GoneError, TerminalError, WaitError } from "../../core/errors";
import type { Execution } from "../../core/intent";

/** When to requeue a key after its pass. */
export type PassResult =
  /** The object does not exist. */
  | { readonly next: "forget" }
  /** Nothing failed: requeue after `afterMs`, if set; else on the next event or full pass. */
  | { readonly next: "recheck"; readonly afterMs?: number }
  /** The API server asked to retry after `afterMs`. */
  | { readonly next: "wait"; readonly afterMs: number }
  /** A transient failure: requeue with backoff, but after `afterMs` at the latest. */
  | { readonly next: "retry"; readonly conflict: boolean; readonly afterMs?: number }
  /** A permanent failure: wait for the next event or full pass. */
  | { readonly next: "give-up" };

/** Returns the result of a pass that failed with this error. */
export function nextOf(error: unknown): PassResult {
  if (error instanceof WaitError) return { next: "wait", afterMs: error.afterMs };
  if (error instanceof TerminalError) return { next: "give-up" };
  return { next: "retry", conflict: error instanceof ConflictError || error instanceof GoneError };
}

/** When one part of a pass needs the next pass. */
export interface RequeueRequest {
  readonly recheckAfterMs?: number;
  /** It failed, and may succeed after a backoff. */
  readonly hasFailed?: boolean;
}

/** Returns what a part that failed needs: the delay that the API server asked for, or a backoff. */
export function requeueOf(error: unknown): RequeueRequest {
  return error instanceof WaitError ? { recheckAfterMs: error.afterMs } : { hasFailed: true };
}

/**
 * Minimum requeue delay after a failure, in milliseconds, where a remedy asks for an earlier pass than the backoff. Short enough
 * for a remedy that samples a flow or a log often, and long enough not to hammer the API server.
 */
const MIN_AFTER_FAILURE_MS = 5_000;

/** Combines the requests of all remedies and the outcomes of all writes: the earliest requeue wins. */
export function nextAfter(requests: readonly RequeueRequest[], executions: readonly Execution[]): PassResult {
  const afterMs = soonest(requests, executions);
  // A write that failed has its own backoff: each pass meanwhile is no further failure.
  const hasFailed = requests.some(request => request.hasFailed);
  if (hasFailed || executions.some(({ outcome }) => outcome.result === "Conflict")) {
    const latest = afterMs === undefined ? {} : { afterMs: Math.max(afterMs, MIN_AFTER_FAILURE_MS) };
    return { next: "retry", conflict: !hasFailed, ...latest };
  }
  return { next: "recheck", ...(afterMs === undefined ? {} : { afterMs }) };
}

/** Returns the earliest requested delay; undefined if there is none. */
function soonest(requests: readonly RequeueRequest[], executions: readonly Execution[]): number | undefined {
  const times = [
    ...requests.map(({ recheckAfterMs }) => recheckAfterMs),
    ...executions.map(({ outcome }) => ("retryAfterMs" in outcome ? outcome.retryAfterMs : undefined)),
  ].filter(time => time !== undefined && Number.isFinite(time));
  return times.length === 0 ? undefined : Math.max(0, Math.min(...times.map(Number)));
}
