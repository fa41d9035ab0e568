import type { Clock, Random } from "../../core/clock";
import { publicMessage } from "../../core/errors";
import type { Log } from "../../core/ports";
import { Backoff } from "./backoff";
import { pause } from "./pause";

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

/** Repeats `work` with backoff until it succeeds; returns false if the signal fires first. Logs each failure once, until the error changes. */
export async function untilDone(
  { work, failed }: Errand,
  { clock, random, log, signal }: ErrandPorts,
): Promise<boolean> {
  const backoff = new Backoff(random);
  let logged = "";
  while (!signal.aborted) {
    try {
      await work();
      return true;
    } catch (error) {
      const message = publicMessage(error);
      if (message !== logged) log.warn({ error: message }, failed);
      logged = message;
    }
    await pause(clock, backoff.next(), signal);
  }
  return false;
}
