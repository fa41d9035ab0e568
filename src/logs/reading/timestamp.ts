const NEWLINE = 0x0a;
const BLANK = 0x20;

/** The longest that RFC 3339 with nanoseconds and an offset can be. */
const LONGEST = 36;

const RFC3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

const NS_PER_MS = 1_000_000n;

/** The moment before which a line was logged, in nanoseconds since the epoch: milliseconds would make equal what is not. */
export type Nanoseconds = bigint;

/** Milliseconds since the epoch, rounded down. */
export function toMs(ns: Nanoseconds): number {
  return Number(ns / NS_PER_MS);
}

/**
 * The time stamp at the beginning of the line at `at`, as the kubelet writes it with `timestamps=true`: RFC 3339 with up to
 * nine decimals, in the zone of the node. Undefined if there is none.
 */
export function timestampAt(bytes: Buffer, at: number): Nanoseconds | undefined {
  const head = bytes.subarray(at, at + LONGEST);
  const blank = head.findIndex(byte => byte === BLANK || byte === NEWLINE);
  return parseTimestamp(head.toString("latin1", 0, blank < 0 ? head.length : blank));
}

/** Nanoseconds of an RFC 3339 text; undefined if it is none. */
export function parseTimestamp(text: string): Nanoseconds | undefined {
  const match = RFC3339.exec(text);
  const seconds = match === null ? NaN : Date.parse(`${match[1] ?? ""}${match[3] ?? ""}`);
  if (Number.isNaN(seconds)) return undefined;
  return BigInt(seconds) * NS_PER_MS + BigInt((match?.[2] ?? "").padEnd(9, "0"));
}
