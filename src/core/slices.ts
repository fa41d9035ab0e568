import type { Clock } from "./time";

/** Long work that can be interrupted wherever it yields. */
export type Steps<T = void> = Generator<void, T>;

/** Milliseconds after which work yields to the event loop, so that Lease renewals, probes and responses are handled. */
const SLICE_MS = 10;

/** The callers that wait to continue, in order. Callers with the same clock share an event loop. */
const waiting = new WeakMap<Clock, (() => void)[]>();

/**
 * Does the work in slices of SLICE_MS, so that it blocks the event loop for little longer than one of its steps. After long
 * work it yields once more, because the code that follows is often long as well.
 */
export async function inSlices<T>(clock: Clock, steps: Steps<T>): Promise<T> {
  // Work that was started at the same time does not run back to back.
  if (waiting.has(clock)) await yieldToEventLoop(clock);
  let sinceMs = clock.monotonicMs();
  let isLong = false;
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) {
      if (isLong) await yieldToEventLoop(clock);
      return step.value;
    }
    if (clock.monotonicMs() - sinceMs < SLICE_MS) continue;
    isLong = true;
    await yieldToEventLoop(clock);
    sinceMs = clock.monotonicMs();
  }
}

/** Returns `work(item)` for each item, in steps of one item. */
export function* each<A, B>(items: readonly A[], work: (item: A) => B): Steps<B[]> {
  const results: B[] = [];
  for (const item of items) {
    results.push(work(item));
    yield;
  }
  return results;
}

/** Does the work without interruption. */
export function runToEnd<T>(steps: Steps<T>): T {
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}

/** Yields to the event loop. Due timers fire together, so each caller's timer is set only after the previous one fired. */
export function yieldToEventLoop(clock: Clock): Promise<void> {
  return new Promise(resolve => {
    const queue = waiting.get(clock);
    if (queue !== undefined) {
      queue.push(resolve);
      return;
    }
    const started = [resolve];
    waiting.set(clock, started);
    resumeNext(clock, started);
  });
}

function resumeNext(clock: Clock, queue: (() => void)[]): void {
  clock.after(0, () => {
    queue.shift()?.();
    if (queue.length > 0) resumeNext(clock, queue);
    else waiting.delete(clock);
  });
}
