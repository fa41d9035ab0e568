import { describe, expect, it } from "vitest";
import { kyvernoTtl } from "./kyverno-ttl";
import { inShort, marked } from "./testing/marked";

const with_ = (value: string) => marked({ labels: { "cleanup.kyverno.io/ttl": value } });

describe("cleanup.kyverno.io/ttl", () => {
  it.each([
    ["90m", "2025-01-02T04:34:05.000Z"],
    ["1h30m", "2025-01-02T04:34:05.000Z"],
    ["1.5h", "2025-01-02T04:34:05.000Z"],
    ["1.h", "2025-01-02T04:04:05.000Z"],
    ["500ms", "2025-01-02T03:04:05.500Z"],
    ["1ns", "2025-01-02T03:04:05.000Z"],
    ["7d", "2025-01-09T03:04:05.000Z"],
    ["2w", "2025-01-16T03:04:05.000Z"],
    ["1d12h", "2025-01-03T15:04:05.000Z"],
    ["7D", "2025-01-09T03:04:05.000Z"],
    ["7days", "2025-01-09T03:04:05.000Z"],
    ["7dayz", "2025-01-09T03:04:05.000Z"],
    ["3hr", "2025-01-02T06:04:05.000Z"],
    ["30M", "2025-01-02T03:34:05.000Z"],
    ["3 \t weeks", "2025-01-23T03:04:05.000Z"],
    ["0", "2025-01-02T03:04:05.000Z"],
    ["0s", "2025-01-02T03:04:05.000Z"],
    // What no label can hold, but Go's time.ParseDuration takes.
    ["-5m", "2025-01-02T02:59:05.000Z"],
    ["+5m", "2025-01-02T03:09:05.000Z"],
    // Found anywhere in the text, without sign and fraction.
    ["1.5d", "2025-01-07T03:04:05.000Z"],
    ["-7d", "2025-01-09T03:04:05.000Z"],
    ["in-30days-or-so", "2025-02-01T03:04:05.000Z"],
    ["7d12", "2025-01-09T03:04:05.000Z"],
    ["7d3x", "2025-01-09T03:04:05.000Z"],
    // What doesn't fit into an int64 of nanoseconds wraps around, and may delete at once.
    ["106751d", "2317-04-13T03:04:05.000Z"],
    ["106752d", "1732-09-23T03:29:31.290Z"],
    ["9999999h", "1996-09-09T18:54:57.580Z"],
    ["9223372036854775808d", "malformed"],
    ["9223372036854775808x7d", "malformed"],
    ["00000000000000000000001d", "2025-01-03T03:04:05.000Z"],
    ["2025-03-04", "2025-03-04T00:00:00.000Z"],
    ["2025-03-04T050607Z", "2025-03-04T05:06:07.000Z"],
    ["2025-03-04T050607.25Z", "2025-03-04T05:06:07.250Z"],
    ["2024-02-29", "2024-02-29T00:00:00.000Z"],
    ["0000-01-01", "0000-01-01T00:00:00.000Z"],
    ["9999-12-31T235959Z", "9999-12-31T23:59:59.000Z"],
    ["2025-02-30", "malformed"],
    ["2025-13-01", "malformed"],
    ["2025-3-4", "malformed"],
    ["2025-03-04T050660Z", "malformed"],
    ["2025-03-04T240000Z", "malformed"],
    ["2025-03-04T05:06:07Z", "malformed"],
    ["2025-03-04T050607", "malformed"],
    ["2025-03-04T050607z", "malformed"],
    ["2025-03-04t050607Z", "malformed"],
    ["forever", "malformed"],
    ["7", "malformed"],
    ["7x", "malformed"],
    ["7hrs", "malformed"],
    ["7months", "malformed"],
    ["7wks", "malformed"],
    ["\u0667d", "malformed"],
    ["", "malformed"],
  ])("reads %j as %s", (value, expected) => {
    expect(inShort(kyvernoTtl.read(with_(value)))).toBe(expected);
  });

  it("is not used by a binding without it, and not read from an annotation", () => {
    expect(kyvernoTtl.read(marked({ annotations: { "cleanup.kyverno.io/ttl": "7d" } }))).toBeNull();
  });

  it("never expires after the year 9999", () => {
    const late = { ...with_("2w"), createdAtMs: Date.UTC(9999, 11, 31) };
    expect(inShort(kyvernoTtl.read(late))).toBe("never");
  });

  it.each([
    ["24h", "2025-01-04T00:00:00Z", "44h"],
    ["24h", "2025-01-03T03:30:00Z", "1465m"],
    ["7d", "2025-01-20T00:00:00Z", "17d"],
    ["2w", "2025-01-20T00:00:00Z", "17d"],
    ["30days", "2025-03-01T00:00:00Z", "57d"],
    ["1d12h", "2025-01-05T03:04:06Z", "72h1s"],
    ["1h30m", "2025-01-02T05:00:00Z", "1h55m55s"],
    ["1.5h", "2025-01-02T05:34:05Z", "2h30m"],
    ["1.5d", "2025-01-09T03:04:05Z", "7d"],
    ["500ms", "2025-01-02T03:04:07.900Z", "2s"],
    ["0", "2025-01-02T03:05:05Z", "1m"],
    ["2025-03-04", "2025-03-09T05:00:00Z", "2025-03-09"],
    ["2025-03-04", "2025-03-04T00:00:01Z", "2025-03-04T000001Z"],
    ["2025-03-04T050607.25Z", "2025-03-04T050608Z", null],
    ["2025-03-04T050607.25Z", "2025-03-04T05:06:08.300Z", "2025-03-04T050608Z"],
    ["24h", "2500-01-01T00:00:00Z", "2562047h"],
    ["2562047h", "2500-01-01T00:00:00Z", "153722867m"],
    ["1h30m", "2500-01-01T00:00:00Z", "2562047h47m16s"],
    ["2562047h47m16s", "2500-01-01T00:00:00Z", null],
    ["7x", "2025-03-04T00:00:00Z", null],
  ])("writes %j, wanted %s, as %j", (value, wanted, expected) => {
    expect(kyvernoTtl.write(with_(value), Date.parse(wanted))?.value ?? null).toBe(expected);
  });

  it.each([
    ["7d", true],
    ["0", true],
    ["2025-03-04", false],
    ["2025-03-04T050607Z", false],
  ])("counts %j from the creation: %s", (value, expected) => {
    expect(kyvernoTtl.isRelative(with_(value))).toBe(expected);
  });
});
