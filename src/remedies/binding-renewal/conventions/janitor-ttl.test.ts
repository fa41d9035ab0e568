import { describe, expect, it } from "vitest";
import { janitorTtl } from "./janitor-ttl";
import { CREATED_MS, inShort, marked } from "./testing/marked";

const with_ = (value: string) => marked({ annotations: { "janitor/ttl": value } });

describe("janitor/ttl", () => {
  it.each([
    ["1s", "2025-01-02T03:04:06.000Z"],
    ["5m", "2025-01-02T03:09:05.000Z"],
    ["8h", "2025-01-02T11:04:05.000Z"],
    ["007d", "2025-01-09T03:04:05.000Z"],
    ["2w", "2025-01-16T03:04:05.000Z"],
    ["7d\n", "2025-01-09T03:04:05.000Z"],
    ["\u0667d", "2025-01-09T03:04:05.000Z"],
    ["1\uff10d", "2025-01-12T03:04:05.000Z"],
    ["\u{1d7f5}d", "2025-01-11T03:04:05.000Z"],
    ["forever", "never"],
    ["ForEver", "never"],
    ["0s", "never"],
    ["000w", "never"],
    ["9999w", "2216-08-22T03:04:05.000Z"],
    ["999999999999d", "never"],
    ["forever\n", "malformed"],
    [" 7d", "malformed"],
    ["7d ", "malformed"],
    ["7 d", "malformed"],
    ["7d\n\n", "malformed"],
    ["7D", "malformed"],
    ["1.5h", "malformed"],
    ["-5m", "malformed"],
    ["+5m", "malformed"],
    ["1h30m", "malformed"],
    ["7", "malformed"],
    ["d", "malformed"],
    ["7y", "malformed"],
    ["500ms", "malformed"],
    ["", null],
  ])("reads %j as %s", (value, expected) => {
    expect(inShort(janitorTtl.read(with_(value)))).toBe(expected);
  });

  it("is not used by a binding without it, and not read from a label", () => {
    expect(janitorTtl.read(marked({ labels: { "janitor/ttl": "7d" } }))).toBeNull();
  });

  it("never deletes after a time beyond any number", () => {
    expect(inShort(janitorTtl.read(with_(`${"9".repeat(5_000)}s`)))).toBe("never");
  });

  it("cuts a long value between characters", () => {
    expect(janitorTtl.read(with_("x".repeat(81)))).toMatchObject({ value: "x".repeat(80) });
  });

  it("reports the value, cut, and the expected format", () => {
    expect(janitorTtl.read(with_("\u{1f525}".repeat(90)))).toEqual({
      kind: "malformed",
      key: "janitor/ttl",
      value: "\u{1f525}".repeat(80),
      expected: "a whole number with s, m, h, d or w, such as 7d, or forever",
    });
  });

  const HOUR = 3_600_000;
  it.each([
    ["2w", 27 * 24 * HOUR, "3w"],
    ["2w", 20 * 24 * HOUR, "20d"],
    ["1d", 36 * HOUR, "36h"],
    ["1d", 48 * HOUR - 1, "47h"],
    ["1d", 48 * HOUR, "2d"],
    ["1d", 24.5 * HOUR, "1470m"],
    ["24h", 24 * HOUR + 1_000, "86401s"],
    ["24h", 24 * HOUR + 999, null],
    ["7d\n", 8 * 24 * HOUR, "8d"],
    ["\u0667d", 8 * 24 * HOUR, "8d"],
    ["1d", 24 * HOUR, null],
    ["1d", HOUR, null],
    ["forever", 24 * HOUR, null],
    ["0d", 24 * HOUR, null],
    ["7D", 24 * HOUR, null],
  ])("writes %j, wanted %d ms after creation, as %j", (value, afterMs, expected) => {
    expect(janitorTtl.write(with_(value), CREATED_MS + afterMs)?.value ?? null).toBe(expected);
  });

  it("returns the key to write and the new expiry", () => {
    expect(janitorTtl.write(with_("1d"), CREATED_MS + 49 * HOUR)).toEqual({
      place: "annotations",
      key: "janitor/ttl",
      value: "2d",
      atMs: CREATED_MS + 48 * HOUR,
    });
  });

  it("counts from the creation", () => {
    expect(janitorTtl.isRelative(with_("1d"))).toBe(true);
    expect(janitorTtl.keys).toEqual(["janitor/ttl"]);
  });
});
