import { describe, expect, it } from "vitest";
import { inShort, marked } from "./testing/marked";
import { ttlController } from "./ttl-controller";

const TTL = "k8s-ttl-controller.twin.sh/ttl";
const REFRESHED_AT = "k8s-ttl-controller.twin.sh/refreshed-at";

const with_ = (ttl: string, refreshedAt?: string) =>
  marked({ annotations: { [TTL]: ttl, ...(refreshedAt === undefined ? {} : { [REFRESHED_AT]: refreshedAt }) } });

describe("k8s-ttl-controller.twin.sh/ttl", () => {
  it.each([
    ["30m", "2025-01-02T03:34:05.000Z"],
    ["24h", "2025-01-03T03:04:05.000Z"],
    ["7d", "2025-01-09T03:04:05.000Z"],
    ["1w2d3h4m5s", "2025-01-11T06:08:10.000Z"],
    ["1.5d", "2025-01-03T15:04:05.000Z"],
    [".5h", "2025-01-02T03:34:05.000Z"],
    ["1500ms", "2025-01-02T03:04:06.500Z"],
    ["5\u00b5s", "2025-01-02T03:04:05.000Z"],
    ["5\u03bcs", "2025-01-02T03:04:05.000Z"],
    ["+5m", "2025-01-02T03:09:05.000Z"],
    ["-5m", "2025-01-02T02:59:05.000Z"],
    ["-1ns", "2025-01-02T03:04:04.999Z"],
    ["0", "2025-01-02T03:04:05.000Z"],
    ["-0", "2025-01-02T03:04:05.000Z"],
    ["15250w", "2317-04-12T03:04:05.000Z"],
    ["15251w", "malformed"],
    ["15250w15250w", "malformed"],
    ["9223372036854775808ns", "malformed"],
    ["99999999999999999999h", "malformed"],
    ["0.1111111111111111111111111h", "2025-01-02T03:10:45.000Z"],
    ["0.9999999999999999999999999h", "2025-01-02T04:04:05.000Z"],
    ["0.9674072222222222222222221h", "2025-01-02T04:02:07.666Z"],
    ["7D", "malformed"],
    ["7days", "malformed"],
    ["7 d", "malformed"],
    [" 7d", "malformed"],
    ["7d ", "malformed"],
    ["7d\n", "malformed"],
    ["7", "malformed"],
    ["d", "malformed"],
    [".d", "malformed"],
    ["1..5h", "malformed"],
    ["--5m", "malformed"],
    ["-", "malformed"],
    ["forever", "malformed"],
    ["", "malformed"],
  ])("reads a ttl of %j as %s", (ttl, expected) => {
    expect(inShort(ttlController.read(with_(ttl)))).toBe(expected);
  });

  it.each([
    ["2025-02-01T00:00:00Z", "2025-02-02T00:00:00.000Z"],
    ["2025-02-01T02:00:00+02:00", "2025-02-02T00:00:00.000Z"],
    ["2025-01-31T18:30:00-05:30", "2025-02-02T00:00:00.000Z"],
    ["2025-02-01T00:00:00.1239999Z", "2025-02-02T00:00:00.123Z"],
    ["2025-02-01T00:00:00,5Z", "2025-02-02T00:00:00.500Z"],
    ["2025-02-01T0:00:00Z", "2025-02-02T00:00:00.000Z"],
    ["2020-01-01T00:00:00Z", "2020-01-02T00:00:00.000Z"],
    ["9999-12-31T23:59:59Z", "never"],
    // What it can't read counts as none.
    ["2025-02-01", "2025-01-03T03:04:05.000Z"],
    ["2025-02-30T00:00:00Z", "2025-01-03T03:04:05.000Z"],
    ["2025-02-01T00:00:60Z", "2025-01-03T03:04:05.000Z"],
    ["2025-02-01T24:00:00Z", "2025-01-03T03:04:05.000Z"],
    ["2025-02-01T00:00:00", "2025-01-03T03:04:05.000Z"],
    ["2025-02-01t00:00:00z", "2025-01-03T03:04:05.000Z"],
    ["2025-02-01T00:00:00+25:00", "2025-01-03T03:04:05.000Z"],
    [" 2025-02-01T00:00:00Z", "2025-01-03T03:04:05.000Z"],
    ["", "2025-01-03T03:04:05.000Z"],
  ])("counts a day from a refreshed-at of %j: %s", (refreshedAt, expected) => {
    expect(inShort(ttlController.read(with_("24h", refreshedAt)))).toBe(expected);
  });

  it("reads any number of decimals", () => {
    expect(inShort(ttlController.read(with_(`0.${"9".repeat(400)}h`)))).toBe("2025-01-02T04:04:05.000Z");
  });

  it("is not used by a binding with only refreshed-at", () => {
    expect(ttlController.read(marked({ annotations: { [REFRESHED_AT]: "2025-02-01T00:00:00Z" } }))).toBeNull();
  });

  it("moves refreshed-at and keeps ttl", () => {
    expect(ttlController.write(with_("24h"), Date.UTC(2025, 1, 2, 0, 0, 0, 999))).toEqual({
      place: "annotations",
      key: REFRESHED_AT,
      value: "2025-02-01T00:00:00Z",
      atMs: Date.UTC(2025, 1, 2),
    });
    expect(ttlController.keys).toEqual([TTL, REFRESHED_AT]);
  });

  it.each([
    ["24h", "2025-02-01T00:00:00Z", "2025-02-02T00:00:01Z", "2025-02-01T00:00:01Z"],
    ["24h", "2025-02-01T00:00:00Z", "2025-02-02T00:00:00.999Z", null],
    ["24h", "2025-02-01T00:00:00Z", "2025-02-01T12:00:00Z", null],
    ["1.5s", "2025-02-01T00:00:00Z", "2025-02-01T00:00:03Z", "2025-02-01T00:00:01Z"],
    ["24h1ns", "2025-01-01T00:00:00Z", "2025-02-02T00:00:00Z", "2025-01-31T23:59:59Z"],
    ["-5m", "2025-02-01T00:00:00Z", "2025-02-01T00:00:00Z", "2025-02-01T00:05:00Z"],
    ["24h", "rubbish", "2025-02-02T00:00:00Z", "2025-02-01T00:00:00Z"],
    ["7D", "2025-02-01T00:00:00Z", "2025-03-01T00:00:00Z", null],
  ])("writes a ttl of %j refreshed at %s, wanted %s, as %j", (ttl, refreshedAt, wanted, expected) => {
    expect(ttlController.write(with_(ttl, refreshedAt), Date.parse(wanted))?.value ?? null).toBe(expected);
  });

  it.each([
    [undefined, true],
    ["rubbish", true],
    ["2025-02-01T00:00:00Z", false],
  ])("with a refreshed-at of %j, counts from the creation: %s", (refreshedAt, expected) => {
    expect(ttlController.isRelative(with_("24h", refreshedAt))).toBe(expected);
  });
});
