import { ConflictError, GoneError, retryAfter, type Retry } from "../../core/errors";
import type { Execution } from "../../core/intent";
import { doubled, type Clock, type BucketSize, TokenBucket } from "../../core/time";

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
  const retry = retryAfter(error);
  if (retry === undefined) return { next: "give-up" };
  if (retry.kind === "wait") return { next: "wait", afterMs: retry.afterMs };
  return { next: "retry", conflict: error instanceof ConflictError || error instanceof GoneError };
}

/** When one part of a pass needs the next pass. */
export interface RequeueRequest {
  readonly recheckAfterMs?: number;
  readonly retry?: Retry;
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
  const hasFailed = requests.some(({ retry }) => retry?.kind === "backoff");
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
    ...requests.map(({ retry }) => (retry?.kind === "wait" ? retry.afterMs : undefined)),
  ].filter(time => time !== undefined && Number.isFinite(time));
  return times.length === 0 ? undefined : Math.max(0, Math.min(...times.map(Number)));
}

/** Limits for retries of each key and of all keys together. The defaults are those of client-go's DefaultControllerRateLimiter. */
export interface RateLimits extends BucketSize {
  /** Delay after the first failure of a key; doubles with each further failure. */
  readonly baseDelayMs: number;
  /** Maximum delay of a key. */
  readonly maxDelayMs: number;
}

const DEFAULT_LIMITS: RateLimits = { baseDelayMs: 5, maxDelayMs: 1_000_000, ratePerSecond: 10, burst: 100 };

/** Longest wait for a token. Keys that fail again while they wait would otherwise take tokens without end. */
const LONGEST_QUEUE_MS = 30_000;

/** Delays retries by the longer of two delays: exponential backoff per key, and a token bucket for all keys. */
export class RateLimiter<K = string> {
  readonly #limits: RateLimits;
  readonly #bucket: TokenBucket;
  readonly #failures = new Map<K, number>();

  constructor(clock: Clock, limits: Partial<RateLimits> = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    this.#bucket = new TokenBucket(clock, this.#limits);
  }

  /**
   * Counts a failure of the key and returns the delay of its retry in milliseconds, at most `limitMs`. If backoff alone reaches
   * `limitMs`, the key is requeued for another reason than the retry, which takes no token.
   */
  when(key: K, limitMs = Infinity): number {
    const failures = this.failures(key);
    this.#failures.set(key, failures + 1);
    const { baseDelayMs, maxDelayMs } = this.#limits;
    const delayMs = doubled({ firstMs: baseDelayMs, lastMs: maxDelayMs }, failures);
    if (delayMs >= limitMs) return limitMs;
    return Math.max(delayMs, this.#bucket.reserve(Math.min(limitMs, LONGEST_QUEUE_MS)));
  }

  /** Resets the failures of a key after a success. */
  forget(key: K): void {
    this.#failures.delete(key);
  }

  /** Returns the failures of a key since its last success. */
  failures(key: K): number {
    return this.#failures.get(key) ?? 0;
  }
}
