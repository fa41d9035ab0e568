import { expect, it } from "vitest";
import { FlowMemory } from "./observe";

it("takes the largest count of the time that counts, also of a ServiceAccount that a pass did not see", () => {
  const peaks = new FlowMemory();
  expect(peaks.note("app", 5, 0)).toBe(5);
  peaks.forget(0, 60_000);
  peaks.forget(0, 60_000);
  expect(peaks.note("app", 1, 60_000)).toBe(5);
  peaks.forget(1, 60_001);
  expect(peaks.note("app", 2, 60_001)).toBe(2);
});

it("forgets counts of a clock that was ahead", () => {
  const peaks = new FlowMemory();
  peaks.note("app", 5, 90_000);
  peaks.forget(0, 60_000);
  expect(peaks.note("app", 1, 60_000)).toBe(1);
});
