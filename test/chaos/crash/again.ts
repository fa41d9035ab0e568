/**
 * The trouble of a run in which the write at which something was to happen never came: if nothing else is different, nothing was injected.
 * What status says in two writes is at times said in one, where the second of them comes soon enough.
 */
export const NEVER_CAME = "the write at which it was to happen never came";

/** So often is a run played whose write does not come. */
const MOST_TRIES = 3;

/** What a run did otherwise than the recorded one, as sentences. */
type Differences = readonly string[];

/** Plays until the write comes, or was waited for often enough; returns the differences of the last run. */
export async function untilInjected(play: () => Promise<Differences>): Promise<Differences> {
  for (let tries = 1; ; tries++) {
    const found = await play();
    if (!isAbsent(found) || tries === MOST_TRIES) return found;
  }
}

/** Whether nothing was injected, and nothing else was different. */
export function isAbsent(found: Differences): boolean {
  return found.join() === NEVER_CAME;
}
