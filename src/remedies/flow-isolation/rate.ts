import type { RequestRates, RequestSpan } from "../../core/readers";

/** Longest newest span, in milliseconds: after a longer gap in the readings, the counts say nothing about the present. */
const MAX_NEWEST_MS = 90_000;

/** The rate of one flow. */
export interface Reading {
  /** In the newest span; absent when unknown. */
  readonly perSecond?: number;
  /** For how long the rate has certainly been at or above the threshold, in milliseconds. */
  readonly overMs: number;
}

/** Which spans count. Times in milliseconds. */
export interface Scope {
  /** Ignores spans that began earlier: the client was throttled then. */
  readonly fromMs?: number;
  /** Longest span between two others that still counts. */
  readonly maxBetweenMs?: number;
}

/** The rate of one flow from the API servers' counters. Pure and total. */
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
  // A flow without spans has made no requests. One whose spans are all too early is not measured yet.
  if (newest === undefined) return all.length === 0 ? { perSecond: 0, overMs: 0 } : { overMs: 0 };
  if (lengthOf(newest) > MAX_NEWEST_MS) return { overMs: 0 };
  return { perSecond: perSecond(newest), overMs: timeOver(spans, threshold, maxBetweenMs) };
}

/** In a longer span between others, bursts look like a flood. Readings are 5 s apart while a flow is watched closely. */
export const MAX_BETWEEN_MS = 15_000;

/**
 * A flood begins within a span between two calm readings, which are 30 s apart or slightly more; a longer span says less. For a flow that is only
 * reported, such spans may also lie between others.
 */
export const MAX_OLDEST_MS = 35_000;

/**
 * How long the rate has been at or above the threshold, from the uninterrupted run of such spans up to now. A flood may have begun within the
 * oldest span and ended within the newest, so only the spans between them count fully. The two outer spans count in proportion to their
 * likeness with their neighbors, so that a burst never looks like a long flood. Without a span between them nothing counts. Nor do spans
 * before a long one: behind an address that alternates between servers, spans are joined to up to 90 s.
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

/** 1 for equal rates, and less the more they differ. Neither rate is 0. */
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

/** Smaller moves, as a part of the threshold, are not worth a write of status. */
const GRAIN = 0.1;

/** The schema takes an int32. */
const MAX_RATE = 2 ** 31 - 1;

/**
 * The rate as reported, in two digits. It stays as reported before until it has moved by more than half: a rate that changed with every pass
 * would make every pass write status.
 */
export function shownRate(perSecond: number, threshold: number, reported: number | undefined): number {
  const movedBy = Math.abs(perSecond - (reported ?? Infinity));
  const hasMoved = movedBy >= GRAIN * threshold && movedBy > Math.max(reported ?? 0, perSecond) / 2;
  if (reported !== undefined && !hasMoved) return reported;
  const twoDigits = Number(perSecond.toPrecision(2));
  return twoDigits < 1 ? 0 : Math.min(MAX_RATE, Math.round(twoDigits));
}
