import { describe, expect, it } from "vitest";
import { PodPeaks } from "./observe";

const KEEP_MS = 60_000;

describe("the peak of running pods", () => {
  it("is the largest count of the time that counts", () => {
    const peaks = new PodPeaks();
    expect(peaks.note("app", 5, 0, KEEP_MS)).toBe(5);
    expect(peaks.note("app", 1, 60_000, KEEP_MS)).toBe(5);
    expect(peaks.note("app", 1, 60_001, KEEP_MS)).toBe(1);
  });

  it("survives a pass that does not see the ServiceAccount, such as one on a stale cache", () => {
    const peaks = new PodPeaks();
    peaks.note("app", 5, 0, KEEP_MS);
    peaks.forgetOthers(new Set(), 60_000, KEEP_MS);
    expect(peaks.note("app", 1, 60_000, KEEP_MS)).toBe(5);
  });

  it("is forgotten once its requests count no more", () => {
    const peaks = new PodPeaks();
    peaks.note("app", 5, 0, KEEP_MS);
    peaks.note("kept", 5, 0, KEEP_MS);
    peaks.forgetOthers(new Set(["kept"]), 60_001, KEEP_MS);
    expect(peaks.size).toBe(1);
  });
});
