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
  readonly key: string;
  /** The value, cut to 80 characters. */
  readonly value: string;
  /** The format that is understood, for people. */
  readonly expected: string;
}

/** One value to write into the metadata of a binding. */
export interface Change {
  readonly place: "labels" | "annotations";
  readonly key: string;
  readonly value: string;
}

/** A duration from the creation, or a time, in milliseconds. */
interface Found {
  readonly ms: number;
  readonly isRelative: boolean;
}

/** One key that contains the expiry of a binding. */
export interface Convention extends Pick<Change, "place"> {
  /** `source` in status. */
  readonly key: string;
  readonly expected: string;
  /** `never`: with a valid value the enforcer never deletes it. Undefined: the value is malformed. */
  parse(value: string): Found | "never" | undefined;
  /** How a duration is written. */
  spellAfter?(ms: number): string;
  /** How a time is written. */
  spellAt?(atMs: number): string;
}

/** When a binding expires, by one convention. */
export interface Deadline {
  readonly convention: Convention;
  /** The first time at which the enforcer may delete it, in milliseconds since the epoch, rounded down. */
  readonly atMs: number;
  /** The value is a duration from the creation of the object. */
  readonly isRelative: boolean;
}

/** A binding read in all conventions. */
export interface Expiry {
  /** The enforcers are independent, so the earliest expiry counts. Absent if there is none. */
  readonly earliest?: Deadline;
  /** The keys with an expiry. */
  readonly keys: readonly string[];
  readonly malformed: readonly Malformed[];
  /** The binding uses a convention, be it with a value that cannot be read or never expires. */
  readonly isMarked: boolean;
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
const RFC3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

const ownExpiresAt: Convention = {
  key: "controller-resilience.io/expires-at",
  place: "annotations",
  expected: "a time in RFC 3339, such as 2006-01-02T15:04:05Z",
  parse: value => absolute(rfc3339Ms(value)),
  spellAt: spellSecond,
};

/** Zero is malformed: a binding that expires when it is created is a mistake. */
const ownExpirationSeconds: Convention = {
  key: "controller-resilience.io/expiration-seconds",
  place: "annotations",
  expected: "a whole number of seconds, at least 1",
  parse: value => (/^[1-9]\d{0,11}$/.test(value) ? relative(Number(value) * 1_000) : undefined),
  spellAfter: ms => String(Math.floor(ms / 1_000)),
};

/**
 * Kyverno: a duration from the creation, or a time in UTC (pkg/controllers/ttl/utils.go, api/kyverno/constants.go). A label value cannot
 * contain a colon. A zero deletes immediately. Kyverno also accepts what it does not document: several units, fractions and long names of units,
 * of which it adds up whatever numbers it finds (`1.5d` is five days). Such values are malformed here.
 */
const kyvernoTtl: Convention = {
  key: "cleanup.kyverno.io/ttl",
  place: "labels",
  expected: "a duration such as 90m, 24h or 7d, or a time in UTC such as 2006-01-02 or 2006-01-02T150405Z",
  parse(value) {
    const ms = wholeDuration(value);
    if (ms !== undefined) return ms <= LONGEST_GO_MS ? relative(ms) : undefined;
    if (DAY.test(value)) return absolute(utcMs(`${value}T00:00:00Z`));
    const [, day = "", h = "", m = "", s = ""] = /^(\d{4}-\d\d-\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(value) ?? [];
    return absolute(utcMs(`${day}T${h}:${m}:${s}Z`));
  },
  spellAfter: spellDuration,
  spellAt: atMs => spellSecond(atMs).replaceAll(":", ""),
};

/** kube-janitor: the time from the creation; `forever`, in any case, and zero never delete (kube_janitor/helper.py, parse_ttl). */
const janitorTtl: Convention = {
  key: "janitor/ttl",
  place: "annotations",
  expected: "a whole number with s, m, h, d or w, such as 7d, or forever",
  parse(value) {
    if (value.toLowerCase() === "forever") return "never";
    const ms = wholeDuration(value);
    if (ms === undefined) return undefined;
    return ms === 0 ? "never" : relative(ms);
  },
  spellAfter: spellDuration,
};

/** kube-janitor: a time in UTC; a date means its start (kube_janitor/helper.py, parse_expiry). */
const janitorExpires: Convention = {
  key: "janitor/expires",
  place: "annotations",
  expected: "a time in UTC, such as 2006-01-02, 2006-01-02T15:04 or 2006-01-02T15:04:05Z",
  parse(value) {
    if (DAY.test(value)) return absolute(utcMs(`${value}T00:00:00Z`));
    return absolute(utcMs(value.length === 16 ? `${value}:00Z` : value));
  },
  spellAt: spellSecond,
};

/** All supported conventions. */
export const CONVENTIONS: readonly Convention[] = [
  ownExpiresAt,
  ownExpirationSeconds,
  kyvernoTtl,
  janitorTtl,
  janitorExpires,
];

/** Reads a binding in every convention. */
export function readExpiry(marked: Marked, conventions = CONVENTIONS): Expiry {
  const read = conventions.flatMap(convention => readIn(convention, marked) ?? []);
  const deadlines = read.flatMap(one => (typeof one === "object" && "atMs" in one ? [one] : []));
  const [earliest] = deadlines.toSorted((a, b) => a.atMs - b.atMs);
  return {
    ...(earliest && { earliest }),
    keys: deadlines.map(({ convention }) => convention.key),
    malformed: read.flatMap(one => (typeof one === "object" && "expected" in one ? [one] : [])),
    isMarked: read.length > 0,
  };
}

/** Undefined if the binding does not use this convention. */
function readIn(convention: Convention, marked: Marked): Deadline | "never" | Malformed | undefined {
  const { key, place, expected } = convention;
  const value = marked[place][key];
  if (value === undefined) return misplaced(marked, convention);
  const found = convention.parse(value);
  if (found === undefined) return malformed(key, value, expected);
  if (found === "never") return found;
  const atMs = found.ms + (found.isRelative ? marked.createdAtMs : 0);
  return atMs <= LAST_MS ? { convention, atMs, isRelative: found.isRelative } : "never";
}

/** A label where its enforcer looks for an annotation, or the other way round: it never deletes the binding. */
function misplaced({ labels, annotations }: Marked, { key, place }: Convention): Malformed | undefined {
  const [other, value, an] =
    place === "labels" ? ["annotation", annotations[key], "a label"] : ["label", labels[key], "an annotation"];
  return value === undefined ? undefined : malformed(`${other} ${key}`, value, `${an} of that name`);
}

/**
 * Writes that time instead, rounded down to a second: a duration stays one, and so does a time. The value is read back before it is written.
 * Undefined if it is not later than the present one.
 */
export function writeExpiry(
  marked: Marked,
  present: Deadline,
  atMs: number,
): { readonly change: Change; readonly atMs: number } | undefined {
  const { convention, isRelative } = present;
  const value = isRelative ? convention.spellAfter?.(atMs - marked.createdAtMs) : convention.spellAt?.(atMs);
  const change = { place: convention.place, key: convention.key, value: value ?? "" };
  const { earliest: next } = readExpiry(withChange(marked, change), [convention]);
  return next !== undefined && next.atMs > present.atMs && next.atMs <= atMs ? { change, atMs: next.atMs } : undefined;
}

/** The same binding after a change. */
export function withChange(marked: Marked, { place, key, value }: Change): Marked {
  return { ...marked, [place]: { ...marked[place], [key]: value } };
}

/** A value that cannot be read. `expected` is for people. */
export function malformed(key: string, value: string, expected: string): Malformed {
  // A character has at most two UTF-16 units, and a cut between them would leave half of it.
  return { key, value: Array.from(value.slice(0, 160)).slice(0, 80).join(""), expected };
}

/** Milliseconds since the epoch of a time in RFC 3339, rounded down; undefined for any other text. */
export function rfc3339Ms(text: string): number | undefined {
  const [, local = ""] = RFC3339.exec(text) ?? [];
  return utcMs(`${local}Z`) === undefined ? undefined : Date.parse(text);
}

function relative(ms: number): Found {
  return { ms, isRelative: true };
}

function absolute(ms: number | undefined): Found | undefined {
  return ms === undefined ? undefined : { ms, isRelative: false };
}

/** Milliseconds of `36h`. */
function wholeDuration(value: string): number | undefined {
  const [, amount = "", name] = /^(\d{1,12})([wdhms])$/.exec(value) ?? [];
  const unit = UNITS.find(([one]) => one === name);
  return unit && Number(amount) * unit[1];
}

/** In the longest unit below a week in which it is whole: `60d`, `36h`. */
function spellDuration(ms: number): string {
  const wholeMs = Math.floor(ms / 1_000) * 1_000;
  const [unit, perUnit] = UNITS.slice(1).find(([, size]) => wholeMs % size === 0) ?? ["s", 1_000];
  return `${wholeMs / perUnit}${unit}`;
}

/** Undefined if the text is no time of the form `2006-01-02T15:04:05Z`, or one that does not exist, like 30 February or 24:00. */
function utcMs(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text)) return undefined;
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && spellSecond(ms) === text ? ms : undefined;
}

/** `2006-01-02T15:04:05Z`, in UTC, rounded down; empty for what is no time with a year of four digits. */
function spellSecond(atMs: number): string {
  const ms = Math.min(atMs, LAST_MS);
  return ms >= -62_167_219_200_000 ? `${new Date(Math.floor(ms)).toISOString().slice(0, 19)}Z` : "";
}
