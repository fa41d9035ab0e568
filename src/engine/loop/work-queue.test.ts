import { describe, expect, it } from "vitest";
import { FakeClock } from "../../core/testing/fake-clock";
import { WorkQueue } from "./work-queue";
import type { QueueState } from "../../core/metrics";

function makeQueue() {
  const clock = new FakeClock();
  return { clock, queue: new WorkQueue(clock) };
}

describe("the work queue", () => {
  it("holds back a key that is added while a worker has it, until it is done", () => {
    const { queue } = makeQueue();
    queue.add("a");
    queue.take();
    queue.add("a");
    queue.add("a");
    queue.add("b");
    expect([queue.take(), queue.take()]).toEqual(["b", undefined]);
    queue.done("a");
    expect([queue.take(), queue.take()]).toEqual(["a", undefined]);
  });

  it("serves the lanes round robin, each first in, first out", () => {
    const { queue } = makeQueue();
    for (const key of ["s1", "s2", "s3"]) queue.add(key, "sweep");
    for (const key of ["d1", "d2"]) queue.add(key, "due");
    for (const key of ["e1", "e2", "e3"]) queue.add(key, "event");
    expect(queue.length).toBe(8);
    const taken = Array.from({ length: 9 }, () => queue.take());
    expect(taken).toEqual(["e1", "d1", "s1", "e2", "d2", "s2", "e3", "s3", undefined]);
    expect(queue.length).toBe(0);
  });

  it("keeps a key in the most urgent of its lanes, whether it waits, is delayed or is held by a worker", () => {
    const { clock, queue } = makeQueue();
    for (const key of ["a", "b", "c"]) queue.add(key, "sweep");
    queue.add("c", "event");
    queue.add("c", "due");
    expect([queue.length, queue.take(), queue.take()]).toEqual([3, "c", "a"]);
    queue.add("c", "sweep");
    queue.add("c", "due");
    queue.add("a", "sweep");
    queue.done("a");
    queue.done("c");
    expect([queue.length, queue.take(), queue.take(), queue.take(), queue.take()]).toEqual([
      3,
      "c",
      "b",
      "a",
      undefined,
    ]);
    for (const key of ["a", "b", "c"]) queue.done(key);
    queue.addAfter("d", 10, "sweep");
    queue.addAfter("e", 20, "event");
    queue.addAfter("e", 10, "due");
    queue.addAfter("g", 10, "due");
    queue.addAfter("g", 20, "event");
    queue.addAfter("f", 10, "due");
    clock.advance(10);
    const taken = Array.from({ length: 5 }, () => queue.take());
    expect(taken).toEqual(["e", "f", "d", "g", undefined]);
  });
});

describe("delayed keys", () => {
  it("become available after their delay, with one timer for all", () => {
    const { clock, queue } = makeQueue();
    queue.addAfter("late", 300);
    queue.addAfter("early", 100);
    queue.addAfter("middle", 200);
    expect(clock.pendingTimers).toBe(1);
    clock.advance(99);
    expect(queue.take()).toBeUndefined();
    clock.advance(1);
    expect(queue.take()).toBe("early");
    clock.advance(1_000);
    expect([queue.take(), queue.take(), clock.pendingTimers]).toEqual(["middle", "late", 0]);
    queue.addAfter("second", 20);
    queue.addAfter("first", 10);
    clock.freeze(100);
    clock.advance(0);
    expect([queue.take(), queue.take()]).toEqual(["first", "second"]);
  });

  it("cap the delay at the maximum of a timer", () => {
    const { clock, queue } = makeQueue();
    queue.addAfter("a", Infinity);
    clock.advance(2 ** 31 - 2);
    expect(queue.length).toBe(0);
    clock.advance(1);
    expect(queue.length).toBe(1);
  });
});

describe("shutdown", () => {
  it("drops all keys, accepts no more, and ends when no worker holds one", async () => {
    const { clock, queue } = makeQueue();
    let isClosed = false;
    for (const key of ["a", "b", "waiting"]) queue.add(key);
    queue.addAfter("delayed", 10);
    expect([queue.take(), queue.take()]).toEqual(["a", "b"]);
    const closing = queue.close().then(() => (isClosed = true));
    for (const key of ["a", "c"]) queue.add(key);
    queue.addAfter("d", 10);
    clock.advance(1_000);
    queue.done("a");
    await Promise.resolve();
    expect([queue.take(), clock.pendingTimers, isClosed]).toEqual([undefined, 0, false]);
    queue.done("b");
    await closing;
    expect(isClosed).toBe(true);
    await makeQueue().queue.close();
  });

  it("clears: no key waits, and keys held by workers are not handed out again", () => {
    const { clock, queue } = makeQueue();
    queue.add("a");
    queue.take();
    queue.add("a");
    queue.add("b");
    queue.addAfter("c", 10);
    queue.clear();
    queue.done("a");
    clock.advance(1_000);
    expect([queue.take(), queue.length, clock.pendingTimers]).toEqual([undefined, 0, 0]);
    queue.add("b");
    expect(queue.take()).toBe("b");
  });
});

function makeBench() {
  const clock = new FakeClock();
  const seen: string[] = [];
  let ask = (): QueueState => ({ depth: -1, workingSeconds: [] });
  const queue = new WorkQueue(clock, undefined, {
    added: () => void seen.push("added"),
    taken: seconds => void seen.push(`taken after ${seconds}`),
    done: seconds => void seen.push(`done after ${seconds}`),
    ofQueue: state => void (ask = state),
  });
  return { clock, queue, seen, state: () => ask() };
}

it("measures how long keys wait and are worked on", () => {
  const { clock, queue, seen, state } = makeBench();
  queue.add("a", "sweep");
  clock.advance(1_000);
  queue.add("a", "event");
  queue.add("b");
  expect(state()).toEqual({ depth: 2, workingSeconds: [] });
  clock.advance(500);
  queue.take();
  clock.advance(250);
  queue.take();
  clock.advance(250);
  expect(state()).toEqual({ depth: 0, workingSeconds: [0.5, 0.25] });
  queue.done("a");
  queue.done("a");
  expect(seen).toEqual(["added", "added", "taken after 1.5", "taken after 0.75", "done after 0.5"]);
});

it("measures the wait of a key from when it was added again while in work", () => {
  const { clock, queue, seen, state } = makeBench();
  queue.add("a");
  queue.take();
  clock.advance(100);
  queue.add("a");
  queue.add("a");
  clock.advance(200);
  queue.done("a");
  clock.advance(700);
  queue.take();
  expect(seen).toEqual(["added", "taken after 0", "added", "done after 0.3", "taken after 0.9"]);
  expect(state().workingSeconds).toEqual([0]);
});
