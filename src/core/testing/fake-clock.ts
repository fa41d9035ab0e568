import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { MAX_TIMER_MS, type Cancel, type Clock, type Random } from "../clock";

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** More timers than this within one step mean that the code under test re-arms one without delay for ever. */
const MAX_FIRED_PER_STEP = 1_000_000;

/** A clock that stands still until a test moves it. The wall clock and the monotonic clock can be moved apart. */
export class FakeClock implements Clock {
  /** Not 0, so that code which takes 0 for "never" is found out. */
  #monotonicMs = 5_000;
  #wallOffsetMs: number;
  readonly #timers = new Set<Timer>();

  constructor(start: Date | string = "2025-01-01T00:00:00Z") {
    this.#wallOffsetMs = new Date(start).getTime() - this.#monotonicMs;
  }

  /** The wall clock. */
  now(): Date {
    return new Date(this.#monotonicMs + this.#wallOffsetMs);
  }

  /** The monotonic clock. */
  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** Arms a timer; it fires inside `advance` and `run` only. */
  after(delayMs: number, callback: () => void): Cancel {
    const clamped = Math.min(Math.max(0, delayMs), MAX_TIMER_MS);
    const timer = { dueMs: this.#monotonicMs + clamped, callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Timers that have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Moves time on and fires what is due, in order of time, each at its own moment. Promises settle afterwards. */
  advance(ms: number): void {
    const endMs = this.#monotonicMs + ms;
    for (let fired = 0; fired < MAX_FIRED_PER_STEP; fired++) {
      if (!this.#fireNext(endMs)) {
        this.#monotonicMs = endMs;
        return;
      }
    }
    throw new Error("timers are re-armed without delay for ever");
  }

  /** As `advance`, and lets promises settle before the first timer and after each. */
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
    throw new Error("timers are re-armed without delay for ever");
  }

  /** Time goes by and no timer fires, as in a process that is stopped (SIGSTOP) or a busy event loop. What is due fires with the next step. */
  freeze(ms: number): void {
    this.#monotonicMs += ms;
  }

  /** Moves the wall clock alone, as NTP or a person does. */
  jumpWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  /** The same time seen on another machine, whose wall clock is wrong by that much. */
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

/** Lets every promise that can settle without time or I/O settle. */
export async function settle(): Promise<void> {
  await yieldToEventLoop();
}

/** The same numbers each time for the same seed (mulberry32, a public-domain generator). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
