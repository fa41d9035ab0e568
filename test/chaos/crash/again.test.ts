import { describe, expect, it } from "vitest";
import { isAbsent, NEVER_CAME, untilInjected } from "./again";

/** Runs that end with these differences, one by one. */
function playsOf(...all: string[][]) {
  const left = [...all];
  return { left, play: () => Promise.resolve(left.shift() ?? ["played too often"]) };
}

describe("repeated runs", () => {
  it("end once the fault was injected, whatever the result", async () => {
    const { left, play } = playsOf([NEVER_CAME], ["evicted: 1 in the recorded run, 2 in this one"], []);
    expect(await untilInjected(play)).toEqual(["evicted: 1 in the recorded run, 2 in this one"]);
    expect(left).toHaveLength(1);
  });

  it("end after three runs without an injection", async () => {
    const { left, play } = playsOf([NEVER_CAME], [NEVER_CAME], [NEVER_CAME], []);
    expect(isAbsent(await untilInjected(play))).toBe(true);
    expect(left).toHaveLength(1);
  });

  it("keep other differences", async () => {
    const { left, play } = playsOf([NEVER_CAME, "a second eviction"], []);
    expect(await untilInjected(play)).toEqual([NEVER_CAME, "a second eviction"]);
    expect(left).toHaveLength(1);
  });
});
