import { describe, expect, it } from "vitest";
import { excessOf, peakOf } from "./load";

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
