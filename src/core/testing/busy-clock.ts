import type { Cancel, Clock } from "../time";
import { settle } from "./fake-clock";

/** A clock that advances by 1 ms on each read, to simulate CPU work. It counts how often the code yields to the event loop. */
export class BusyClock implements Clock {
  /** Number of timers without delay, that is, of yields. */
  turns = 0;
  readonly #clock: Clock;
  #spentMs = 0;

  /** @param clock provides wall-clock time and timers */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns wall-clock time. */
  now(): Date {
    return this.#clock.now();
  }

  /** Returns monotonic time. */
  monotonicMs(): number {
    return this.#clock.monotonicMs() + ++this.#spentMs;
  }

  /** Sets a timer; without delay, it fires after promises have settled. */
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
