import { expect, it } from "vitest";
import { firstOf } from "./text";

it.each([
  [[], ""],
  [["a"], "a"],
  [["a", "b"], "a, b"],
  [["a", "b", "c"], "a, b and 1 more"],
])("names the first two of %j", (names, text) => {
  expect(firstOf(names, 2)).toBe(text);
});
