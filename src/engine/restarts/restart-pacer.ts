import type { Clock } from "../../core/clock";

/** The right to restart once. It must be given back by exactly one of its methods. */
export interface RestartPermit {
  /** The restart was carried out, or may have been: the interval begins now. */
  used(): void;
  /** It certainly was not carried out: as if it had never been asked for. */
  unused(): void;
}

/** The answer of the pacer. */
export type BrakeVerdict =
  | { readonly allowed: true; readonly permit: RestartPermit }
  | { readonly allowed: false; readonly retryAfterMs: number };

/** Never more than one restart of anything per this time, unless the installer says otherwise. */
export const DEFAULT_RESTART_INTERVAL_MS = 10_000;

/**
 * The last line against a mass restart: whatever many remedies ask for, restarts are an interval apart, with a burst of 1.
 *
 * While a permit is out nobody gets another, and the interval begins when a permit comes back as used. So restarts are
 * apart by the interval however long a write takes, both from start to start and from end to start.
 */
export class RestartPacer {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  #notBeforeMs: number;
  #permitOut = false;
  #newestSeenMs = -Infinity;

  /** Begins with an empty bucket, see `startTerm`. */
  constructor(clock: Clock, intervalMs = DEFAULT_RESTART_INTERVAL_MS) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#notBeforeMs = clock.monotonicMs() + intervalMs;
  }

  /**
   * Leading begins: the bucket is empty. The leader before may have restarted something in its last moment, and nothing
   * that could be read quickly says so for all objects; after one interval it no longer matters.
   */
  startTerm(): void {
    this.#holdFrom(this.#clock.monotonicMs());
  }

  /**
   * Tells of a restart that stands in some status, such as one that the leader before had written down and carried out
   * late. A time in the future, from a clock that was ahead, counts as now; each time counts once, or it would hold the
   * pacer until the clocks agree.
   */
  seed(time: Date): void {
    const timeMs = time.getTime();
    if (!(timeMs > this.#newestSeenMs)) return;
    this.#newestSeenMs = timeMs;
    const ageMs = Math.max(0, this.#clock.now().getTime() - timeMs);
    this.#holdFrom(this.#clock.monotonicMs() - ageMs);
  }

  /** Asks for the right to restart once, now. */
  ask(): BrakeVerdict {
    const waitMs = this.#notBeforeMs - this.#clock.monotonicMs();
    if (this.#permitOut) return { allowed: false, retryAfterMs: Math.max(waitMs, this.#intervalMs) };
    if (waitMs > 0) return { allowed: false, retryAfterMs: waitMs };
    this.#permitOut = true;
    return { allowed: true, permit: this.#issue() };
  }

  #issue(): RestartPermit {
    let out = true;
    const giveBack = (used: boolean) => {
      if (!out) return;
      out = false;
      this.#permitOut = false;
      if (used) this.#holdFrom(this.#clock.monotonicMs());
    };
    return { used: () => giveBack(true), unused: () => giveBack(false) };
  }

  #holdFrom(atMs: number): void {
    this.#notBeforeMs = Math.max(this.#notBeforeMs, atMs + this.#intervalMs);
  }
}
