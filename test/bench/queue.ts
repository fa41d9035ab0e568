import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock } from "../../src/core/time";
import { WorkQueue } from "../../src/engine/loop/work-queue";

const KEYS = 1_000_000;
const ROUNDS = 5;

/** The queue uses the clock for delayed keys only, and these are never awaited here. */
const clock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  after: () => () => undefined,
};

/** Prints the throughput of the work queue in keys per second, and the memory of a waiting key. */
// eslint-disable-next-line @typescript-eslint/require-await -- every benchmark has this shape
export async function benchQueue(print: (line: string) => void): Promise<void> {
  print(`work queue: best of ${ROUNDS} rounds, ${format(KEYS)} keys or turns each; one operation is add + take + done`);
  for (const keys of [1, 1_000, 100_000]) {
    print(`  ${format(keys).padStart(9)} keys going round:    ${rate(() => goRound(keys), KEYS)}`);
  }
  print(`  ${format(KEYS)} keys, all waiting:   ${rate(fillAndEmpty, KEYS)}`);
  print(`  ${format(KEYS)} keys, added twice:   ${rate(() => fillAndEmpty(2), KEYS)}`);
  print(`  ${format(KEYS)} keys, all delayed:   ${rate(delayAll, KEYS)} (addAfter alone)`);
  print(
    `  a waiting key costs ${bytesPerKey(fill)} bytes, a delayed one ${bytesPerKey(delay)}, beside the key's own text`,
  );
  print(
    "  the limit is hashing: each key is looked up several times in two maps; with many keys each lookup misses the cache",
  );
}

const names = Array.from({ length: KEYS }, (_, i) => `namespace-${i % 1_000}/name-${i}`);

function goRound(keys: number): void {
  const queue = new WorkQueue(clock);
  for (let i = 0; i < keys; i++) queue.add(nameOf(i));
  for (let i = 0; i < KEYS; i++) {
    const key = queue.take() ?? "";
    queue.done(key);
    queue.add(key);
  }
}

function fillAndEmpty(times = 1): void {
  const queue = new WorkQueue(clock);
  for (let round = 0; round < times; round++) fill(queue);
  for (let key = queue.take(); key !== undefined; key = queue.take()) queue.done(key);
}

function delayAll(): void {
  delay(new WorkQueue(clock));
}

function fill(queue: WorkQueue): void {
  for (const name of names) queue.add(name);
}

/** Each is earlier than all before, so each moves the timer. */
function delay(queue: WorkQueue): void {
  for (let i = 0; i < KEYS; i++) queue.addAfter(nameOf(i), 10_000_000 - i);
}

function nameOf(i: number): string {
  return names[i] ?? "";
}

function rate(work: () => void, operations: number): string {
  let bestMs = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const startedMs = performance.now();
    work();
    bestMs = Math.min(bestMs, performance.now() - startedMs);
  }
  return `${format(Math.round(operations / (bestMs / 1000)))} operations/s`;
}

function bytesPerKey(put: (queue: WorkQueue) => void): number {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const queue = new WorkQueue(clock);
  put(queue);
  collectGarbage();
  const used = process.memoryUsage().heapUsed - before;
  // Keeps the queue alive until after the measurement.
  return queue.length + queue.delayed === 0 ? 0 : Math.round(used / KEYS);
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

function format(n: number): string {
  return n.toLocaleString("en-US");
}
