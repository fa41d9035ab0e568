import type { Cancel, Clock } from "../../core/clock";
import { TransientError } from "../../core/errors";
import type { Identified } from "./view-cache";
import type { WatchCache } from "./watch";

/** The first read waits this long for the cache to fill. */
export const FIRST_READ_MS = 5_000;

/**
 * Returns the cache that `find` finds, once its first list has succeeded or failed, or after `waitMs`. Another cache can have replaced it
 * meanwhile, so it is found again.
 *
 * @throws TransientError if there is none, since the operator is stopping
 */
export async function firstRead<C extends Pick<WatchCache<Identified>, "isAttempted" | "attempted">>(
  clock: Clock,
  what: string,
  find: () => C | undefined,
  waitMs = FIRST_READ_MS,
): Promise<C> {
  const found = (): C => {
    const cache = find();
    if (cache === undefined) throw new TransientError(`${what}: the operator is stopping`);
    return cache;
  };
  let cache = found();
  if (cache.isAttempted()) return cache;
  let cancel: Cancel = () => undefined;
  const timeout = new Promise<"late">(resolve => (cancel = clock.after(waitMs, () => resolve("late"))));
  try {
    while (!cache.isAttempted()) {
      if ((await Promise.race([cache.attempted(), timeout])) === "late") break;
      cache = found();
    }
    return cache;
  } finally {
    cancel();
  }
}
