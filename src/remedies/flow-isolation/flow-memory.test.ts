import { expect, it } from "vitest";
import { FlowMemory } from "./observe";

it("takes the largest count of the time that counts, also of a ServiceAccount that a pass did not see", () => {
  const memory = new FlowMemory();
  expect(memory.note("app", 5, 0)).toBe(5);
  memory.forget(0, 60_000);
  memory.forget(0, 60_000);
  expect(memory.note("app", 1, 60_000)).toBe(5);
  memory.forget(1, 60_001);
  expect(memory.note("app", 2, 60_001)).toBe(2);
});

it("forgets counts of a clock that was ahead", () => {
  const memory = new FlowMemory();
  memory.note("app", 5, 90_000);
  memory.forget(0, 60_000);
  expect(memory.note("app", 1, 60_000)).toBe(1);
});
