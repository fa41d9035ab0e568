import type { Random } from "../../core/clock";

/** First and last upper bound of the delays, in milliseconds: those of client-go's reflector. */
const FIRST_MS = 800;
const LAST_MS = 30_000;

/** Never less than this, so that luck with the dice can't make a tight loop. */
const LEAST_MS = 50;

/** Delays with full jitter: anywhere between nothing and a bound that doubles from 0.8 s to 30 s. */
export class Backoff {
  readonly #random: Random;
  #attempts = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** How many delays were given since the last reset. */
  get attempts(): number {
    return this.#attempts;
  }

  /** The next delay in milliseconds. */
  next(): number {
    const bound = Math.min(LAST_MS, FIRST_MS * 2 ** Math.min(this.#attempts, 16));
    this.#attempts++;
    return Math.max(LEAST_MS, this.#random() * bound);
  }

  /** After success. */
  reset(): void {
    this.#attempts = 0;
  }
}
