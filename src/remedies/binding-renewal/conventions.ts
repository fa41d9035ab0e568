// How a binding says when it expires: RBAC has no field for it, so each enforcer has a label or an annotation. Read and written here are the
// forms that the enforcers document; any other value counts as malformed, and its binding is left alone and reported. Pure and total.

/** The part of a binding that conventions read. */
export interface Marked {
  /** `creationTimestamp`, in whole milliseconds since the epoch. */
  readonly createdAtMs: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Write times, by key, of values that are younger than the binding, in milliseconds since the epoch. */
  readonly writtenMs?: Readonly<Record<string, number>>;
}

/** A value that the operator cannot read. */
export interface Malformed {
  readonly kind: "malformed";
  readonly key: string;
  /** The value, cut to 80 characters. */
  readonly value: string;
  /** The format that is understood, for people. */
  readonly expected: string;
}

/** How a convention reads a binding. */
export type Reading =
  | {
      readonly kind: "expires";
      /** The first time at which the enforcer may delete it, in milliseconds since the epoch, rounded down. */
      readonly atMs: number;
    }
  /** A valid value with which the enforcer never deletes. */
  | { readonly kind: "never" }
  | Malformed;

/** One value to write into the metadata of a binding. */
export interface Change {
  readonly place: "labels" | "annotations";
  readonly key: string;
  readonly value: string;
}

/** One key that contains the expiry of a binding. */
export interface Convention {
  /** `source` in status. */
  readonly key: string;
  /** Reports whether the expiry counts from the creation of the object. Meaningless if `read` finds no expiry. */
  isRelative(marked: Marked): boolean;
  /** Null if the binding does not use this convention. */
  read(marked: Marked): Reading | null;
  /**
   * The latest time, at most `atMs` and later than the current expiry and than `afterMs`, in the form that was found, otherwise in the
   * next finer form. Null if there is no such time or no expiry.
   */
  write(marked: Marked, atMs: number, afterMs?: number): Change | null;
}

/** An expiry, and how later ones are written in its form and in finer ones, each rounded down. */
interface Found {
  readonly atMs: number;
  readonly isRelative: boolean;
  readonly spell: readonly ((atMs: number) => string)[];
}

interface Rules extends Pick<Change, "place"> {
  readonly key: string;
  readonly expected: string;
  /** Undefined if the value is malformed. */
  parse(value: string, createdAtMs: number): Found | "never" | undefined;
}

/** 9999-12-31T23:59:59.999Z, the last time in RFC 3339, which status can show. */
const LAST_MS = 253_402_300_799_999;

/** Go's longest duration, 2^63-1 nanoseconds or some 292 years, in whole milliseconds. */
const LONGEST_GO_MS = 9_223_372_036_854;

