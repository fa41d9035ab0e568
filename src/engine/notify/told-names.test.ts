import { expect, it } from "vitest";
import { NO_NAMES, stillTold, type ToldNames, withNames } from "./told-names";

const graceMs = 300_000;

it("names that never come back are forgotten, however long others stay", () => {
  let told: ToldNames = NO_NAMES;
  let most = 0;
  for (let minute = 0; minute < 1_000; minute++) {
    const present = ["stays", `short-lived-${minute}`];
    told = withNames(stillTold(told, present, { nowMs: minute * 60_000, graceMs }), present);
    most = Math.max(most, told.size);
  }
  // The two that are there, and those of the five minutes before.
  expect(most).toBe(2 + 6);
  expect(told.has("stays")).toBe(true);
});

it("a name that comes back too late is not told, also if nothing looked in between", () => {
  const gone = stillTold(withNames(NO_NAMES, ["a"]), [], { nowMs: 1_000, graceMs });
  expect([...stillTold(gone, ["a"], { nowMs: 301_000, graceMs })]).toEqual([["a", undefined]]);
  expect([...stillTold(gone, ["a"], { nowMs: 301_001, graceMs })]).toEqual([]);
});
