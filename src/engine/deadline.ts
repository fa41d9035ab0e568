import type { Clock } from "../core/clock";
import { formatDuration } from "../core/duration";
import { TransientError } from "../core/errors";

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
