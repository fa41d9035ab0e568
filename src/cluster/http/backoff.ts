import type { Random } from "../../core/clock";

/** First and last upper bound of the delays, in milliseconds: client-go's reflector uses the same. */
const FIRST_MS = 800;
const LAST_MS = 30_000;

/** Shortest delay in milliseconds, so that a random zero cannot cause a tight loop. */
const LEAST_MS = 50;

/** Exponential backoff with full jitter: random delays below a bound that doubles from 0.8 s to 30 s. */
export class Backoff {
  readonly #random: Random;
  #attempts = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns the next delay in milliseconds. */
  next(): number {
    const bound = Math.min(LAST_MS, FIRST_MS * 2 ** Math.min(this.#attempts, 16));
    this.#attempts++;
    return Math.max(LEAST_MS, this.#random() * bound);
  }

  reset(): void {
    this.#attempts = 0;
  }
}
