import { LAST_MS } from "./convention";

/** 0000-01-01T00:00:00Z, the first moment that four digits of a year can say. */
const FIRST_MS = -62_167_219_200_000;

const NS_PER_MS = 1_000_000n;

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** Year, month (from 1), day, hour, minute, second; what is left out is 0. */
export type Fields = readonly number[];

/** Milliseconds since the epoch of a moment in UTC; undefined if there is none such, like 30 February, 24:00 or a second 60. */
export function utcMs(fields: Fields): number | undefined {
  const [hour = 0, minute = 0, second = 0] = fields.slice(3);
  const midnight = midnightMs(fields);
  if (midnight === undefined || hour > 23 || minute > 59 || second > 59) return undefined;
  return midnight + (hour * 3_600 + minute * 60 + second) * 1_000;
}

function midnightMs([year = NaN, month = NaN, day = NaN]: Fields): number | undefined {
  // Not Date.UTC: it takes the years 0 to 99 for 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : undefined;
}

/**
 * Nanoseconds since the epoch of what Go's `time.Parse(time.RFC3339, text)` takes, since Kubernetes and its controllers read times
 * so (golang/go src/time/format.go, format_rfc3339.go). It takes more than RFC 3339: an hour of one digit, a comma before the
 * fraction, any number of decimals (those after the ninth are dropped), offsets up to 24:60. It takes less in two points: `T`
 * and `Z` are upper case, and there is no second 60. Undefined if it is none.
 */
export function rfc3339Ns(text: string): bigint | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const ms = utcMs(match.slice(1, 7).map(Number));
  const offset = offsetMinutes(match[8] ?? "+", Number(match[9] ?? 0), Number(match[10] ?? 0));
  if (ms === undefined || offset === undefined) return undefined;
  return BigInt(ms - offset * 60_000) * NS_PER_MS + fractionNs(match[7]);
}

/** The bounds are those of golang/go src/time/format.go: hours up to 24, minutes up to 60. */
function offsetMinutes(sign: string, hours: number, minutes: number): number | undefined {
  if (hours > 24 || minutes > 60) return undefined;
  return (sign === "-" ? -1 : 1) * (hours * 60 + minutes);
}

/** Nanoseconds of the decimals of a second. */
export function fractionNs(decimals = ""): bigint {
  return BigInt(decimals.slice(0, 9).padEnd(9, "0"));
}

/** Whole milliseconds, rounded down, of nanoseconds; BigInt alone would round towards zero. */
export function floorMs(ns: bigint): number {
  return Number((ns - (((ns % NS_PER_MS) + NS_PER_MS) % NS_PER_MS)) / NS_PER_MS);
}

/** `2006-01-02`, in UTC, rounded down. */
export function spellDay(atMs: number): string {
  return spell(atMs).slice(0, 10);
}

/** `2006-01-02T15:04`, in UTC, rounded down. */
export function spellMinute(atMs: number): string {
  return spell(atMs).slice(0, 16);
}

/** `2006-01-02T15:04:05Z`, in UTC, rounded down. */
export function spellSecond(atMs: number): string {
  return `${spell(atMs).slice(0, 19)}Z`;
}

/** Bounded to the years that four digits can say: toISOString throws for what is far out. */
function spell(atMs: number): string {
  return new Date(Math.min(Math.max(Math.floor(atMs), FIRST_MS), LAST_MS)).toISOString();
}
