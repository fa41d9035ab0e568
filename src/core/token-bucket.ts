import type { Clock } from "./clock";

/** Size of a bucket, and the rate at which it refills. */
export interface BucketSize {
  readonly burst: number;
  readonly ratePerSecond: number;
}

/** A token bucket. */
export class TokenBucket {
  readonly #size: BucketSize;
  readonly #clock: Clock;
  /** Negative while reservations wait. */
  #tokens: number;
  #filledAtMs: number;

  constructor(clock: Clock, size: BucketSize) {
    this.#clock = clock;
    this.#size = size;
    this.#tokens = size.burst;
    this.#filledAtMs = clock.monotonicMs();
  }

  /** Reports whether the whole burst is available. */
  isFull(): boolean {
    this.#fill();
    return this.#tokens === this.#size.burst;
  }

  /** Takes a token; returns false if there is none. */
  take(): boolean {
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  /** Reserves a token. Returns the milliseconds until it is available. */
  reserve(): number {
    this.#fill();
    this.#tokens--;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#size.ratePerSecond) * 1000;
  }

  /** Takes tokens for what has already happened; the bucket may become negative. */
  charge(tokens: number): void {
    this.#fill();
    this.#tokens -= tokens;
  }

  #fill(): void {
    const { burst, ratePerSecond } = this.#size;
    const nowMs = this.#clock.monotonicMs();
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#filledAtMs) / 1000) * ratePerSecond);
    this.#filledAtMs = nowMs;
  }
}
