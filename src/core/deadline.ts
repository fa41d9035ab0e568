import type { Clock } from "./clock";
import { formatDuration } from "./duration";
import { TransientError } from "./errors";

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
