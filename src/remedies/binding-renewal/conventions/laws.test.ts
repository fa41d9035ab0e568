import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Convention, type Marked, withChange } from "./convention";
import { CONVENTIONS } from "./index";
import { janitorExpires } from "./janitor-expires";
import { janitorTtl } from "./janitor-ttl";
import { kyvernoTtl } from "./kyverno-ttl";
import { ownExpirationSeconds, ownExpiresAt } from "./own";
import { marked } from "./testing/marked";
import { ttlController } from "./ttl-controller";

const SECOND = 1_000;
const YEAR = 365 * 86_400 * SECOND;

const moment = fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2100, 0) });
const created = moment.map(ms => ms - (ms % SECOND));
const iso = moment.map(ms => new Date(ms).toISOString());
const day = iso.map(text => text.slice(0, 10));
const amount = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 5_000 }));
const whole = (units: string[]) =>
  fc.tuple(amount, fc.constantFrom(...units)).map(([count, unit]) => `${count}${unit}`);

const goUnits = ["ms", "s", "m", "h", "d", "w"];
const compound = fc.array(whole(goUnits), { minLength: 1, maxLength: 4 }).map(parts => parts.join(""));
const halves = fc.tuple(amount, fc.constantFrom("s", "m", "h")).map(([count, unit]) => `${count}.5${unit}`);
const offset = fc.constantFrom("Z", "+05:30", "-08:00");
const rfc3339 = fc.tuple(iso, offset).map(([text, zone]) => text.replace("Z", zone));

/** Values with an expiry, in each form of each convention. */
const VALUES: readonly (readonly [Convention, fc.Arbitrary<Record<string, string>>])[] = [
  [ownExpiresAt, values(ownExpiresAt, rfc3339)],
  [ownExpirationSeconds, values(ownExpirationSeconds, amount.map(String))],
  [
    kyvernoTtl,
    values(
      kyvernoTtl,
      fc.oneof(
        whole([...goUnits, "days", "W", "hr"]),
        compound,
        halves,
        day,
        iso.map(text => text.replaceAll(":", "")),
        iso.map(text => `${text.slice(0, 19).replaceAll(":", "")}Z`),
      ),
    ),
  ],
  [janitorTtl, values(janitorTtl, whole(["s", "m", "h", "d", "w", "d\n"]))],
  [
    janitorExpires,
    values(
      janitorExpires,
      fc.oneof(
        day,
        day.map(text => text.replaceAll("-0", "-")),
        iso.map(text => text.slice(0, 16)),
        iso.map(text => `${text.slice(0, 19)}Z`),
      ),
    ),
  ],
  [
    ttlController,
    fc
      .tuple(fc.oneof(whole(goUnits), compound, halves), fc.option(fc.oneof(rfc3339, fc.string()), { nil: undefined }))
      .map(([ttl, refreshedAt]) => {
        const [ttlKey = "", refreshedKey = ""] = ttlController.keys;
        return { [ttlKey]: ttl, ...(refreshedAt === undefined ? {} : { [refreshedKey]: refreshedAt }) };
      }),
  ],
];

function values(convention: Convention, value: fc.Arbitrary<string>): fc.Arbitrary<Record<string, string>> {
  return value.map(text => ({ [convention.key]: text }));
}

/** The precision of a written value, in milliseconds: its form has no other value between it and the requested time. */
function precision(value: string): number {
  const unit = { w: 604_800, d: 86_400, h: 3_600, m: 60 }[/^\d+([wdhm])$/.exec(value)?.[1] ?? ""];
  const form = { 10: 86_400, 16: 60 }[/^\d{4}-/.test(value) ? value.length : 0];
  return (unit ?? form ?? 1) * SECOND;
}

function expiry(convention: Convention, binding: Marked): number {
  const reading = convention.read(binding);
  if (reading?.kind !== "expires") throw new Error(`found ${JSON.stringify(reading)}, expected an expiry`);
  return reading.atMs;
}

