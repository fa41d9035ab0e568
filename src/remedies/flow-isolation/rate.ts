import type { RequestRates, RequestSpan } from "../../core/request-rates";

/** After the counters could not be read for longer than this, in milliseconds, what was counted meanwhile says nothing of now. */
const MAX_NEWEST_MS = 90_000;

/** What the spans of one flow say. */
export interface Reading {
  /** Of the newest span. Absent: not known. */
  readonly perSecond?: number;
  /** For how long the rate has been at the threshold or above it, by now and for certain. */
  readonly overMs: number;
}

/** Which spans count. Times in milliseconds. */
export interface Scope {
  /** None that began before: what was measured then was not the client's will. */
  readonly fromMs?: number;
  /** Of a longer one between others nothing is told. */
  readonly maxBetweenMs?: number;
}

/** What is known of one flow's rate. Pure and total. */
export function readRate(
  rates: RequestRates,
  flowSchema: string,
  threshold: number,
  { fromMs = -Infinity, maxBetweenMs = MAX_BETWEEN_MS }: Scope = {},
): Reading {
  if (rates.unknown !== undefined || rates.readMs === undefined) return { overMs: 0 };
  const all = (rates.spans[flowSchema] ?? []).filter(isSound);
  const spans = all.filter(span => span.fromMs >= fromMs);
  const newest = spans.at(-1);
  // A flow of which nothing was seen has made no requests; one whose spans are all too early has to be measured first.
  if (newest === undefined) return all.length === 0 ? { perSecond: 0, overMs: 0 } : { overMs: 0 };
  if (lengthOf(newest) > MAX_NEWEST_MS) return { overMs: 0 };
  return { perSecond: perSecond(newest), overMs: timeOver(spans, threshold, maxBetweenMs) };
}

/** Of a longer span between others nobody can tell bursts from a flood. Readings are 5 s apart while a flow is watched. */
export const MAX_BETWEEN_MS = 15_000;

/**
 * A flood begins within a span of the readings before it was noticed, 30 s apart and a little more; a longer one tells of many moments. Where
 * a flow is only told of, such spans may lie between others, too.
 */
export const MAX_OLDEST_MS = 35_000;

/**
 * How long the rate has been at the threshold or above it, told from the spans that were so without a break up to now. A flood may have
 * begun within the oldest of them and ended within the newest: only what lies between was over for the whole time. Of those two counts as
 * much as they are like their neighbours, so that a burst is never taken for a long flood; where nothing lies between, nothing counts.
 * Nor does what lies before a long span: behind an address that leads to one server after the other, spans are joined to as much as 90 s.
 */
function timeOver(spans: readonly RequestSpan[], threshold: number, maxBetweenMs: number): number {
  const lastBelow = spans.findLastIndex(span => perSecond(span) < threshold);
  const lastLong = spans.findLastIndex(span => lengthOf(span) > maxBetweenMs);
  const run = spans.slice(Math.max(lastBelow + 1, lastLong));
  const [oldest, newest] = [run[0], run.at(-1)];
  const between = run.slice(1, -1);
  const [first, last] = [between[0], between.at(-1)];
  if (oldest === undefined || newest === undefined || first === undefined || last === undefined) return 0;
  const begun = lengthOf(oldest) > MAX_OLDEST_MS ? 0 : likeness(oldest, first) * lengthOf(oldest);
  return last.toMs - first.fromMs + begun + likeness(newest, last) * lengthOf(newest);
}

/** 1 where both have the same rate, less the more they differ. Neither rate is 0. */
function likeness(a: RequestSpan, b: RequestSpan): number {
  const rates = [perSecond(a), perSecond(b)];
  return Math.min(...rates) / Math.max(...rates);
}

function perSecond(span: RequestSpan): number {
  return (1000 * span.requests) / lengthOf(span);
}

function lengthOf({ fromMs, toMs }: RequestSpan): number {
  return toMs - fromMs;
}

function isSound(span: RequestSpan): boolean {
  return lengthOf(span) > 0 && Number.isFinite(lengthOf(span)) && span.requests >= 0 && Number.isFinite(span.requests);
}
