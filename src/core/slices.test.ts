import { describe, expect, it } from "vitest";
import { BusyClock } from "./testing/busy-clock";
import { FakeClock } from "./testing/fake-clock";
import { runToEnd, each, inSlices, type Steps } from "./slices";

function* count(to: number, onStep: (step: number) => void = () => undefined): Steps<string> {
  for (let step = 1; step <= to; step++) {
    onStep(step);
    yield;
  }
  return `counted to ${to}`;
}

describe("work in steps", () => {
  it("runs at once if it takes no time", async () => {
    const clock = new FakeClock();
    expect(await inSlices(clock, count(1_000))).toBe("counted to 1000");
    expect(clock.pendingTimers).toBe(0);
    expect(runToEnd(count(3))).toBe("counted to 3");
  });

  it("yields to the event loop every ten milliseconds", async () => {
    const clock = new BusyClock(new FakeClock());
    expect(await inSlices(clock, count(100))).toBe("counted to 100");
    // One more yield precedes the code that follows.
    expect(clock.turns).toBe(11);
  });

  it("yields once more after long work, so that the following code starts a new slice", async () => {
    const clock = new BusyClock(new FakeClock());
    await inSlices(clock, count(15));
    expect(clock.turns).toBe(2);
    await inSlices(clock, count(5));
    expect(clock.turns).toBe(2);
  });

  it("processes one item per step", async () => {
    const clock = new BusyClock(new FakeClock());
    const doubled = await inSlices(
      clock,
      each([1, 2, 3], one => 2 * one),
    );
    expect(doubled).toEqual([2, 4, 6]);
    expect([...each([1, 2, 3], () => undefined)]).toHaveLength(3);
  });

  it("alternates with other sliced work, one slice at a time", async () => {
    const clock = new BusyClock(new FakeClock());
    const done: string[] = [];
    const works = ["a", "b", "c"].map(name =>
      inSlices(
        clock,
        count(25, step => done.push(`${name}${step}`)),
      ),
    );
    await Promise.all(works);
    expect(done).toHaveLength(75);
    // None begins while another waits; then they alternate.
    const order = done.filter((name, i) => i === 0 || name[0] !== done[i - 1]?.[0]).map(name => name[0]);
    expect(order.join("")).toBe("abcabcbc");
  });

  it("rejects with the error of the work", async () => {
    const failing = function* (): Steps {
      throw new Error("no more");
    };
    await expect(inSlices(new FakeClock(), failing())).rejects.toThrow("no more");
  });
});
