import type { Clock } from "./clock";

/** How often something may happen: `burst` times at once, and `ratePerSecond` times a second after that. */
export interface BucketSize {
  readonly burst: number;
  readonly ratePerSecond: number;
}

/** Counts what happens against a rate. */
export class TokenBucket {
  readonly #size: BucketSize;
  readonly #clock: Clock;
  /** Below 0 while something is promised for later. */
  #tokens: number;
  #filledAtMs: number;

  constructor(clock: Clock, size: BucketSize) {
    this.#clock = clock;
    this.#size = size;
    this.#tokens = size.burst;
    this.#filledAtMs = clock.monotonicMs();
  }

  /** Whether nothing has happened for so long that all of the burst may. */
  isFull(): boolean {
    this.#fill();
    return this.#tokens === this.#size.burst;
  }

  /** Whether it may happen now; if not, it is not counted. */
  take(): boolean {
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  /** Counts it in any case. Returns how many milliseconds it has to wait. */
  reserve(): number {
    this.#fill();
    this.#tokens--;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#size.ratePerSecond) * 1000;
  }

  #fill(): void {
    const { burst, ratePerSecond } = this.#size;
    const nowMs = this.#clock.monotonicMs();
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#filledAtMs) / 1000) * ratePerSecond);
    this.#filledAtMs = nowMs;
  }
}
