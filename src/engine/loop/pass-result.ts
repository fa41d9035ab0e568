import { ConflictError, GoneError } from "../../core/errors";
import type { Execution } from "../../core/intent";
import { retryAfter, type Retry } from "../../core/retry";

/** What to do with a key after its pass. */
export type PassResult =
  /** The object is gone. */
  | { readonly next: "forget" }
  /** All is said: again after that time, or when something changes, or with the timed pass. */
  | { readonly next: "recheck"; readonly afterMs?: number }
  /** The API server asked for patience. */
  | { readonly next: "wait"; readonly afterMs: number }
  /** Something failed that may succeed next time: again with backoff, but after that time at the latest. */
  | { readonly next: "retry"; readonly conflict: boolean; readonly afterMs?: number }
  /** Trying again changes nothing: when something changes, or with the timed pass. */
  | { readonly next: "give-up" };

/** After an error of the pass itself. */
export function nextOf(error: unknown): PassResult {
  const retry = retryAfter(error);
  if (retry === undefined) return { next: "give-up" };
  if (retry.kind === "wait") return { next: "wait", afterMs: retry.afterMs };
  return { next: "retry", conflict: error instanceof ConflictError || error instanceof GoneError };
}

/** When one part of a pass wants the next pass. */
export interface Wish {
  readonly recheckAfterMs?: number;
  readonly retry?: Retry;
}

/** As soon as the closest looks at a flow or a log need it, in milliseconds: what fails for one remedy must not make another blind. Nor is it soon enough to be a storm. */
const LEAST_BESIDE_FAILURE_MS = 5_000;

/** The most urgent wish of all remedies and outcomes. */
export function nextAfter(parts: readonly Wish[], executions: readonly Execution[]): PassResult {
  const afterMs = soonest(parts, executions);
  const results = executions.map(({ outcome }) => outcome.result);
  const hasFailed = results.includes("Failed") || parts.some(({ retry }) => retry?.kind === "backoff");
  if (hasFailed || results.includes("Conflict")) {
    const latest = afterMs === undefined ? {} : { afterMs: Math.max(afterMs, LEAST_BESIDE_FAILURE_MS) };
    return { next: "retry", conflict: !hasFailed, ...latest };
  }
  return { next: "recheck", ...(afterMs === undefined ? {} : { afterMs }) };
}

/** When the first of them wants to be looked at again; undefined: at no certain time. */
function soonest(parts: readonly Wish[], executions: readonly Execution[]): number | undefined {
  const times = [
    ...parts.map(({ recheckAfterMs }) => recheckAfterMs),
    ...executions.map(({ outcome }) => ("retryAfterMs" in outcome ? outcome.retryAfterMs : undefined)),
    ...parts.map(({ retry }) => (retry?.kind === "wait" ? retry.afterMs : undefined)),
  ].filter(time => time !== undefined && Number.isFinite(time));
  return times.length === 0 ? undefined : Math.max(0, Math.min(...times.map(Number)));
}
