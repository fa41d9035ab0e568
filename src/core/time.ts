import { TransientError, WaitError } from "./errors";

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

/**
 * Largest difference, in milliseconds, between a timestamp that the API server wrote and the operator's own record of the same
 * moment: clocks of a cluster's nodes are synchronized.
 */
export const CLOCK_SKEW_MS = 5_000;

/** Formats a time as metav1.Time: RFC 3339 in whole seconds, rounded down. */
export function toSeconds(time: Date): string {
  return new Date(Math.floor(time.getTime() / 1000) * 1000).toISOString().replace(".000Z", "Z");
}

/** Formats a time as metav1.MicroTime: RFC 3339 with six digits. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}

const MS_PER_UNIT = { h: 3_600_000, m: 60_000, s: 1_000 } as const;

/**
 * Returns the milliseconds of a duration of the API: whole numbers with h, m or s, such as `90s`, `15m` or `1h30m`.
 *
 * @throws RangeError for any other text. The API server rejects such values, so this is a bug.
 */
export function parseDuration(text: string): number {
  let totalMs = 0;
  let digits = "";
  for (const char of text) {
    if (char >= "0" && char <= "9") {
      digits += char;
      continue;
    }
    if (digits === "" || !(char in MS_PER_UNIT)) throw invalid(text);
    totalMs += Number(digits) * MS_PER_UNIT[char as keyof typeof MS_PER_UNIT];
    digits = "";
  }
  if (text === "" || digits !== "") throw invalid(text);
  return totalMs;
}

function invalid(text: string): RangeError {
  return new RangeError(
    `expected a duration of whole numbers with h, m or s, such as 90s, 15m or 1h30m, got "${text}"`,
  );
}

/** Formats a duration as kubectl prints ages, with at most two units. */
export function formatDuration(ms: number): string {
  const totalSeconds = Math.max(0, Math.round(ms / 1000));
  const units: [number, string][] = [
    [Math.floor(totalSeconds / 86_400), "d"],
    [Math.floor(totalSeconds / 3_600) % 24, "h"],
    [Math.floor(totalSeconds / 60) % 60, "m"],
    [totalSeconds % 60, "s"],
  ];
  const first = units.findIndex(([amount]) => amount > 0);
  if (first < 0) return "0s";
  return units
    .slice(first, first + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount}${unit}`)
    .join("");
}

/** Timeout of one read or write of a ControllerResilience. */
export const STORE_DEADLINE_MS = 30_000;

/**
 * Runs work with a deadline. The work is not canceled at the deadline; its result is ignored.
 *
 * @throws TransientError that names `what` if the deadline passes first
 */
export function withDeadline<T>(clock: Clock, limitMs: number, what: string, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(limitMs, () => {
      reject(new TransientError(`${what} timed out after ${formatDuration(limitMs)}`));
    });
    // The async function turns a synchronous throw into a rejection.
    (async () => work())().then(resolve, reject).finally(cancel);
  });
}

/** Resolves after `ms` or when the signal fires, and removes its timer and listener. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true || ms <= 0) return Promise.resolve();
  return new Promise(resolve => {
    const end = (): void => {
      cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal?.addEventListener("abort", end, { once: true });
  });
}

/** Size of a bucket, and the rate at which it refills. */
export interface BucketSize {
  readonly burst: number;
  readonly ratePerSecond: number;
}

/** A token bucket. */
export class TokenBucket {
  readonly #size: BucketSize;
  readonly #clock: Clock;
  /** Negative while reservations wait. */
  #tokens: number;
  #filledAtMs: number;

  constructor(clock: Clock, size: BucketSize) {
    this.#clock = clock;
    this.#size = size;
    this.#tokens = size.burst;
    this.#filledAtMs = clock.monotonicMs();
  }

  /** Reports whether the whole burst is available. */
  isFull(): boolean {
    this.#fill();
    return this.#tokens === this.#size.burst;
  }

  /** Takes a token; returns false if there is none. */
  take(): boolean {
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  /** Reserves a token. Returns the milliseconds until it is available. */
  reserve(): number {
    this.#fill();
    const waitMs = Math.max(0, ((1 - this.#tokens) / this.#size.ratePerSecond) * 1000);
    this.#tokens--;
    return waitMs;
  }

  /** Takes tokens for what has already happened; the bucket may become negative. */
  charge(tokens: number): void {
    this.#fill();
    this.#tokens -= tokens;
  }

  #fill(): void {
    const { burst, ratePerSecond } = this.#size;
    const nowMs = this.#clock.monotonicMs();
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#filledAtMs) / 1000) * ratePerSecond);
    this.#filledAtMs = nowMs;
  }
}

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

/** Largest time that a Date can hold. */
const MAX_DATE_MS = 8.64e15;

/** RFC 3339 in whole seconds, as the API server prints times; undefined for an invalid time. */
export function describeTime(ms: number): string | undefined {
  return Math.abs(ms) <= MAX_DATE_MS ? toSeconds(new Date(ms)) : undefined;
}

/** The same for messages. */
export function timeInMessage(ms: number): string {
  return describeTime(ms) ?? "an unknown time";
}
