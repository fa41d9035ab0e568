import type { Clock, Random } from "../../core/time";
import { publicMessage, WaitError } from "../../core/errors";
import type { Log } from "../../core/ports";

// When a request is made again.

/** First and last upper bound of the delays, in milliseconds: client-go's reflector uses the same. */
const FIRST_MS = 800;
const LAST_MS = 30_000;

/** Shortest delay in milliseconds, so that a random zero cannot cause a tight loop. */
const LEAST_MS = 50;

/** Exponential backoff with full jitter: random delays below a bound that doubles from 0.8 s to 30 s, or what the server asked for. */
export class Backoff {
  readonly #random: Random;
  #attempts = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns the next delay in milliseconds: at least the Retry-After of the error. */
  next(error?: unknown): number {
    const bound = Math.min(LAST_MS, FIRST_MS * 2 ** Math.min(this.#attempts, 16));
    this.#attempts++;
    return Math.max(LEAST_MS, this.#random() * bound, error instanceof WaitError ? error.afterMs : 0);
  }

  reset(): void {
    this.#attempts = 0;
  }
}

/** Resolves after `ms` or when the signal fires, and removes its timer and listener. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted || ms <= 0) return Promise.resolve();
  return new Promise(resolve => {
    const end = (): void => {
      cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal.addEventListener("abort", end, { once: true });
  });
}

export interface Errand {
  readonly work: () => Promise<void>;
  /** Log message of a failure. */
  readonly failed: string;
}

export interface ErrandPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Ends the retries. */
  readonly signal: AbortSignal;
}

/** A request to wait is no failure before this time, in milliseconds: the API server refuses a new resource for some seconds. */
const PATIENCE_MS = 30_000;

/**
 * Repeats `work` with backoff until it succeeds; returns false if the signal fires first. Logs each failure once, until the error changes,
 * and requests to wait only if they last.
 */
export async function untilDone(
  { work, failed }: Errand,
  { clock, random, log, signal }: ErrandPorts,
): Promise<boolean> {
  const backoff = new Backoff(random);
  const startedMs = clock.monotonicMs();
  let logged = "";
  while (!signal.aborted) {
    try {
      await work();
      return true;
    } catch (error) {
      const message = publicMessage(error);
      const isShortWait = error instanceof WaitError && clock.monotonicMs() - startedMs < PATIENCE_MS;
      if (isShortWait) log.debug({ error: message }, failed);
      else if (message !== logged) log.warn({ error: message }, failed);
      if (!isShortWait) logged = message;
      await pause(clock, backoff.next(error), signal);
    }
  }
  return false;
}
