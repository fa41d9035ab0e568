import type { Clock } from "../../core/clock";
import { type BucketSize, TokenBucket } from "../../core/token-bucket";

/** How fast failing work is tried again: one key, and retries over all keys. The defaults are those of client-go's DefaultControllerRateLimiter. */
export interface RateLimits extends BucketSize {
  /** Delay after a key's first failure; it doubles with each further one. */
  readonly baseDelayMs: number;
  /** A key's delay doubles no further than this. */
  readonly maxDelayMs: number;
}

const DEFAULT_LIMITS: RateLimits = { baseDelayMs: 5, maxDelayMs: 1_000_000, ratePerSecond: 10, burst: 100 };

/** The longer of two delays: exponential for each key, and a token bucket over all keys. */
export class RateLimiter<K = string> {
  readonly #limits: RateLimits;
  readonly #bucket: TokenBucket;
  readonly #failures = new Map<K, number>();

  constructor(clock: Clock, limits: Partial<RateLimits> = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    this.#bucket = new TokenBucket(clock, this.#limits);
  }

  /**
   * Counts a failure of the key and says how many milliseconds to wait before it is tried again. What comes sooner for another reason, at
   * the latest after so many milliseconds, is no retry, and takes none of their places in the bucket.
   */
  when(key: K, atLatestMs = Infinity): number {
    const failures = this.failures(key);
    this.#failures.set(key, failures + 1);
    const { baseDelayMs, maxDelayMs } = this.#limits;
    const delayMs = Math.min(baseDelayMs * 2 ** failures, maxDelayMs);
    return delayMs >= atLatestMs ? atLatestMs : Math.min(Math.max(delayMs, this.#bucket.reserve()), atLatestMs);
  }

  /** The key has succeeded: its next failure is its first again. */
  forget(key: K): void {
    this.#failures.delete(key);
  }

  /** Failures of the key since it last succeeded. */
  failures(key: K): number {
    return this.#failures.get(key) ?? 0;
  }
}
