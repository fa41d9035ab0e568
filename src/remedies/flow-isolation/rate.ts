import type { RequestRates, RequestSpan } from "../../core/request-rates";

/** What the spans of one flow say. */
export interface Reading {
  /** Of the newest span. Absent: not known. */
  readonly perSecond?: number;
  /** For how long the rate has been at the threshold or above it, by now and for certain. */
  readonly overMs: number;
}

/**
 * What is known of one flow's rate; nothing before `fromMs`, when what was measured was not the client's will.
 * Pure and total.
 */
export function readRate(rates: RequestRates, flowSchema: string, threshold: number, fromMs = -Infinity): Reading {
  if (rates.unknown !== undefined || rates.readMs === undefined) return { overMs: 0 };
  const all = (rates.spans[flowSchema] ?? []).filter(isSound);
  const spans = all.filter(span => span.fromMs >= fromMs);
  const newest = spans.at(-1);
  // A flow of which nothing was seen has made no requests; one whose spans are all too early has to be measured first.
  if (newest === undefined) return all.length === 0 ? { perSecond: 0, overMs: 0 } : { overMs: 0 };
  return { perSecond: perSecond(newest), overMs: timeOver(spans, threshold) };
}

/**
 * How long the rate has been at the threshold or above it, told from the spans that were so without a break up to now. A flood may have
 * begun within the oldest of them and ended within the newest: only what lies between was over for the whole time. Of those two counts as
 * much as they are like their neighbours, so that a burst is never taken for a long flood; where nothing lies between, nothing counts.
 */
function timeOver(spans: readonly RequestSpan[], threshold: number): number {
  const run = spans.slice(spans.findLastIndex(span => perSecond(span) < threshold) + 1);
  const [oldest, newest] = [run[0], run.at(-1)];
  const between = run.slice(1, -1);
  const [first, last] = [between[0], between.at(-1)];
  if (oldest === undefined || newest === undefined || first === undefined || last === undefined) return 0;
  return (
    last.toMs - first.fromMs + likeness(oldest, first) * lengthOf(oldest) + likeness(newest, last) * lengthOf(newest)
  );
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
