import { describe, expect, it } from "vitest";
import { ownExpirationSeconds, ownExpiresAt } from "./own";
import { CREATED_MS, inShort, marked } from "./testing/marked";

describe("controller-resilience.io/expires-at", () => {
  const with_ = (value: string) => marked({ annotations: { "controller-resilience.io/expires-at": value } });

  it.each([
    ["2025-03-04T05:06:07Z", "2025-03-04T05:06:07.000Z"],
    ["2025-03-04T05:06:07.9999Z", "2025-03-04T05:06:07.999Z"],
    ["2025-03-04T05:06:07.123456789999Z", "2025-03-04T05:06:07.123Z"],
    ["1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"],
    ["2025-03-04T05:06:07+05:30", "2025-03-03T23:36:07.000Z"],
    ["2025-03-04T05:06:07-00:00", "2025-03-04T05:06:07.000Z"],
    ["2025-03-04T05:06:07+24:60", "2025-03-03T04:06:07.000Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
    ["9999-12-31T23:59:59-01:00", "never"],
    ["2025-02-29T00:00:00Z", "malformed"],
    ["2025-03-04T05:06:60Z", "malformed"],
    ["2025-03-04T05:06:07+14:61", "malformed"],
    ["2025-03-04T05:06:07+0530", "malformed"],
    ["2025-03-04T05:06:07", "malformed"],
    ["2025-03-04T05:06Z", "malformed"],
    ["2025-03-04", "malformed"],
    ["2025-03-04T05:06:07.Z", "malformed"],
    ["2025-03-04T05:06:07Z ", "malformed"],
    ["2025-03-04T05:06:07Z\n", "malformed"],
    ["1741064767", "malformed"],
    ["never", "malformed"],
    ["", "malformed"],
  ])("reads %j as %s", (value, expected) => {
    expect(inShort(ownExpiresAt.read(with_(value)))).toBe(expected);
  });

  it.each([
    ["2025-03-04T05:06:07Z", "2025-03-04T06:00:00.999Z", "2025-03-04T06:00:00Z"],
    ["2025-03-04T05:06:07.5+01:00", "2025-03-04T06:00:00Z", "2025-03-04T06:00:00Z"],
    ["2025-03-04T05:06:07Z", "2025-03-04T05:06:07.999Z", null],
    ["2025-03-04T05:06:07Z", "+020000-01-01T00:00:00Z", "9999-12-31T23:59:59Z"],
  ])("writes %j, wanted %s, as %j", (value, wanted, expected) => {
    expect(ownExpiresAt.write(with_(value), Date.parse(wanted))?.value ?? null).toBe(expected);
  });

  it("reads times outside of any calendar", () => {
    expect(ownExpiresAt.write(with_("2025-03-04T05:06:07Z"), Infinity)?.value).toBe("9999-12-31T23:59:59Z");
    expect(ownExpiresAt.write(with_("2025-03-04T05:06:07Z"), NaN)).toBeNull();
  });

  it("does not count from the creation", () => {
    expect(ownExpiresAt.isRelative(with_("2025-03-04T05:06:07Z"))).toBe(false);
  });
});

describe("controller-resilience.io/expiration-seconds", () => {
  const with_ = (value: string) => marked({ annotations: { "controller-resilience.io/expiration-seconds": value } });

  it.each([
    ["1", "2025-01-02T03:04:06.000Z"],
    ["3600", "2025-01-02T04:04:05.000Z"],
    ["0060", "2025-01-02T03:05:05.000Z"],
    ["999999999999", "never"],
    ["99999999999999999999999", "never"],
    ["0", "malformed"],
    ["000", "malformed"],
    ["-1", "malformed"],
    ["+1", "malformed"],
    ["1.5", "malformed"],
    ["1e3", "malformed"],
    ["0x10", "malformed"],
    ["3600s", "malformed"],
    [" 3600", "malformed"],
    ["3600\n", "malformed"],
    ["\u0667", "malformed"],
    ["", "malformed"],
  ])("reads %j as %s", (value, expected) => {
    expect(inShort(ownExpirationSeconds.read(with_(value)))).toBe(expected);
  });

  it("writes the seconds from the creation", () => {
    expect(ownExpirationSeconds.write(with_("3600"), CREATED_MS + 7_200_999)?.value).toBe("7200");
    expect(ownExpirationSeconds.write(with_("3600"), CREATED_MS + 3_600_999)).toBeNull();
  });

  it("counts from the creation", () => {
    expect(ownExpirationSeconds.isRelative(with_("3600"))).toBe(true);
  });
});
