import { expect, it } from "vitest";
import type { QueueState } from "../../core/ports";
import { FakeClock } from "../../core/testing/fake-clock";
import { WorkQueue } from "./work-queue";

function makeBench() {
  const clock = new FakeClock();
  const seen: string[] = [];
  let ask = (): QueueState => ({ depth: -1, workingSeconds: [] });
  const queue = new WorkQueue(clock, undefined, {
    added: () => void seen.push("added"),
    taken: seconds => void seen.push(`taken after ${seconds}`),
    done: seconds => void seen.push(`done after ${seconds}`),
    retried: () => void seen.push("retried"),
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

it("forgets the keys that are dropped, and counts a delayed one when its time has come", async () => {
  const { clock, queue, seen } = makeBench();
  queue.add("a");
  queue.clear();
  queue.addAfter("b", 5_000);
  expect(seen).toEqual(["added"]);
  await clock.run(6_000);
  queue.add("a");
  queue.take();
  queue.take();
  expect(seen.slice(1)).toEqual(["added", "added", expect.stringMatching(/^taken/), expect.stringMatching(/^taken/)]);
});
