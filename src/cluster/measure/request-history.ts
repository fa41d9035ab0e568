import { UNAUTHENTICATED, type RequestSpan } from "../../core/readers";
import type { ServerCounts } from "./server-counts";

const WINDOW_MS = 900_000;

/** Most intervals, the oldest dropped first: more than the window contains with a reading every 5 s. */
const MAX_INTERVALS = 240;

/** Longest joined interval for a server with missed readings, in milliseconds: an average over more time has little meaning. */
const MAX_JOINED_MS = 90_000;

interface Interval {
  readonly fromMs: number;
  readonly toMs: number;
  /** By FlowSchema name. */
  readonly requests: Map<string, number>;
}

interface Known {
  readonly address: string;
  /** End of the interval of its last reading. */
  readonly readMs: number;
  readonly requests: ReadonlyMap<string, number>;
}

/**
 * Converts the servers' counters to requests per interval. The result is a lower bound: each request counts in the interval in which it
 * was made, or in none, but never in two.
 */
export class RequestHistory {
  #intervals: readonly Interval[] = [];
  readonly #servers = new Map<number, Known>();
  #readMs: number | undefined;

  /** Time of the last reading on the monotonic clock. */
  get readMs(): number | undefined {
    return this.#readMs;
  }

  /** Takes one reading of all servers that responded. */
  add(counts: readonly ServerCounts[]): void {
    const readMs = Math.max(...counts.map(({ atMs }) => atMs));
    // Without elapsed time there is no rate.
    if (readMs <= (this.#readMs ?? -Infinity)) return;
    if (this.#readMs !== undefined)
      this.#intervals = [...this.#intervals, { fromMs: this.#readMs, toMs: readMs, requests: new Map() }];
    this.#readMs = readMs;
    this.#forget(readMs);
    for (const server of counts) this.#take(server, readMs);
  }

  /** Returns the spans of each FlowSchema with requests. `offsetMs` converts the monotonic clock to milliseconds since the epoch. */
  spans(nowMs: number, offsetMs: number): Record<string, readonly RequestSpan[]> {
    this.#forget(nowMs);
    // Without intervals nothing is known; with them, no refused request is knowledge too.
    const known = this.#intervals.length === 0 ? [] : [UNAUTHENTICATED];
    const names = new Set([...known, ...this.#intervals.flatMap(({ requests }) => [...requests.keys()])]);
    const epoch = (ms: number): number => Math.round(ms + offsetMs);
    const spansOf = (name: string): RequestSpan[] =>
      this.#intervals.map(({ fromMs, toMs, requests }) => ({
        fromMs: epoch(fromMs),
        toMs: epoch(toMs),
        requests: requests.get(name) ?? 0,
      }));
    return Object.fromEntries([...names].map(name => [name, spansOf(name)]));
  }

  /**
   * Returns the number of API servers that were read at an address in the last 15 minutes. A server that started after another was last read
   * counts as its replacement. `offsetMs` as in {@link spans}.
   */
  serversAt(address: string, offsetMs: number): number {
    const there = [...this.#servers].filter(([, known]) => known.address === address);
    const startMs = Math.max(...there.map(([startSeconds]) => 1_000 * startSeconds));
    return there.filter(([, { readMs }]) => readMs + offsetMs >= startMs).length;
  }

  #take({ address, startSeconds, requests }: ServerCounts, readMs: number): void {
    const known = this.#servers.get(startSeconds);
    // One server at two addresses counts once.
    if (known?.readMs === readMs) return;
    const before = known?.requests ?? new Map<string, number>();
    this.#servers.set(startSeconds, { address, readMs, requests: higher(before, requests) });
    // Counts before the first reading may be from any time, and at another address it may be another server.
    if (known?.address === address) this.#count(known.readMs, growth(before, requests));
  }

  /** Adds the growth since `sinceMs`, if one interval, or several joined ones, cover the time since. */
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

/** Returns the growth of each counter: from zero for a new one, and from its highest value for one that has fallen. */
function growth(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): Map<string, number> {
  const grown = new Map<string, number>();
  for (const [name, requests] of after) {
    const more = requests - (before.get(name) ?? 0);
    if (more > 0) grown.set(name, more);
  }
  return grown;
}

/** Returns the highest value of each counter so far. */
function higher(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): Map<string, number> {
  const highest = new Map(before);
  for (const [name, requests] of after) highest.set(name, Math.max(requests, before.get(name) ?? 0));
  return highest;
}

/** Joins consecutive intervals. */
function join(intervals: readonly Interval[]): Interval {
  const requests = new Map<string, number>();
  for (const interval of intervals)
    for (const [name, more] of interval.requests) requests.set(name, (requests.get(name) ?? 0) + more);
  return { fromMs: intervals[0]?.fromMs ?? NaN, toMs: intervals.at(-1)?.toMs ?? NaN, requests };
}
