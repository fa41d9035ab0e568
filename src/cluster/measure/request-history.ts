import type { RequestSpan } from "../../core/request-rates";
import type { ServerCounts } from "./server-counts";

/** How far back is remembered, in milliseconds. */
const WINDOW_MS = 900_000;

/** Intervals that are kept: more than the window has at a reading every 5 s. The oldest go first. */
const MAX_INTERVALS = 240;

/** What a server missed to tell is told of no longer time than this, in milliseconds: an average over more says little of any moment. */
const MAX_JOINED_MS = 90_000;

/** The time between two readings, on the monotonic clock. */
interface Interval {
  readonly fromMs: number;
  readonly toMs: number;
  /** By FlowSchema. */
  readonly requests: Map<string, number>;
}

/** A server as it was read last. */
interface Known {
  readonly address: string;
  /** The end of the interval in which it was read. */
  readonly readMs: number;
  readonly requests: ReadonlyMap<string, number>;
}

/**
 * Makes requests per interval of the servers' counters. What it tells is a lower bound: a request is in the interval in which it was
 * made, or in none, and never in two. Pure but for its memory.
 */
export class RequestHistory {
  #intervals: readonly Interval[] = [];
  readonly #servers = new Map<number, Known>();
  #readMs: number | undefined;

  /** When the last reading was made, on the monotonic clock; undefined before the first. */
  get readMs(): number | undefined {
    return this.#readMs;
  }

  /** Takes what the servers that could be read have told at the same time. */
  add(told: readonly ServerCounts[]): void {
    const readMs = Math.max(...told.map(({ atMs }) => atMs));
    // No time has passed, so no rate could be told.
    if (readMs <= (this.#readMs ?? -Infinity)) return;
    if (this.#readMs !== undefined)
      this.#intervals = [...this.#intervals, { fromMs: this.#readMs, toMs: readMs, requests: new Map() }];
    this.#readMs = readMs;
    this.#forget(readMs);
    for (const server of told) this.#take(server, readMs);
  }

  /** The spans of each FlowSchema that had requests; `offsetMs` is what makes milliseconds since the epoch of the monotonic clock's. */
  spans(nowMs: number, offsetMs: number): Record<string, readonly RequestSpan[]> {
    this.#forget(nowMs);
    const names = new Set(this.#intervals.flatMap(({ requests }) => [...requests.keys()]));
    const epoch = (ms: number): number => Math.round(ms + offsetMs);
    const spansOf = (name: string): RequestSpan[] =>
      this.#intervals.map(({ fromMs, toMs, requests }) => ({
        fromMs: epoch(fromMs),
        toMs: epoch(toMs),
        requests: requests.get(name) ?? 0,
      }));
    return Object.fromEntries([...names].map(name => [name, spansOf(name)]));
  }

  #take({ address, startSeconds, requests }: ServerCounts, readMs: number): void {
    const known = this.#servers.get(startSeconds);
    // One server at two addresses would be counted twice.
    if (known?.readMs === readMs) return;
    const before = known?.requests ?? new Map<string, number>();
    this.#servers.set(startSeconds, { address, readMs, requests: higher(before, requests) });
    // What a server has counted before it was first seen may be of any time. At another address it may be another server.
    if (known?.address === address) this.#count(known.readMs, growth(before, requests));
  }

  /** Counts what was added since that moment, if there is an interval that holds all of the time since, or one can be made. */
  #count(sinceMs: number, grown: ReadonlyMap<string, number>): void {
    const first = this.#intervals.findIndex(({ fromMs, toMs }) => fromMs <= sinceMs && sinceMs < toMs);
    if (grown.size === 0 || first < 0) return;
    const joined = join(this.#intervals.slice(first));
    const isOne = first === this.#intervals.length - 1;
    if (!isOne && joined.toMs - joined.fromMs > MAX_JOINED_MS) return;
    for (const [name, requests] of grown) joined.requests.set(name, (joined.requests.get(name) ?? 0) + requests);
    this.#intervals = [...this.#intervals.slice(0, first), joined];
  }

  #forget(nowMs: number): void {
    const isRecent = (ms: number): boolean => nowMs - ms <= WINDOW_MS;
    this.#intervals = this.#intervals.slice(-MAX_INTERVALS).filter(({ fromMs }) => isRecent(fromMs));
    for (const [start, { readMs }] of this.#servers) if (!isRecent(readMs)) this.#servers.delete(start);
  }
}

/** What counters have grown by. One that was not there counts from zero; one that has fallen counts from where it was highest. */
function growth(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): Map<string, number> {
  const grown = new Map<string, number>();
  for (const [name, requests] of after) {
    const more = requests - (before.get(name) ?? 0);
    if (more > 0) grown.set(name, more);
  }
  return grown;
}

/** The highest that each counter has been. */
function higher(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): Map<string, number> {
  const highest = new Map(before);
  for (const [name, requests] of after) highest.set(name, Math.max(requests, before.get(name) ?? 0));
  return highest;
}

/** Intervals one after the other as one. */
function join(intervals: readonly Interval[]): Interval {
  const requests = new Map<string, number>();
  for (const interval of intervals)
    for (const [name, more] of interval.requests) requests.set(name, (requests.get(name) ?? 0) + more);
  return { fromMs: intervals[0]?.fromMs ?? NaN, toMs: intervals.at(-1)?.toMs ?? NaN, requests };
}
