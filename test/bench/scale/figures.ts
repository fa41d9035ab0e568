import { FIGURES } from "./goals";
import { number, type Figure } from "./report";
import type { Count } from "./requests";
import type { Steady, Traffic } from "./steady";

/** Kinds of requests in the notes. */
const MOST_KINDS = 8;

/** The figures of a time in which nothing happened. */
export function steadyFigures(steady: Steady): Figure[] {
  const { seconds, logReads, others, besidesLease, writes, intervals, cpuPercent, rssMiB, peakMiB, blockedMs } = steady;
  const all: readonly (readonly [string, number])[] = [
    [FIGURES.perMinute, (60 * (logReads + others)) / seconds],
    [FIGURES.logReads, logReads / seconds],
    [FIGURES.others, others / seconds],
    [FIGURES.besidesLease, besidesLease / seconds],
    [FIGURES.writes, (60 * writes.reduce((sum, { count }) => sum + count, 0)) / seconds],
    [FIGURES.cpu, cpuPercent],
    [FIGURES.rss, rssMiB],
    [FIGURES.peak, peakMiB],
    [FIGURES.blocked, blockedMs],
    [FIGURES.intervalMedian, intervals.median],
    [FIGURES.intervalP99, intervals.p99],
    [FIGURES.intervalMax, intervals.max],
  ];
  const named = all.map(([name, value]) => ({ name, value }));
  return intervals.logs > 0 ? named : named.slice(0, -3);
}

/** The most frequent requests, the writes and the refused requests of a minute, as lines. */
export function steadyNotes(traffic: Traffic): string[] {
  return notesOf(traffic, "requests per minute", count => (60 * count) / traffic.seconds);
}

/** The same, as counted. */
export function trafficNotes(traffic: Traffic): string[] {
  return notesOf(traffic, "requests", count => count);
}

function notesOf({ kinds, writes, refused }: Traffic, what: string, valueOf: (count: number) => number): string[] {
  const inWords = (counts: readonly Count[]): string =>
    counts
      .slice(0, MOST_KINDS)
      .map(count => `${number(valueOf(count.count))} ${count.what}`)
      .join(", ");
  return [
    `${what}: ${inWords(kinds)}`,
    ...(writes.length > 0 ? [`of these, writes: ${inWords(writes)}`] : []),
    ...(refused.length > 0 ? [`of these, without success: ${inWords(refused)}`] : []),
  ];
}
