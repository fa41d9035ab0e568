/** The units of all conventions, from the coarsest to the finest. */
export const UNITS = ["w", "d", "h", "m", "s"] as const;

/** A unit of {@link UNITS}. */
export type Unit = (typeof UNITS)[number];

/** Milliseconds of each unit: a day has 24 hours and a week 7 days in every convention. */
export const MS_PER_UNIT: Readonly<Record<Unit, number>> = {
  w: 604_800_000,
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
};

/** Go's longest duration, 2^63-1 nanoseconds or some 292 years, in whole milliseconds. */
export const LONGEST_GO_MS = 9_223_372_036_854;

/** A parsed duration. */
export interface Duration {
  readonly ns: bigint;
  /** The unit of one whole number (`24h`); undefined for `1h30m`, `1.5h`, `0` and anything finer than a second. */
  readonly unit: Unit | undefined;
}

type Table = ReadonlyMap<string, bigint>;

const MAX_INT64 = 2n ** 63n - 1n;
const INT64_DECIMALS = String(MAX_INT64).length;

/** One number with its unit. The character classes are disjoint, so there is no backtracking. */
const COMPONENT = /(\d*)(?:\.(\d*))?([^.\d]+)/y;

/** golang/go src/time/format.go, unitMap: both the micro sign and the Greek letter mu. */
const GO: Table = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  ["\u00b5s", 1_000n],
  ["\u03bcs", 1_000n],
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);

/** xhit/go-str2duration str2duration.go, unitMap: Go's units, days and weeks. */
const STR2DURATION: Table = new Map([...GO, ["d", 86_400_000_000_000n], ["w", 604_800_000_000_000n]]);

/** Parses as Go's `time.ParseDuration` does (golang/go src/time/format.go): a sign, then numbers with units, fractions allowed. */
export function goDuration(text: string): Duration | undefined {
  return signed(text, GO);
}

/** Parses as `str2duration.ParseDuration` does (xhit/go-str2duration v2, str2duration.go): the same with days and weeks. */
export function str2duration(text: string): Duration | undefined {
  return signed(text, STR2DURATION);
}

function signed(text: string, table: Table): Duration | undefined {
  const negative = text.startsWith("-");
  const rest = negative || text.startsWith("+") ? text.slice(1) : text;
  // A zero needs no unit.
  if (rest === "0") return { ns: 0n, unit: undefined };
  const sum = rest === "" ? undefined : components(rest, table);
  return sum === undefined || !negative ? sum : { ns: -sum.ns, unit: sum.unit };
}

function components(text: string, table: Table): Duration | undefined {
  let ns = 0n;
  let unit: Unit | undefined;
  for (let at = 0; at < text.length; at = COMPONENT.lastIndex) {
    COMPONENT.lastIndex = at;
    const match = COMPONENT.exec(text);
    const one = match === null ? undefined : component(match, table);
    if (one === undefined) return undefined;
    ns += one;
    if (ns > MAX_INT64) return undefined;
    unit = match?.[0] === text && match[2] === undefined ? asUnit(match[3]) : undefined;
  }
  return { ns, unit };
}

/** Nanoseconds of one number with its unit; undefined without a digit, with an unknown unit, or beyond Go's range. */
function component(match: RegExpExecArray, table: Table): bigint | undefined {
  const [, whole = "", decimals = "", name = ""] = match;
  const perUnit = table.get(name);
  const amount = int64(whole);
  if (perUnit === undefined || amount === undefined || whole + decimals === "") return undefined;
  return amount * perUnit + fraction(decimals, perUnit);
}

/** Go computes fractions in a float64 and drops decimals beyond an int64 (leadingFraction in both sources). */
function fraction(decimals: string, perUnit: bigint): bigint {
  let digits = decimals.slice(0, INT64_DECIMALS);
  if (int64(digits) === undefined) digits = digits.slice(0, -1);
  return BigInt(Math.trunc(Number(digits) * (Number(perUnit) / 10 ** digits.length)));
}

/** A whole number of at least 0; no digits are 0; undefined beyond an int64. */
export function int64(digits: string): bigint | undefined {
  const value = BigInt(digits);
  return value > MAX_INT64 ? undefined : value;
}

/** The unit of that name; undefined if no convention uses it. */
export function asUnit(name: string | undefined): Unit | undefined {
  return UNITS.find(unit => unit === name);
}

/** `ms` as a whole number of `from`, rounded down, then of every finer unit: `1d`, `36h`, `2160m`, `129600s`. */
export function spellWhole(ms: number, from: Unit): string[] {
  return UNITS.slice(UNITS.indexOf(from)).map(unit => `${Math.floor(ms / MS_PER_UNIT[unit])}${unit}`);
}

/** `ms` as hours, minutes and seconds, rounded down to the second and without what is zero: `36h`, `1h30m`, `5s`. */
export function spellCompound(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const parts: [number, Unit][] = [
    [Math.floor(seconds / 3_600), "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ];
  return parts
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount}${unit}`)
    .join("");
}
