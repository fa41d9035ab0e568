import type { Clock, Random } from "../../core/clock";
import { publicMessage } from "../../core/errors";
import type { Log } from "../../core/ports";
import { Backoff } from "./backoff";
import { pause } from "./pause";

/** Something that has to be done once, as soon as it can be. */
export interface Errand {
  readonly work: () => Promise<void>;
  /** Logged when it fails, with the error: what that means for the operator. */
  readonly failed: string;
}

/** What errands are run with. */
export interface ErrandPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Ends the trying. */
  readonly signal: AbortSignal;
}

/** Tries again and again until it has worked once; never throws. Tells of a failure, but not of the same one again. Returns whether it has worked. */
export async function untilDone(
  { work, failed }: Errand,
  { clock, random, log, signal }: ErrandPorts,
): Promise<boolean> {
  const backoff = new Backoff(random);
  let told = "";
  while (!signal.aborted) {
    try {
      await work();
      return true;
    } catch (error) {
      const message = publicMessage(error);
      if (message !== told) log.warn({ error: message }, failed);
      told = message;
    }
    await pause(clock, backoff.next(), signal);
  }
  return false;
}
