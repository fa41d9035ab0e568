import { expect, it } from "vitest";
import { addRejection, REJECTION_GAP_MS, type Rejections } from "./rejections";

const after = (...times: number[]): Rejections | undefined =>
  times.reduce<Rejections | undefined>((before, atMs) => addRejection(before, atMs), undefined);

it("counts 401s close together once, and takes them in any order", () => {
  expect(after(10_000, 10_500, 12_000)).toEqual({ firstMs: 10_000, lastMs: 12_000, occasions: 2 });
  expect(after(12_000, 10_000)).toEqual({ firstMs: 10_000, lastMs: 12_000, occasions: 1 });
});

it("counts anew after a long pause", () => {
  const thenMs = 10_000 + REJECTION_GAP_MS + 1;
  expect(after(10_000, thenMs)).toEqual({ firstMs: thenMs, lastMs: thenMs, occasions: 1 });
});
