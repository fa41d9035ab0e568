import { describe, expect, it } from "vitest";
import { covers, sameJson } from "./json";

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

describe("covers", () => {
  it.each<[unknown, unknown, boolean]>([
    [{ a: 1, b: 2 }, { a: 1 }, true],
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [[{ a: 1, b: 2 }], [{ a: 1 }], true],
    [[1, 2], [1], false],
    [[1], [1, 2], false],
    [{ 0: 1, length: 1 }, [1], false],
    [[1], { 0: 1 }, false],
    [null, {}, false],
    ["1", 1, false],
  ])("of %j for %j is %s", (actual, some, expected) => {
    expect(covers(actual, some)).toBe(expected);
  });
});
