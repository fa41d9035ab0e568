import { expect, it } from "vitest";
import { MOMENTS, momentsOf } from "./moments";

it("includes every moment once, in an order that the seed decides", () => {
  const names = (seed: number): string[] => momentsOf(seed).map(({ name }) => name);
  expect(names(1).toSorted()).toEqual(MOMENTS.map(({ name }) => name).toSorted());
  expect(names(1)).toEqual(names(1));
  expect(new Set([1, 2, 3].map(seed => names(seed).join())).size).toBe(3);
});
