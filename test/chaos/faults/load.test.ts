import { describe, expect, it } from "vitest";
import { excessOf, growth, peakOf } from "./load";

describe("the bound of requests", () => {
  const bucket = { burst: 3, perSecond: 2 };

  it("holds for a burst, and for a steady pace after it", () => {
    expect(excessOf([0, 0, 0, 500, 1_000, 1_500], bucket)).toBe(0);
    expect(excessOf([], bucket)).toBe(0);
  });

  it("is exceeded by one more at once, and by a pace that goes on", () => {
    expect(excessOf([0, 0, 0, 0], bucket)).toBe(1);
    const tight = Array.from({ length: 40 }, (_, i) => i * 100);
    expect(excessOf(tight, bucket)).toBeGreaterThan(20);
  });

  it("forgets no excess because of a pause after it", () => {
    expect(excessOf([0, 0, 0, 0, 0, 60_000], bucket)).toBe(2);
  });

  it("has its peak in any second, not in those of a clock", () => {
    expect(peakOf([0, 600, 900, 1_100, 1_500, 3_000])).toBe(4);
    expect(peakOf([])).toBe(0);
  });
});

describe("memory", () => {
  const of = (...sizes: number[]) => sizes.map(heap => ({ rss: 100, heap }));

  it("may go up and down", () => {
    expect(growth(of(100, 130, 110, 140))).toEqual([]);
  });

  it("may neither be half as much again in the end, nor rise every time", () => {
    expect(growth(of(100, 90, 151))).toHaveLength(1);
    expect(growth(of(100, 101, 102, 103, 104, 105, 106, 107))).toHaveLength(1);
    expect(growth(of(100, 101, 102, 103, 104, 105, 107, 106))).toEqual([]);
  });
});
