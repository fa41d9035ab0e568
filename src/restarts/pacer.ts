import type { Clock } from "../core/time";

/**
 * Permission to restart once. Call it once, afterwards: if the restart was executed, or may have been, the interval starts now. Otherwise it is as if
 * it had not been requested.
 */
export type RestartPermit = (wasUsed: boolean) => void;

export type PacerAnswer =
  | { readonly allowed: true; readonly permit: RestartPermit }
  | { readonly allowed: false; readonly retryAfterMs: number };

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

  /** Requests permission to restart a pod once, now. */
  ask({ isProven = false } = {}): PacerAnswer {
    const intervalMs = this.#intervalMs * (isProven ? PROVEN_SHARE : 1);
    const waitMs = this.#lastMs + intervalMs - this.#clock.monotonicMs();
    if (this.#permitOut) return { allowed: false, retryAfterMs: Math.max(waitMs, intervalMs) };
    if (waitMs > 0) return { allowed: false, retryAfterMs: waitMs };
    this.#permitOut = true;
    return { allowed: true, permit: this.#issue() };
  }

  #issue(): RestartPermit {
    let isOut = true;
    return wasUsed => {
      if (!isOut) return;
      isOut = false;
      this.#permitOut = false;
      if (wasUsed) this.#holdFrom(this.#clock.monotonicMs());
    };
  }

  #holdFrom(atMs: number): void {
    this.#lastMs = Math.max(this.#lastMs, atMs);
  }
}
