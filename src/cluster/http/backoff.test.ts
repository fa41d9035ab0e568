import { describe, expect, it } from "vitest";
import { Backoff } from "./backoff";

describe("the backoff", () => {
  it("doubles its bound from 0.8 s to 30 s, and starts again after a success", () => {
    const backoff = new Backoff(() => 1);
    expect(Array.from({ length: 8 }, () => backoff.next())).toEqual([
      800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000,
    ]);
    backoff.reset();
    expect(backoff.next()).toBe(800);
  });

  it("is jittered over the whole range, but never zero", () => {
    expect(new Backoff(() => 0.25).next()).toBe(200);
    expect(new Backoff(() => 0).next()).toBe(50);
  });
});