describe.each(VALUES.map(([convention, marks]) => ({ key: convention.key, convention, marks })))(
  "$key",
  ({ convention, marks }) => {
    const binding = fc
      .tuple(created, marks)
      .map(([createdAtMs, all]) => marked({ createdAtMs, labels: all, annotations: all }));
    const longer = fc.oneof(
      fc.integer({ min: SECOND, max: 90 * SECOND }),
      fc.integer({ min: SECOND, max: 10 * 86_400 * SECOND }),
      fc.integer({ min: SECOND, max: 50 * YEAR }),
    );

    it("can be written for any extension, and reads back the same", () => {
      fc.assert(
        fc.property(binding, longer, (before, byMs) => {
          const presentMs = expiry(convention, before);
          const change = convention.write(before, presentMs + byMs);
          expect(change).not.toBeNull();
          if (change === null) return;
          expect(change.atMs).toBeGreaterThan(presentMs);
          expect(change.atMs).toBeLessThanOrEqual(presentMs + byMs);
          expect(presentMs + byMs - change.atMs).toBeLessThan(precision(change.value));
          expect(expiry(convention, withChange(before, change))).toBe(change.atMs);
          expect(convention.keys).toContain(change.key);
          if (change.place === "labels")
            expect(change.value).toMatch(/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/);
        }),
        { numRuns: 1_000 },
      );
    });

    it("is stable: a second write for the same time is finer or null", () => {
      fc.assert(
        fc.property(binding, longer, (before, byMs) => {
          const wantedMs = expiry(convention, before) + byMs;
          let current = before;
          let finest = Infinity;
          for (let change = convention.write(current, wantedMs); change !== null; ) {
            expect(precision(change.value)).toBeLessThan(finest);
            finest = precision(change.value);
            current = withChange(current, change);
            change = convention.write(current, wantedMs);
          }
          expect(wantedMs - expiry(convention, current)).toBeLessThan(SECOND);
        }),
        { numRuns: 500 },
      );
    });

    it("always moves the expiry later", () => {
      fc.assert(
        fc.property(binding, fc.nat({ max: 50 * YEAR }), (before, byMs) => {
          expect(convention.write(before, expiry(convention, before) - byMs)).toBeNull();
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
    "12",
    "9".repeat(30),
    ".5",
    "d",
    "h",
    " ",
    "-",
    "\n",
  );
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.array(pieces, { maxLength: 6 }).map(parts => parts.join("")),
  );
  const anyMoment = fc.oneof(fc.double(), fc.constantFrom(-1e300, 1e300), moment);

  it.each(CONVENTIONS.map(convention => ({ key: convention.key, convention })))(
    "$key never throws",
    ({ convention }) => {
      fc.assert(
        fc.property(
          fc.array(text, { minLength: 2, maxLength: 2 }),
          anyMoment,
          anyMoment,
          (texts, createdAtMs, atMs) => {
            const all = Object.fromEntries(convention.keys.map((key, index) => [key, texts[index] ?? ""]));
            const binding = { createdAtMs, labels: all, annotations: all };
            convention.isRelative(binding);
            convention.read(binding);
            const change = convention.write(binding, atMs);
            if (change !== null) expect(expiry(convention, withChange(binding, change))).toBe(change.atMs);
          },
        ),
        { numRuns: 2_000 },
      );
    },
  );

  it.each([
    ["digits", "9"],
    ["digits of another script", "\u0669"],
    ["digits and blanks", "9 "],
    ["units", "1d"],
    ["letters", "d"],
  ])("of 250,000 characters of %s is read within the time limit", (_, piece) => {
    const value = piece.repeat(250_000 / piece.length);
    for (const end of ["", "d", "!"]) {
      const all = Object.fromEntries(CONVENTIONS.flatMap(({ keys }) => keys).map(key => [key, value + end]));
      for (const convention of CONVENTIONS) convention.read(marked({ labels: all, annotations: all }));
    }
  });
});
