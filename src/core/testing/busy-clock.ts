import type { Cancel, Clock } from "../clock";
import { settle } from "./fake-clock";

/** A clock that goes on by a millisecond whenever it is looked at, as for work that takes that long; it counts how often somebody lets others have their turn. */
export class BusyClock implements Clock {
  /** Timers without a delay: what was given way to. */
  turns = 0;
  readonly #clock: Clock;
  #spentMs = 0;

  /** @param clock tells the time of day */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The wall clock. */
  now(): Date {
    return this.#clock.now();
  }

  /** The monotonic clock. */
  monotonicMs(): number {
    return this.#clock.monotonicMs() + ++this.#spentMs;
  }

  /** Fires when promises have settled, if there is no delay. */
  after(delayMs: number, callback: () => void): Cancel {
    if (delayMs > 0) return this.#clock.after(delayMs, callback);
    this.turns++;
    let isCancelled = false;
    void settle().then(() => {
      if (!isCancelled) callback();
    });
    return () => void (isCancelled = true);
  }
}
