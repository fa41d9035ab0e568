import type { Clock } from "../../core/clock";
import { type BucketSize, TokenBucket } from "../../core/token-bucket";

/** Limits for retries of each key and of all keys together. The defaults are those of client-go's DefaultControllerRateLimiter. */
export interface RateLimits extends BucketSize {
  /** Delay after the first failure of a key; doubles with each further failure. */
  readonly baseDelayMs: number;
  /** Maximum delay of a key. */
  readonly maxDelayMs: number;
}

const DEFAULT_LIMITS: RateLimits = { baseDelayMs: 5, maxDelayMs: 1_000_000, ratePerSecond: 10, burst: 100 };

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
    const delayMs = Math.min(baseDelayMs * 2 ** failures, maxDelayMs);
    return delayMs >= limitMs ? limitMs : Math.min(Math.max(delayMs, this.#bucket.reserve()), limitMs);
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
