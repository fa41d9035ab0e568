import { WaitError } from "./errors";
import type { Random } from "./time";

// When anything that failed is tried again: one policy for requests, watches, writes, passes, Events, notifications and the election. Pure.

/** First and last wait, in milliseconds. */
export interface BackoffBounds {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** For requests: client-go's reflector uses the same. */
const REQUESTS: BackoffBounds = { firstMs: 800, lastMs: 30_000 };

/** Shortest random wait in milliseconds, so that a random zero cannot cause a tight loop. */
const LEAST_MS = 50;

/** Returns a wait that doubles with each failure before this one. */
export function doubled({ firstMs, lastMs }: BackoffBounds, failures: number): number {
  return Math.min(lastMs, firstMs * 2 ** Math.min(failures, 64));
}

/** Returns how long the server asked to wait (Retry-After), in milliseconds; 0 if it did not. */
export function askedMs(error: unknown): number {
  return error instanceof WaitError ? error.afterMs : 0;
}

/** Returns the wait before a request is repeated: at random below a bound that doubles, but at least `waitMs`, which the server asked for. */
export function backoffMs(failures: number, random: Random, waitMs = 0, bounds = REQUESTS): number {
  return Math.max(LEAST_MS, random() * doubled(bounds, failures), waitMs);
}
