import { describe, expect, it } from "vitest";
import { growth } from "./memory";

describe("memory", () => {
  const of = (...sizes: number[]) => sizes.map(heap => ({ rss: 100, heap }));

  it("may rise and fall", () => {
    expect(growth(of(100, 130, 110, 140))).toEqual([]);
  });

  it("may neither grow by half, nor rise after each fault", () => {
    expect(growth(of(100, 90, 151))).toHaveLength(1);
    expect(growth(of(100, 102, 104, 106, 108, 110, 112, 114))).toHaveLength(1);
    expect(growth(of(100, 102, 104, 106, 108, 110, 114, 112))).toEqual([]);
    expect(growth(of(100, 102, 104, 106, 108, 110, 112, 112.5))).toEqual([]);
  });
});
