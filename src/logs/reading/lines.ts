import type { Steps } from "../../core/slices";

// Where the lines of a log begin and end. Pure.

/** The byte that ends a line. */
export const NEWLINE = 0x0a;

/** Returns the offset of the line that ends at `end`. */
export function startOfLine(text: Buffer, end: number): number {
  return end < 2 ? 0 : text.lastIndexOf(NEWLINE, end - 2) + 1;
}

/** Returns the offset of the last line. */
export function lastLine(text: Buffer): number {
  return startOfLine(text, text.length);
}

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
function parseTimestamp(text: string): Nanoseconds | undefined {
  const match = RFC3339.exec(text);
  const seconds = match === null ? NaN : Date.parse(`${match[1] ?? ""}${match[3] ?? ""}`);
  if (Number.isNaN(seconds)) return undefined;
  return BigInt(seconds) * NS_PER_MS + BigInt((match?.[2] ?? "").padEnd(9, "0"));
}

// A node's clock that was ahead and is set back leaves lines of the future in the log. The kubelet compares the time of each line with
// `sinceTime`, so every answer has them until their time has come, before the lines of the present. Pure.

/** A line that is further ahead of the operator's clock is one of the future; in milliseconds. Clocks of nodes may be off by half a minute. */
const AHEAD_MS = 30_000;

/** Lines of a container's two streams may be some milliseconds out of order; a clock that is set back makes a larger step. */
const STEP_NS: Nanoseconds = 1_000_000_000n;

/** Length of date and time up to the second. As text they are in order, but for a change of the node's time zone. */
const TO_THE_SECOND = "2006-01-02T15:04:05".length;

/** Reports whether a time, such as that of a line, is one of the future. */
export function isAhead(ms: number, nowMs: number): boolean {
  return ms > nowMs + AHEAD_MS;
}

/** Reports whether the clock was set back after the line with this time: the last line of `text` is earlier. */
export function isSetBackAfter(ns: Nanoseconds, text: Buffer): boolean {
  return isStep(ns, timestampAt(text, lastLine(text)));
}

/** Returns the offset of the first line after the last place where the clock was set back; 0 if there is none. */
export function* lastSetBack(text: Buffer): Steps<number> {
  let later = lastLine(text);
  for (; later > 0; yield) {
    const start = startOfLine(text, later);
    const isEarlier = text.compare(text, later, later + TO_THE_SECOND, start, start + TO_THE_SECOND) > 0;
    const ns = isEarlier ? timestampAt(text, start) : undefined;
    if (ns !== undefined && isStep(ns, timestampAt(text, later))) return later;
    later = start;
  }
  return 0;
}

function isStep(ns: Nanoseconds, laterNs: Nanoseconds | undefined): boolean {
  return laterNs !== undefined && ns - laterNs > STEP_NS;
}
