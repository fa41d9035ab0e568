import { askedMs, backoffMs, type Clock, type Random } from "../../core/time";
import { publicMessage, WaitError } from "../../core/errors";
import type { Log } from "../../core/ports";

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

/** Repeats `work` with backoff until it succeeds; returns false if the signal fires first. Logs each failure, and requests to wait only if they last. */
export async function untilDone(
  { work, failed }: Errand,
  { clock, random, log, signal }: ErrandPorts,
): Promise<boolean> {
  const startedMs = clock.monotonicMs();
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      await work();
      return true;
    } catch (error) {
      const isShortWait = error instanceof WaitError && clock.monotonicMs() - startedMs < PATIENCE_MS;
      log[isShortWait ? "debug" : "warn"]({ error: publicMessage(error) }, failed);
      await pause(clock, backoffMs(failures, random, askedMs(error)), signal);
    }
  }
  return false;
}
