import type { Clock } from "./clock";

/** Work that may take long, and that may be interrupted wherever it yields. */
export type Steps<T = void> = Generator<void, T>;

/** After so long, in milliseconds, the work lets others have their turn: the Lease, the probes, answers that have come. */
const TURN_MS = 10;

/** Who waits for a turn, in order. All who share a clock share an event loop. */
const waiting = new WeakMap<Clock, (() => void)[]>();

/**
 * Does the work in turns, so that the event loop is never held up for much longer than one of its steps, whatever its length. What follows on
 * long work is long as well, mostly, and begins with a turn of its own.
 */
export async function inSlices<T>(clock: Clock, steps: Steps<T>): Promise<T> {
  // What has come at once would be begun at once, one after the other.
  if (waiting.has(clock)) await yieldToEventLoop(clock);
  let sinceMs = clock.monotonicMs();
  let isLong = false;
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) {
      if (isLong) await yieldToEventLoop(clock);
      return step.value;
    }
    if (clock.monotonicMs() - sinceMs < TURN_MS) continue;
    isLong = true;
    await yieldToEventLoop(clock);
    sinceMs = clock.monotonicMs();
  }
}

/** What becomes of each of these, one at a step. */
export function* each<A, B>(items: readonly A[], work: (item: A) => B): Steps<B[]> {
  const done: B[] = [];
  for (const item of items) {
    done.push(work(item));
    yield;
  }
  return done;
}

/** Does the work at once. */
export function runToEnd<T>(steps: Steps<T>): T {
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}

/** Lets others have their turn. Timers that are due fire together, so they are armed one after the other: many that work long at once would be one long turn. */
export function yieldToEventLoop(clock: Clock): Promise<void> {
  return new Promise(resolve => {
    const queue = waiting.get(clock);
    if (queue !== undefined) {
      queue.push(resolve);
      return;
    }
    const own = [resolve];
    waiting.set(clock, own);
    arm(clock, own);
  });
}

function arm(clock: Clock, queue: (() => void)[]): void {
  clock.after(0, () => {
    queue.shift()?.();
    if (queue.length > 0) arm(clock, queue);
    else waiting.delete(clock);
  });
}
