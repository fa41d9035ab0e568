import { describe, expect, it } from "vitest";
import { BusyClock } from "./testing/busy-clock";
import { FakeClock } from "./testing/fake-clock";
import { inSlices, type Steps } from "./slices";

function* count(to: number, onStep: (step: number) => void = () => undefined): Steps<string> {
  for (let step = 1; step <= to; step++) {
    onStep(step);
    yield;
  }
  return `counted to ${to}`;
}

describe("work in steps", () => {
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
});
