import type { Clock } from "../core/clock";

/** How fast failing work is tried again. The defaults are those of client-go's DefaultControllerRateLimiter. */
export interface RateLimits {
  /** Delay after a key's first failure; it doubles with each further one. */
  readonly baseDelayMs: number;
  /** A key's delay doubles no further than this. */
  readonly maxDelayMs: number;
  /** Retries per second over all keys. */
  readonly ratePerSecond: number;
  /** Retries that may come at once before that rate holds. */
  readonly burst: number;
}

const DEFAULT_LIMITS: RateLimits = { baseDelayMs: 5, maxDelayMs: 1_000_000, ratePerSecond: 10, burst: 100 };

/** The longer of two delays: exponential for each key, and a token bucket over all keys. */
export class RateLimiter<K = string> {
  readonly #limits: RateLimits;
  readonly #clock: Clock;
  readonly #failures = new Map<K, number>();
  /** Below 0 while retries are promised for later. */
  #tokens: number;
  #filledAtMs: number;

  constructor(clock: Clock, limits: Partial<RateLimits> = {}) {
    this.#clock = clock;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    this.#tokens = this.#limits.burst;
    this.#filledAtMs = clock.monotonicMs();
  }

  /** Counts a failure of the key and says how many milliseconds to wait before it is tried again. */
  when(key: K): number {
    const failures = this.failures(key);
    this.#failures.set(key, failures + 1);
    const { baseDelayMs, maxDelayMs } = this.#limits;
    return Math.max(Math.min(baseDelayMs * 2 ** failures, maxDelayMs), this.#reserve());
  }

  /** The key has succeeded: its next failure is its first again. */
  forget(key: K): void {
    this.#failures.delete(key);
  }

  /** Failures of the key since it last succeeded. */
  failures(key: K): number {
    return this.#failures.get(key) ?? 0;
  }

  #reserve(): number {
    const { ratePerSecond, burst } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    const filled = this.#tokens + ((nowMs - this.#filledAtMs) / 1000) * ratePerSecond;
    this.#filledAtMs = nowMs;
    this.#tokens = Math.min(burst, filled) - 1;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / ratePerSecond) * 1000;
  }
}
