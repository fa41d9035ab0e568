import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatDuration, parseDuration } from "./duration";

describe("parsing a duration", () => {
  it.each([
    ["90s", 90_000],
    ["15m", 900_000],
    ["1h30m", 5_400_000],
    ["0s", 0],
    ["168h", 604_800_000],
    ["1m1m", 120_000],
    ["007s", 7_000],
  ])("reads %s", (text, ms) => expect(parseDuration(text)).toBe(ms));

  it.each(["", "s", "5", "1d", "1.5h", "-1s", "1h 30m", "1H", "10ms", "1hm", "٣s"])("rejects '%s' by name", text => {
    expect(() => parseDuration(text)).toThrow(RangeError);
    expect(() => parseDuration(text)).toThrow(`"${text}"`);
  });

  it("adds up its parts", () => {
    const parts = fc.array(fc.tuple(fc.nat(9_999), fc.constantFrom(...(["h", "m", "s"] as const))), { minLength: 1 });
    const msOf = { h: 3_600_000, m: 60_000, s: 1_000 };
    fc.assert(
      fc.property(parts, list => {
        const text = list.map(([amount, unit]) => `${amount}${unit}`).join("");
        expect(parseDuration(text)).toBe(list.reduce((sum, [amount, unit]) => sum + amount * msOf[unit], 0));
      }),
    );
  });
});

describe("a formatted duration", () => {
  it.each([
    [0, "0s"],
    [-5_000, "0s"],
    [499, "0s"],
    [1_500, "2s"],
    [59_600, "1m"],
    [90_000, "1m30s"],
    [3_600_000, "1h"],
    [3_605_000, "1h"],
    [5_400_000, "1h30m"],
    [90_000_000, "1d1h"],
    [Number.NaN, "0s"],
  ])("prints %d ms as %s", (ms, text) => expect(formatDuration(ms)).toBe(text));
});