/** A day has 24 hours and a week 7 days in every convention. From the coarsest to the finest. */
const UNITS = [
  ["w", 604_800_000],
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

const DAY = /^\d{4}-\d\d-\d\d$/;
const RFC3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(?:Z|([+-]\d\d:\d\d))$/;

const ownExpiresAt = define({
  key: "controller-resilience.io/expires-at",
  place: "annotations",
  expected: "a time in RFC 3339, such as 2006-01-02T15:04:05Z",
  parse: value => absolute(rfc3339Ms(value), spellSecond),
});

/** Zero is malformed: a binding that expires when it is created is a mistake. */
const ownExpirationSeconds = define({
  key: "controller-resilience.io/expiration-seconds",
  place: "annotations",
  expected: "a whole number of seconds, at least 1",
  parse: (value, createdAtMs) =>
    /^[1-9]\d{0,11}$/.test(value)
      ? relative(createdAtMs, Number(value) * 1_000, [ms => String(Math.floor(ms / 1_000))])
      : undefined,
});

/**
 * Kyverno: a duration from the creation, or a time in UTC (pkg/controllers/ttl/utils.go, api/kyverno/constants.go). A label value cannot
 * contain a colon. A zero deletes immediately. Kyverno also accepts fractions and long names of units, and adds up whatever numbers it finds:
 * `1.5d` is five days. Such values are malformed here.
 */
const kyvernoTtl = define({
  key: "cleanup.kyverno.io/ttl",
  place: "labels",
  expected: "a duration such as 90m, 24h or 7d, or a time in UTC such as 2006-01-02 or 2006-01-02T150405Z",
  parse(value, createdAtMs) {
    const duration = wholeDuration(value) ?? compoundDuration(value);
    if (duration !== undefined) {
      return duration.ms <= LONGEST_GO_MS ? relative(createdAtMs, duration.ms, duration.spell) : undefined;
    }
    if (DAY.test(value)) return absolute(utcMs(`${value}T00:00:00Z`), spellDay, spellCompact);
    const [, day = "", h = "", m = "", s = ""] = /^(\d{4}-\d\d-\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(value) ?? [];
    return absolute(utcMs(`${day}T${h}:${m}:${s}Z`), spellCompact);
  },
});

/** kube-janitor: the time from the creation; `forever`, in any case, and zero never delete (kube_janitor/helper.py, parse_ttl). */
const janitorTtl = define({
  key: "janitor/ttl",
  place: "annotations",
  expected: "a whole number with s, m, h, d or w, such as 7d, or forever",
  parse(value, createdAtMs) {
    if (value.toLowerCase() === "forever") return "never";
    const duration = wholeDuration(value);
    if (duration?.ms === 0) return "never";
    return duration && relative(createdAtMs, duration.ms, duration.spell);
  },
});

/** kube-janitor: a time in UTC; a date means its start (kube_janitor/helper.py, parse_expiry). */
const janitorExpires = define({
  key: "janitor/expires",
  place: "annotations",
  expected: "a time in UTC, such as 2006-01-02, 2006-01-02T15:04 or 2006-01-02T15:04:05Z",
  parse(value) {
    if (DAY.test(value)) return absolute(utcMs(`${value}T00:00:00Z`), spellDay, spellMinute, spellSecond);
    if (value.length === 16) return absolute(utcMs(`${value}:00Z`), spellMinute, spellSecond);
    return absolute(utcMs(value), spellSecond);
  },
});

/** All supported conventions, in the order of sources in status. */
export const CONVENTIONS: readonly Convention[] = [
  ownExpiresAt,
  ownExpirationSeconds,
  kyvernoTtl,
  janitorTtl,
  janitorExpires,
];

/** A binding read in all conventions. */
export interface Expiry {
  /** Conventions with an expiry. */
  readonly readings: readonly { readonly convention: Convention; readonly atMs: number }[];
  /** The enforcers are independent, so the earliest expiry counts. Absent if there is none. */
  readonly earliest?: {
    readonly atMs: number;
    /** The keys with this expiry. */
    readonly sources: readonly string[];
  };
  readonly malformed: readonly Malformed[];
}

/** Reads a binding in every convention. */
export function readExpiry(marked: Marked): Expiry {
  const all = CONVENTIONS.map(convention => ({ convention, reading: convention.read(marked) }));
  const malformed = all.flatMap(({ reading }) => (reading?.kind === "malformed" ? [reading] : []));
  const readings = all.flatMap(({ convention, reading }) =>
    reading?.kind === "expires" ? [{ convention, atMs: reading.atMs }] : [],
  );
  if (readings.length === 0) return { readings, malformed };
  const atMs = Math.min(...readings.map(reading => reading.atMs));
  const sources = readings.filter(reading => reading.atMs === atMs).map(({ convention }) => convention.key);
  return { readings, earliest: { atMs, sources }, malformed };
}

/** Reports whether the binding uses any convention, including malformed values and "never". */
export function hasExpiryKey(marked: Marked): boolean {
  return CONVENTIONS.some(convention => convention.read(marked) !== null);
}

/** The same binding after a change. */
export function withChange(marked: Marked, { place, key, value }: Change): Marked {
  return { ...marked, [place]: { ...marked[place], [key]: value } };
}

/** A value that cannot be read. `expected` is for people. */
export function malformed(key: string, value: string, expected: string): Malformed {
  // A character has at most two UTF-16 units, and a cut between them would leave half of it.
  return { kind: "malformed", key, value: Array.from(value.slice(0, 160)).slice(0, 80).join(""), expected };
}

/** Milliseconds since the epoch of a time in RFC 3339, rounded down; undefined for any other text. */
export function rfc3339Ms(text: string): number | undefined {
  const [, local = "", fraction = "0", offset = ""] = RFC3339.exec(text) ?? [];
  const [ms, offsetMs] = [utcMs(`${local}Z`), offset === "" ? 0 : offsetOf(offset)];
  return ms === undefined || offsetMs === undefined ? undefined : ms - offsetMs + Math.floor(Number(fraction) * 1_000);
}

/** Milliseconds of `+01:30`. */
function offsetOf(offset: string): number | undefined {
  const [hours = 0, minutes = 0] = offset.slice(1).split(":").map(Number);
  const ms = (hours * 60 + minutes) * 60_000;
  return hours > 23 || minutes > 59 ? undefined : ms * (offset.startsWith("-") ? -1 : 1);
}

/**
 * Makes a convention from its rules. Each value is read back before it is written: it is valid, not later than the requested time, and
 * later than the current one.
 */
function define(rules: Rules): Convention {
  const { key, place, expected } = rules;
  const found = ({ createdAtMs, ...marks }: Marked) => rules.parse(marks[place][key] ?? "", createdAtMs);
  return {
    key,
    isRelative: marked => (found(marked) as Found).isRelative,
    read(marked) {
      const value = marked[place][key];
      if (value === undefined) return misplaced(marked, { key, place });
      const parsed = rules.parse(value, marked.createdAtMs);
      if (parsed === undefined) return malformed(key, value, expected);
      return parsed !== "never" && parsed.atMs <= LAST_MS ? { kind: "expires", atMs: parsed.atMs } : { kind: "never" };
    },
    write(marked, atMs, afterMs = -Infinity) {
      const present = found(marked);
      if (present === undefined || present === "never") return null;
      for (const spell of present.spell) {
        const value = spell(atMs);
        const next = rules.parse(value, marked.createdAtMs);
        if (next === undefined || next === "never") continue;
        if (next.atMs > Math.max(present.atMs, afterMs) && next.atMs <= atMs) return { place, key, value };
      }
      return null;
    },
  };
}

/** A label where its enforcer looks for an annotation, or the other way round: it never deletes the binding. */
function misplaced({ labels, annotations }: Marked, { key, place }: Pick<Change, "key" | "place">): Malformed | null {
  const [other, value] = place === "labels" ? ["annotation", annotations[key]] : ["label", labels[key]];
  if (value === undefined) return null;
  return malformed(
    `${other} ${key}`,
    value,
    place === "labels" ? "a label of that name" : "an annotation of that name",
  );
}

function relative(createdAtMs: number, ms: number, spell: readonly ((ms: number) => string)[]): Found {
  const spellAt = spell.map(one => (atMs: number) => one(atMs - createdAtMs));
  return { atMs: createdAtMs + ms, isRelative: true, spell: spellAt };
}

function absolute(atMs: number | undefined, ...spell: Found["spell"]): Found | undefined {
  return atMs === undefined ? undefined : { atMs, isRelative: false, spell };
}

/** A duration, and how others are written in its form and in finer ones. */
interface Duration {
  readonly ms: number;
  readonly spell: readonly ((ms: number) => string)[];
}

/** `36h`, which may also become `2190m` or `131400s`. */
function wholeDuration(value: string): Duration | undefined {
  const [, amount = "", name] = /^(\d{1,12})([wdhms])$/.exec(value) ?? [];
  const finer = UNITS.slice(UNITS.findIndex(([unit]) => unit === name));
  if (name === undefined || finer[0] === undefined) return undefined;
  const spell = finer.map(
    ([unit, perUnit]) =>
      (ms: number) =>
        `${Math.floor(ms / perUnit)}${unit}`,
  );
  return { ms: Number(amount) * finer[0][1], spell };
}

/** `1h30m`, as Go writes it. */
function compoundDuration(value: string): Duration | undefined {
  const match = /^(?:(\d{1,12})h)?(?:(\d{1,12})m)?(?:(\d{1,12})s)?$/.exec(value);
  if (match === null || value === "") return undefined;
  const [, h = "0", m = "0", s = "0"] = match;
  return { ms: (Number(h) * 3_600 + Number(m) * 60 + Number(s)) * 1_000, spell: [spellCompound] };
}

function spellCompound(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const parts = [`${Math.floor(seconds / 3_600)}h`, `${Math.floor(seconds / 60) % 60}m`, `${seconds % 60}s`];
  return parts.filter(part => !/^0./.test(part)).join("");
}

/** Undefined if the text is no time of the form `2006-01-02T15:04:05Z`, or one that does not exist, like 30 February or 24:00. */
function utcMs(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text)) return undefined;
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && spellSecond(ms) === text ? ms : undefined;
}

function spellDay(atMs: number): string {
  return spellSecond(atMs).slice(0, 10);
}

function spellMinute(atMs: number): string {
  return spellSecond(atMs).slice(0, 16);
}

function spellCompact(atMs: number): string {
  return spellSecond(atMs).replaceAll(":", "");
}

/** `2006-01-02T15:04:05Z`, in UTC, rounded down; empty for what is no time with a year of four digits. */
function spellSecond(atMs: number): string {
  const ms = Math.min(atMs, LAST_MS);
  return ms >= -62_167_219_200_000 ? `${new Date(Math.floor(ms)).toISOString().slice(0, 19)}Z` : "";
}
