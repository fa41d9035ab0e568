import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Change,
  CONVENTIONS,
  type Convention,
  type Marked,
  readExpiry,
  withChange,
  writeExpiry,
} from "./conventions";

/** The creation of the bindings: 2025-01-02T03:04:05Z. */
const CREATED_MS = Date.UTC(2025, 0, 2, 3, 4, 5);

const [AT, SECONDS, KYVERNO, TTL, EXPIRES] = CONVENTIONS as [
  Convention,
  Convention,
  Convention,
  Convention,
  Convention,
];

/** A binding with this value under the key, where the enforcer looks for it. */
function marked({ key }: Convention, value: string, createdAtMs = CREATED_MS): Marked {
  const isLabel = key === KYVERNO.key;
  return { createdAtMs, labels: isLabel ? { [key]: value } : {}, annotations: isLabel ? {} : { [key]: value } };
}

/** A reading in short: the time in ISO 8601, `never` or `malformed`. */
function inShort(convention: Convention, value: string): string {
  const { earliest, malformed } = readExpiry(marked(convention, value), [convention]);
  if (earliest !== undefined) return new Date(earliest.atMs).toISOString();
  return malformed.length > 0 ? "malformed" : "never";
}

function write(convention: Convention, binding: Marked, atMs: number): Change | undefined {
  const { earliest } = readExpiry(binding, [convention]);
  return earliest && writeExpiry(binding, earliest, atMs)?.change;
}

describe("a value", () => {
  it.each<[Convention, string, string]>([
    [AT, "2025-03-04T05:06:07Z", "2025-03-04T05:06:07.000Z"],
    [AT, "2025-03-04T05:06:07.9876+01:30", "2025-03-04T03:36:07.987Z"],
    [AT, "2025-03-04T05:06:07-08:00", "2025-03-04T13:06:07.000Z"],
    [AT, "2025-02-30T00:00:00Z", "malformed"],
    [AT, "2025-03-04T24:00:00Z", "malformed"],
    [AT, "2025-03-04T05:06:07+24:00", "malformed"],
    [AT, "2025-03-04T05:06:07", "malformed"],
    [AT, "2025-03-04", "malformed"],
    [AT, "", "malformed"],
    [SECONDS, "3600", "2025-01-02T04:04:05.000Z"],
    [SECONDS, "0", "malformed"],
    [SECONDS, "1e3", "malformed"],
    [SECONDS, "60s", "malformed"],
    [SECONDS, "999999999999", "never"],
    [KYVERNO, "90m", "2025-01-02T04:34:05.000Z"],
    [KYVERNO, "7d", "2025-01-09T03:04:05.000Z"],
    [KYVERNO, "1h30m", "malformed"],
    [KYVERNO, "0s", "2025-01-02T03:04:05.000Z"],
    [KYVERNO, "2025-03-04", "2025-03-04T00:00:00.000Z"],
    [KYVERNO, "2025-03-04T050607Z", "2025-03-04T05:06:07.000Z"],
    [KYVERNO, "1.5d", "malformed"],
    [KYVERNO, "30days", "malformed"],
    [KYVERNO, "9999999h", "malformed"],
    [KYVERNO, "2025-03-04T05:06:07Z", "malformed"],
    [TTL, "5m", "2025-01-02T03:09:05.000Z"],
    [TTL, "2w", "2025-01-16T03:04:05.000Z"],
    [TTL, "Forever", "never"],
    [TTL, "0d", "never"],
    [TTL, "999999999999w", "never"],
    [TTL, "1h30m", "malformed"],
    [TTL, "\u0667d", "malformed"],
    [TTL, "", "malformed"],
    [EXPIRES, "2025-03-04", "2025-03-04T00:00:00.000Z"],
    [EXPIRES, "2025-03-04T05:06", "2025-03-04T05:06:00.000Z"],
    [EXPIRES, "2025-03-04T05:06:07Z", "2025-03-04T05:06:07.000Z"],
    [EXPIRES, "2025-3-4", "malformed"],
    [EXPIRES, "2025-03-04T05:06Z", "malformed"],
    [EXPIRES, "2025-03-04T05:06:61Z", "malformed"],
  ])("of $key, %j, reads as %s", (convention, value, expected) => {
    expect(inShort(convention, value)).toBe(expected);
  });

  it.each<[Convention, string, string, string | null]>([
    [AT, "2025-03-04T05:06:07+01:00", "2025-03-05T00:00:00.900Z", "2025-03-05T00:00:00Z"],
    [AT, "2025-03-04T05:06:07Z", "2025-03-04T05:06:07.900Z", null],
    [SECONDS, "3600", "2025-01-02T05:04:05.900Z", "7200"],
    [KYVERNO, "30d", "2025-03-03T03:04:05.000Z", "60d"],
    [KYVERNO, "1d", "2025-01-03T15:04:05.000Z", "36h"],
    [KYVERNO, "90m", "2025-01-02T06:04:06.000Z", "10801s"],
    [KYVERNO, "2025-03-04", "2025-03-05T00:00:01.000Z", "2025-03-05T000001Z"],
    [TTL, "1w", "2025-01-16T03:04:05.000Z", "14d"],
    [TTL, "30d", "2025-02-01T03:04:05.000Z", null],
    [EXPIRES, "2025-03-04", "2025-03-04T12:00:30.000Z", "2025-03-04T12:00:30Z"],
    [EXPIRES, "2025-03-04T05:06", "2025-03-04T05:06:59.900Z", "2025-03-04T05:06:59Z"],
    [EXPIRES, "9999-12-31T23:59:59Z", "+010000-01-01T00:00:00.000Z", null],
  ])("of $key, %j, for %s is written as %j", (convention, value, wanted, expected) => {
    expect(write(convention, marked(convention, value), Date.parse(wanted))?.value ?? null).toBe(expected);
  });

  it("that is malformed is quoted, cut between characters, with the expected format", () => {
    const [malformed] = readExpiry(marked(TTL, "\u{1f600}".repeat(200))).malformed;
    expect(malformed).toEqual({
      key: "janitor/ttl",
      value: "\u{1f600}".repeat(80),
      expected: "a whole number with s, m, h, d or w, such as 7d, or forever",
    });
  });

  it("in the wrong place is malformed: its enforcer never sees it", () => {
    const binding = { createdAtMs: CREATED_MS, labels: { "janitor/ttl": "7d" }, annotations: {} };
    const malformed = [{ key: "label janitor/ttl", value: "7d", expected: "an annotation of that name" }];
    expect(readExpiry(binding)).toMatchObject({ isMarked: true, malformed });
  });
});

