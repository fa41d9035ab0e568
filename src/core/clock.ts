/** Cancels a timer; does nothing if it has fired. */
export type Cancel = () => void;

/** The source of time for core, engine and the remedies, so that tests control time. */
export interface Clock {
  /** Returns wall-clock time, for stored times and comparison with timestamps of the cluster. */
  now(): Date;
  /** Returns monotonic milliseconds, for measuring durations. */
  monotonicMs(): number;
  /** Calls `callback` once, `delayMs` from now. Delays are clamped to 0..2^31-1 ms. */
  after(delayMs: number, callback: () => void): Cancel;
}

/** Maximum delay of a Node.js timer; a longer one would fire immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Returns a random number in [0, 1). */
export type Random = () => number;
