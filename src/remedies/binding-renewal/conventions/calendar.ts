import { LAST_MS } from "./convention";

/** 0000-01-01T00:00:00Z, the first time with a year of four digits. */
const FIRST_MS = -62_167_219_200_000;

const NS_PER_MS = 1_000_000n;

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** Year, month (from 1), day, hour, minute, second; missing parts are 0. */
export type Fields = readonly number[];

/** Milliseconds since the epoch of a time in UTC; undefined if it does not exist, like 30 February, 24:00 or a second 60. */
export function utcMs(fields: Fields): number | undefined {
  const [hour = 0, minute = 0, second = 0] = fields.slice(3);
  const midnight = midnightMs(fields);
  if (midnight === undefined || hour > 23 || minute > 59 || second > 59) return undefined;
  return midnight + (hour * 3_600 + minute * 60 + second) * 1_000;
}

function midnightMs([year = NaN, month = NaN, day = NaN]: Fields): number | undefined {
  // Date.UTC reads the years 0 to 99 as 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : undefined;
}

/**
 * Nanoseconds since the epoch of a text that Go's `time.Parse(time.RFC3339, text)` accepts, as Kubernetes and its controllers do
 * (golang/go src/time/format.go, format_rfc3339.go). Go accepts more than RFC 3339: an hour of one digit, a comma before the fraction,
 * any number of decimals (dropped after the ninth), offsets up to 24:60. It accepts less in two points: `T` and `Z` must be upper case,
 * and there is no second 60. Undefined for any other text.
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

/** Nanoseconds in milliseconds, rounded down; BigInt alone rounds towards zero. */
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

/** Limited to years of four digits: toISOString throws far beyond them. */
function spell(atMs: number): string {
  return new Date(Math.min(Math.max(Math.floor(atMs), FIRST_MS), LAST_MS)).toISOString();
}
