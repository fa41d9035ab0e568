import type { Clock } from "./clock";
import { formatDuration } from "./duration";
import { TransientError } from "./errors";

/** Longest wait for one read or write of a ControllerResilience. */
export const STORE_DEADLINE_MS = 30_000;

/**
 * Waits for work, but not for ever. What the work does after its deadline is ignored; it can't be stopped.
 *
 * @throws TransientError when the deadline passes first, naming `what`; else whatever the work throws
 */
export function withDeadline<T>(clock: Clock, limitMs: number, what: string, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(limitMs, () => {
      reject(new TransientError(`${what} gave no answer within ${formatDuration(limitMs)}`));
    });
    // Inside an async function, so that work which throws before its first await is caught as well.
    (async () => work())().then(resolve, reject).finally(cancel);
  });
}
