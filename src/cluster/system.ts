import type { Cancel, Clock, Random } from "../core/clock";
import { MAX_TIMER_MS } from "../core/clock";

/**
 * The machine's own time. Timers keep the process alive on purpose: an operator that waits for its next turn is at work,
 * and whoever sets a timer cancels it when it stops.
 */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  after(delayMs: number, callback: () => void): Cancel {
    const timer = setTimeout(callback, clampDelay(delayMs));
    return () => clearTimeout(timer);
  },
};

/** The machine's own randomness: for jitter, not for secrets. */
export const systemRandom: Random = () => Math.random();

function clampDelay(delayMs: number): number {
  return Number.isNaN(delayMs) ? 0 : Math.min(MAX_TIMER_MS, Math.max(0, delayMs));
}
