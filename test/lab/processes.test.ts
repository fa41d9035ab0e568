import fc from "fast-check";
import { expect, it } from "vitest";
import { isAlive, parseRecord, parseStat, recordOfPid } from "./processes";

const FIELDS_4_TO_21 = Array.from({ length: 18 }, (_, index) => String(index)).join(" ");

it("parseStat finds state and start time behind any program name", () => {
  fc.assert(
    fc.property(fc.string(), name => {
      const stat = `123 (${name}) S ${FIELDS_4_TO_21} 4711 1 2 3\n`;
      expect(parseStat(stat)).toEqual({ pid: 123, state: "S", startTime: 4711 });
    }),
  );
});

it.each([
  ["a number and a start time", "12 345\n", { pid: 12, startTime: 345 }],
  ["nothing, as when writing was interrupted", "", undefined],
  ["half a record", "12 ", undefined],
  ["something else", "12 345 6\n", undefined],
])("parseRecord reads %s", (_, text, expected) => {
  expect(parseRecord(text)).toEqual(expected);
});

it("isAlive identifies a process by its start time, too", () => {
  const self = recordOfPid(process.pid);
  if (self === undefined) return; // No /proc on this system.
  expect(isAlive(self)).toBe(true);
  expect(isAlive({ ...self, startTime: self.startTime - 1 })).toBe(false);
});
