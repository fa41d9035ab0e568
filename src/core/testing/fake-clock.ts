import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { MAX_TIMER_MS, type Cancel, type Clock, type Random } from "../time";

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** Above this number of timers in one step, the code under test re-arms a timer without delay in an endless loop. */
const MAX_FIRED_PER_STEP = 1_000_000;

/** A clock that only a test advances. Wall clock and monotonic clock can diverge. */
export class FakeClock implements Clock {
  /** Not 0, to detect code that treats 0 as "never". */
  #monotonicMs = 5_000;
  #wallOffsetMs: number;
  readonly #timers = new Set<Timer>();

  constructor(start: Date | string = "2025-01-01T00:00:00Z") {
    this.#wallOffsetMs = new Date(start).getTime() - this.#monotonicMs;
  }

  /** Returns wall-clock time. */
  now(): Date {
    return new Date(this.#monotonicMs + this.#wallOffsetMs);
  }

  /** Returns monotonic time. */
  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** Sets a timer, which fires only in `advance` and `run`. */
  after(delayMs: number, callback: () => void): Cancel {
    const clamped = Math.min(Math.max(0, delayMs), MAX_TIMER_MS);
    const timer = { dueMs: this.#monotonicMs + clamped, callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Number of timers that have neither fired nor been canceled. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Advances time and fires due timers in order, each at its own time. Promises settle afterwards. */
  advance(ms: number): void {
    const endMs = this.#monotonicMs + ms;
    for (let fired = 0; fired < MAX_FIRED_PER_STEP; fired++) {
      if (!this.#fireNext(endMs)) {
        this.#monotonicMs = endMs;
        return;
      }
    }
    throw new Error("a timer is re-armed without delay in an endless loop");
  }

  /** As `advance`, but promises settle before the first timer and after each timer. */
  async run(ms: number): Promise<void> {
    const endMs = this.#monotonicMs + ms;
    await settle();
    for (let fired = 0; fired < MAX_FIRED_PER_STEP; fired++) {
      if (!this.#fireNext(endMs)) {
        this.#monotonicMs = endMs;
        return;
      }
      await settle();
    }
    throw new Error("a timer is re-armed without delay in an endless loop");
  }

  /** Advances time without firing timers, as in a frozen process (SIGSTOP) or a blocked event loop. They fire in the next step. */
  freeze(ms: number): void {
    this.#monotonicMs += ms;
  }

  /** Changes the wall clock only, as NTP does. */
  jumpWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  /** Returns this clock as seen by a machine whose wall clock is off by `offsetMs`. */
  skewed(offsetMs: number): Clock {
    return {
      now: () => new Date(this.now().getTime() + offsetMs),
      monotonicMs: () => this.monotonicMs(),
      after: (delayMs, callback) => this.after(delayMs, callback),
    };
  }

  #fireNext(endMs: number): boolean {
    let next: Timer | undefined;
    for (const timer of this.#timers) if (next === undefined || timer.dueMs < next.dueMs) next = timer;
    if (next === undefined || next.dueMs > endMs) return false;
    this.#timers.delete(next);
    this.#monotonicMs = Math.max(this.#monotonicMs, next.dueMs);
    next.callback();
    return true;
  }
}

/** Waits until all promises that need neither time nor I/O are settled. */
export async function settle(): Promise<void> {
  await yieldToEventLoop();
}

/** Returns the same sequence for the same seed (mulberry32, public domain). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
