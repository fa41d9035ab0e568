import { describe, expect, it } from "vitest";
import { addRejection, REJECTION_GAP_MS, rejectionsSince, type RejectionSeries } from "./rejections";

const after = (...times: number[]): RejectionSeries | undefined =>
  times.reduce<RejectionSeries | undefined>((before, atMs) => addRejection(before, atMs), undefined);

it("counts 401s close together once, and takes them in any order", () => {
  expect(after(10_000, 10_500, 12_000)).toEqual({
    firstMs: 10_000,
    lastMs: 12_000,
    occasions: 2,
    latestMs: [10_000, 12_000],
  });
  expect(after(12_000, 10_000)).toEqual({ firstMs: 10_000, lastMs: 12_000, occasions: 1, latestMs: [12_000] });
});

it("counts anew after a long pause", () => {
  const thenMs = 10_000 + REJECTION_GAP_MS + 1;
  expect(after(10_000, thenMs)).toEqual({ firstMs: thenMs, lastMs: thenMs, occasions: 1, latestMs: [thenMs] });
});

it("remembers the times of the last eight occasions", () => {
  const series = after(...Array.from({ length: 100 }, (_, i) => i * 2_000));
  expect(series).toMatchObject({ firstMs: 0, lastMs: 198_000, occasions: 100 });
  expect(series?.latestMs).toEqual([184_000, 186_000, 188_000, 190_000, 192_000, 194_000, 196_000, 198_000]);
});

describe("the 401s since a client came to an address", () => {
  const series = after(...Array.from({ length: 400 }, (_, i) => i * 2_000))!;

  it("are all if it was there before the first", () => {
    expect(rejectionsSince(series, -1)).toEqual({ firstMs: 0, lastMs: 798_000, occasions: 400 });
  });

  it("are those after the longest pause in a series that began before", () => {
    expect(rejectionsSince(series, 0)).toEqual({ firstMs: REJECTION_GAP_MS, lastMs: 798_000, occasions: 8 });
    const since = rejectionsSince(series, 792_000 - REJECTION_GAP_MS);
    expect(since).toEqual({ firstMs: 792_000, lastMs: 798_000, occasions: 3 });
  });

  it("are none until that time has passed", () => {
    expect(rejectionsSince(series, 798_000 - REJECTION_GAP_MS)).toBeUndefined();
  });
});
