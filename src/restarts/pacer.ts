import type { Clock } from "../core/time";

/** Default time between two restarts, in milliseconds. */
export const DEFAULT_RESTART_INTERVAL_MS = 10_000;

/** A pod whose token is proven to be dead waits for this share of the interval: it does no work, and many of them die at once. */
const PROVEN_SHARE = 1 / 5;

/**
 * The last protection against a mass restart: all restarts of the operator are an interval apart, with a burst of 1, or a part of it where the
 * next pod is proven to be dead.
 *
 * One permit is out at a time, and the interval starts when it is returned as used. So the interval lies between two restarts from start to start
 * and from end to start, however long a write takes.
 */
export class RestartPacer {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  /** Of the last restart, or of what counts as one. */
  #lastMs: number;
  #permitOut = false;

  /** Starts with an empty bucket, see `startTerm`. */
  constructor(clock: Clock, intervalMs = DEFAULT_RESTART_INTERVAL_MS) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#lastMs = clock.monotonicMs();
  }

  /**
   * Empties the bucket at the start of a term: the previous leader may have restarted a pod in its last moment. After one interval it no longer
   * matters.
   */
  startTerm(): void {
    this.#holdFrom(this.#clock.monotonicMs());
  }

  /** Takes the permit to restart a pod once, now. @returns the time until one may be free, in milliseconds; 0: it was taken */
  take({ isProven = false } = {}): number {
    const intervalMs = this.#intervalMs * (isProven ? PROVEN_SHARE : 1);
    const waitMs = this.#lastMs + intervalMs - this.#clock.monotonicMs();
    if (this.#permitOut) return Math.max(waitMs, intervalMs);
    if (waitMs > 0) return waitMs;
    this.#permitOut = true;
    return 0;
  }

  /** Returns the permit. If the restart was executed, or may have been, the interval starts now. Otherwise it is as if none had been taken. */
  giveBack(wasUsed: boolean): void {
    this.#permitOut = false;
    if (wasUsed) this.#holdFrom(this.#clock.monotonicMs());
  }

  #holdFrom(atMs: number): void {
    this.#lastMs = Math.max(this.#lastMs, atMs);
  }
}
