import { describe, expect, it } from "vitest";
import { Dice } from "./dice";

describe("dice", () => {
  it("depend on seed and use only", () => {
    const rolls = (seed: number, use: string): number[] => {
      const dice = new Dice(seed, use);
      return Array.from({ length: 20 }, () => dice.whole(1, 1000));
    };
    expect(rolls(1, "a")).toEqual(rolls(1, "a"));
    expect(rolls(1, "a")).not.toEqual(rolls(2, "a"));
    expect(rolls(1, "a")).not.toEqual(rolls(1, "b"));
  });

  it("stay in their range and reach both ends", () => {
    const dice = new Dice(7);
    const rolls = new Set(Array.from({ length: 200 }, () => dice.whole(-1, 2)));
    expect([...rolls].sort((a, b) => a - b)).toEqual([-1, 0, 1, 2]);
  });

  it("shuffle all items, and make different names", () => {
    const dice = new Dice(3);
    const items = Array.from({ length: 30 }, (_, i) => i);
    const shuffled = dice.shuffled(items);
    expect(shuffled).not.toEqual(items);
    expect(shuffled.toSorted((a, b) => a - b)).toEqual(items);
    const names = dice.names(50, "web");
    expect(new Set(names).size).toBe(50);
    for (const name of names) expect(name).toMatch(/^web-[a-z]{5}$/);
  });
});
