import { describe, expect, it } from "vitest";
import { differences } from "./differences";

describe("differences", () => {
  it("are empty between equal values, in any order of keys", () => {
    expect(differences({ a: [1, { b: 2 }], c: 3 }, { c: 3, a: [1, { b: 2 }] })).toEqual([]);
  });

  it.each<[string, unknown, unknown, string]>([
    ["another value", { a: { b: 1 } }, { a: { b: 2 } }, "a.b: 1, expected 2"],
    ["in a list", { a: [1, { b: 1 }] }, { a: [1, { b: 2 }] }, "a[1].b: 1, expected 2"],
    ["an extra value", { a: { b: 1 } }, { a: {} }, "a.b: 1, expected nothing"],
    ["a missing value", {}, { a: "x" }, 'a: nothing, expected "x"'],
    ["a list of another length", { a: [1] }, { a: [1, 2] }, "a: [1], expected [1,2]"],
    ["another type", { a: [] }, { a: {} }, "a: [], expected {}"],
  ])("name the path of %s", (_, seen, expected, sentence) => {
    expect(differences(seen, expected)).toEqual([sentence]);
  });
});
