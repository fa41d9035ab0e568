/** Cancels a timer that has not fired; harmless afterwards. */
export type Cancel = () => void;

/** Where time comes from. Everything in core, engine and the remedies uses this, so that tests own the time. */
export interface Clock {
  /** The wall clock, for what is written down and compared with the cluster's timestamps. */
  now(): Date;
  /** Milliseconds that never go backwards, for measuring how long something took. */
  monotonicMs(): number;
  /** Calls `callback` once, `delayMs` from now. Delays are clamped to 0..2^31-1 ms, beyond which Node's timers fire at once. */
  after(delayMs: number, callback: () => void): Cancel;
}

/** Longest delay that a timer of Node takes; a longer one would fire immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Where randomness comes from: a number in [0, 1). */
export type Random = () => number;
