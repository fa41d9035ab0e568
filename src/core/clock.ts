/** Cancels a timer; does nothing if it has fired. */
export type Cancel = () => void;

/** Servers whose time {@link Clock.now} may be contradict each other. */
export interface ClockDoubt {
  /** How far their clocks differ. */
  readonly differenceMs: number;
  /** The earliest time that one of them shows. */
  readonly earliest: Date;
}

/** The source of time for core, engine and the remedies, so that tests control time. */
export interface Clock {
  /** Returns wall-clock time, for stored times and comparison with timestamps of the cluster. */
  now(): Date;
  /** Returns monotonic milliseconds, for measuring durations. */
  monotonicMs(): number;
  /** Returns why `now` may be far from the truth; undefined if nothing says so. A clock without it is never in doubt. */
  doubt?(): ClockDoubt | undefined;
  /** Calls `callback` once, `delayMs` from now. Delays are clamped to 0..2^31-1 ms. */
  after(delayMs: number, callback: () => void): Cancel;
}

/** Returns the earliest time that it may be. */
export function earliestOf(clock: Clock): Date {
  return clock.doubt?.()?.earliest ?? clock.now();
}

/** Maximum delay of a Node.js timer; a longer one would fire immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Returns a random number in [0, 1). */
export type Random = () => number;