const SECOND = 1_000;
const moment = fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2100, 0) });
const iso = moment.map(ms => `${new Date(ms).toISOString().slice(0, 19)}Z`);
const day = iso.map(text => text.slice(0, 10));
const amount = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 5_000 }));
const whole = fc.tuple(amount, fc.constantFrom("s", "m", "h", "d", "w")).map(([count, unit]) => `${count}${unit}`);

const VALUES: readonly (readonly [Convention, fc.Arbitrary<string>])[] = [
  [AT, iso],
  [SECONDS, amount.map(String)],
  [
    KYVERNO,
    fc.oneof(
      whole,
      day,
      iso.map(text => text.replaceAll(":", "")),
    ),
  ],
  [TTL, whole],
  [
    EXPIRES,
    fc.oneof(
      day,
      iso.map(text => text.slice(0, 16)),
      iso,
    ),
  ],
];

function expiry(convention: Convention, binding: Marked): number {
  const { earliest } = readExpiry(binding, [convention]);
  if (earliest === undefined) throw new Error("expected an expiry");
  return earliest.atMs;
}

describe.each(VALUES.map(([convention, value]) => ({ key: convention.key, convention, value })))(
  "any expiry in $key",
  ({ convention, value }) => {
    const binding = fc.tuple(moment, value).map(([ms, text]) => marked(convention, text, ms - (ms % SECOND)));
    const longer = fc.oneof(
      fc.integer({ min: SECOND, max: 90 * SECOND }),
      fc.integer({ min: SECOND, max: 50 * 365 * 86_400 * SECOND }),
    );

    it("can be written for any extension, to the second, and reads back the same", () => {
      fc.assert(
        fc.property(binding, longer, (before, byMs) => {
          const presentMs = expiry(convention, before);
          const change = write(convention, before, presentMs + byMs);
          if (change === undefined) throw new Error(`no later value than ${JSON.stringify(before)}`);
          const nextMs = expiry(convention, withChange(before, change));
          expect(nextMs).toBeGreaterThan(presentMs);
          expect(nextMs).toBeLessThanOrEqual(presentMs + byMs);
          expect(presentMs + byMs - nextMs).toBeLessThan(SECOND);
          if (change.place === "labels")
            expect(change.value).toMatch(/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/);
        }),
        { numRuns: 500 },
      );
    });

    it("is never written for an earlier time", () => {
      fc.assert(
        fc.property(binding, fc.nat(), (before, byMs) => {
          expect(write(convention, before, expiry(convention, before) - byMs)).toBeUndefined();
        }),
      );
    });
  },
);

describe("any text", () => {
  const pieces = fc.constantFrom(
    "2025-01-02",
    "T",
    "03:04",
    ":05",
    "Z",
    "+01:00",
    "9".repeat(30),
    ".5",
    "d",
    "h",
    "\n",
  );
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.array(pieces, { maxLength: 6 }).map(parts => parts.join("")),
  );
  const anyMoment = fc.oneof(fc.double(), fc.constantFrom(-1e300, 1e300), moment);

  it.each(CONVENTIONS.map(convention => ({ key: convention.key, convention })))(
    "in $key neither throws nor is written wrongly",
    ({ convention }) => {
      fc.assert(
        fc.property(text, anyMoment, anyMoment, (value, createdAtMs, atMs) => {
          const binding = marked(convention, value, createdAtMs);
          const change = write(convention, binding, atMs);
          if (change !== undefined) expect(expiry(convention, withChange(binding, change))).toBeLessThanOrEqual(atMs);
        }),
        { numRuns: 1_000 },
      );
    },
  );

  it.each(["9", "9 ", "1d", "1h1m1s", "\u0669"])("of 250,000 characters of %j is read within the time limit", piece => {
    const value = piece.repeat(250_000 / piece.length);
    for (const convention of CONVENTIONS) readExpiry(marked(convention, value));
  });
});
