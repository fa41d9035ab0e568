import { type Cancel, type Clock, type Random, MAX_TIMER_MS } from "../core/time";

/**
 * The local clock. Its timers keep the process alive while the operator waits, so every owner of a timer cancels it when it stops.
 */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  after(delayMs: number, callback: () => void): Cancel {
    const timer = setTimeout(callback, Number.isNaN(delayMs) ? 0 : Math.min(MAX_TIMER_MS, Math.max(0, delayMs)));
    return () => clearTimeout(timer);
  },
};

/** For jitter, not for secrets. */
export const systemRandom: Random = () => Math.random();
