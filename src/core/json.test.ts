import { expect, it } from "vitest";
import { sameJson } from "./json";

it.each([
  [{ a: 1, b: [{ c: "x" }] }, { b: [{ c: "x" }], a: 1 }, true],
  [{ a: 1, b: undefined }, { a: 1 }, true],
  [{ a: 1 }, { a: 1, b: 2 }, false],
  [{ a: [1, 2] }, { a: [2, 1] }, false],
  [{ a: [] }, { a: {} }, false],
  [{ a: null }, { a: undefined }, false],
])("compares %j with %j: %s", (a, b, same) => {
  expect([sameJson(a, b), sameJson(b, a)]).toEqual([same, same]);
});
