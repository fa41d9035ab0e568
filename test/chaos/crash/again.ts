/**
 * The failure of a run in which the planned write never came. Without another difference this means that nothing was injected: the operator at times
 * merges two writes of status into one, if the second follows soon enough.
 */
export const NEVER_CAME = "the write at which the fault was planned never came";

/** Number of runs for a write that does not come. */
const MOST_TRIES = 3;

/** Differences between a run and the recorded one, one sentence each. */
type Differences = readonly string[];

/** Repeats the run until the write comes, or a limit is reached; returns the differences of the last run. */
export async function untilInjected(play: () => Promise<Differences>): Promise<Differences> {
  for (let tries = 1; ; tries++) {
    const found = await play();
    if (!isAbsent(found) || tries === MOST_TRIES) return found;
  }
}

/** Whether nothing was injected, and there was no other difference. */
export function isAbsent(found: Differences): boolean {
  return found.join() === NEVER_CAME;
}
