import { describe, expect, it } from "vitest";
import { isAbsent, NEVER_CAME, untilInjected } from "./again";

/** Plays that come to these differences, one after the other. */
function playsOf(...all: string[][]) {
  const left = [...all];
  return { left, play: () => Promise.resolve(left.shift() ?? ["played too often"]) };
}

describe("playing again", () => {
  it("ends as soon as something was injected, whatever came of it", async () => {
    const { left, play } = playsOf([NEVER_CAME], ["evicted: 1 in the recorded run, 2 in this one"], []);
    expect(await untilInjected(play)).toEqual(["evicted: 1 in the recorded run, 2 in this one"]);
    expect(left).toHaveLength(1);
  });

  it("ends after three that nothing was injected into", async () => {
    const { left, play } = playsOf([NEVER_CAME], [NEVER_CAME], [NEVER_CAME], []);
    expect(isAbsent(await untilInjected(play))).toBe(true);
    expect(left).toHaveLength(1);
  });

  it("does not pass over what else is different", async () => {
    const { left, play } = playsOf([NEVER_CAME, "a second eviction"], []);
    expect(await untilInjected(play)).toEqual([NEVER_CAME, "a second eviction"]);
    expect(left).toHaveLength(1);
  });
});
