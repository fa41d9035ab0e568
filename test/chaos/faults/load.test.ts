import { describe, expect, it } from "vitest";
import { excessOf, peakOf } from "./load";

describe("the limit of requests", () => {
  const bucket = { burst: 3, perSecond: 2 };

  it("allows a burst, and a steady rate after it", () => {
    expect(excessOf([0, 0, 0, 500, 1_000, 1_500], bucket)).toBe(0);
    expect(excessOf([], bucket)).toBe(0);
  });

  it("is exceeded by a larger burst, and by a higher rate", () => {
    expect(excessOf([0, 0, 0, 0], bucket)).toBe(1);
    const tight = Array.from({ length: 40 }, (_, i) => i * 100);
    expect(excessOf(tight, bucket)).toBeGreaterThan(20);
  });

  it("still reports an excess after a pause", () => {
    expect(excessOf([0, 0, 0, 0, 0, 60_000], bucket)).toBe(2);
  });

  it("finds the peak in any interval of one second", () => {
    expect(peakOf([0, 600, 900, 1_100, 1_500, 3_000])).toBe(4);
    expect(peakOf([])).toBe(0);
  });
});
