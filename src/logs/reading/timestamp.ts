import { NEWLINE } from "./lines";

const BLANK = 0x20;

/** Longest timestamp of RFC 3339, with nanoseconds, an offset and one more byte. */
const LONGEST = 36;

const RFC3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

const NS_PER_MS = 1_000_000n;

/** The time of a line in nanoseconds since the epoch. Several lines may share a millisecond. */
export type Nanoseconds = bigint;

/** Returns milliseconds since the epoch, rounded down. */
export function toMs(ns: Nanoseconds): number {
  return Number(ns / NS_PER_MS);
}

/**
 * Returns the timestamp at the start of the line at `at`, as the kubelet writes it with `timestamps=true`: RFC 3339 with up
 * to nine decimals, in the time zone of the node. Undefined without one.
 */
export function timestampAt(bytes: Buffer, at: number): Nanoseconds | undefined {
  const head = bytes.subarray(at, at + LONGEST);
  const blank = head.findIndex(byte => byte === BLANK || byte === NEWLINE);
  return parseTimestamp(head.toString("latin1", 0, blank < 0 ? head.length : blank));
}

/** Returns the nanoseconds of an RFC 3339 timestamp; undefined for other text. */
export function parseTimestamp(text: string): Nanoseconds | undefined {
  const match = RFC3339.exec(text);
  const seconds = match === null ? NaN : Date.parse(`${match[1] ?? ""}${match[3] ?? ""}`);
  if (Number.isNaN(seconds)) return undefined;
  return BigInt(seconds) * NS_PER_MS + BigInt((match?.[2] ?? "").padEnd(9, "0"));
}
