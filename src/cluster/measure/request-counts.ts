import { publicMessage } from "../../core/errors";
import { COUNTED_MS, type Refusal, type RefusalWatch, type RequestRates, type RequestSpan } from "../../core/readers";
import type { Clock } from "../../core/time";
import type { Api } from "../http/api";
import type { Instance } from "../http/connection";
import { EachInstance, INSTANCES_AGE_MS } from "./instances";
import { type MetricSource, readServerCounts, type ServerCounts } from "./metrics";
import { type CountsReading, RefusalMemory } from "./refusals";

/** Least time between two readings in milliseconds: a reading has megabytes, and rates within its own duration are unknown. */
const MIN_AGE_MS = 1_000;

/** A reading for another purpose that is so much sooner, in milliseconds, also tells whether requests are refused. */
const SOONER_MS = 5_000;

export interface RequestCountsContext extends MetricSource {
  readonly api: Pick<Api, "open" | "jsonOrNull">;
  /** How long a high rate proves nothing after a change of the API servers, in milliseconds. */
  readonly settleMs?: number | undefined;
}

/**
 * The one owner of what the API servers count: requests per FlowSchema, and refusals. Each server is read at its own address. If there is only one, or none
 * is reachable there, such as from outside the cluster, it reads the one at the kubeconfig's address.
 */
export class RequestCounts implements RefusalWatch {
  readonly #context: RequestCountsContext;
  readonly #history = new RequestHistory();
  readonly #refusals = new RefusalMemory();
  readonly #changes: ServerChanges;
  /** Other readings share its list of the API servers. */
  readonly each: EachInstance;
  #rates: RequestRates = { spans: {}, servers: { found: 0, read: 0 } };
  #triedMs = -Infinity;
  #reading: Promise<RequestRates> | undefined;

  constructor(context: RequestCountsContext) {
    this.#context = context;
    this.each = new EachInstance(context);
    this.#changes = new ServerChanges(context.clock, context.settleMs);
  }

  /** @param countedMs for so long back requests are to count, while this is asked for again within five minutes */
  rates(maxAgeMs: number, countedMs = 0, instancesAgeMs = 0): Promise<RequestRates> {
    this.#history.keep(countedMs, this.#context.clock.monotonicMs());
    if (this.#reading !== undefined) return this.#reading;
    const ageMs = this.#context.clock.monotonicMs() - this.#triedMs;
    if (ageMs < Math.max(maxAgeMs, MIN_AGE_MS)) return Promise.resolve(this.#rates);
    this.#reading = this.#read(instancesAgeMs).finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async read(): Promise<void> {
    await this.rates(this.#refusals.waitMs - SOONER_MS, 0, INSTANCES_AGE_MS);
  }

  refusedUntilMs(refusals: readonly Refusal[]): number {
    return this.#refusals.refusedUntilMs(refusals, this.#context.clock.monotonicMs());
  }

  async #read(instancesAgeMs: number): Promise<RequestRates> {
    const { clock } = this.#context;
    const startedMs = clock.monotonicMs();
    let found = 0;
    let counts: ServerCounts[] = [];
    let unknown: string | undefined;
    let scope: CountsReading["scope"] = "some";
    try {
      const instances = await this.each.ready(instancesAgeMs);
      found = Math.max(1, instances.length);
      counts = await this.each.ask(instances, each => readServerCounts(this.#context, each));
      this.#history.add(counts);
      this.#changes.note(counts, instances);
      scope = this.#scopeOf(counts, instances.length);
    } catch (error) {
      unknown = `Failed to read the request counters of the API servers: ${publicMessage(error)}.`;
    }
    this.#triedMs = clock.monotonicMs();
    this.#refusals.note({ counts, scope, startedMs, endedMs: this.#triedMs });
    this.#rates = {
      ...this.#known(),
      ...(unknown === undefined ? {} : { unknown }),
      servers: { found: Math.max(found, this.#behindOneAddress(counts)), read: counts.length },
    };
    return this.#rates;
  }

  /** All spans use the current offset of the wall clock, so that a clock jump does not separate them. */
  #known(): Omit<RequestRates, "unknown" | "servers"> {
    const nowMs = this.#context.clock.monotonicMs();
    const offsetMs = this.#context.clock.now().getTime() - nowMs;
    const { readMs } = this.#history;
    const spans = this.#history.spans(nowMs, offsetMs);
    const { untilMs } = this.#changes;
    return {
      spans,
      refusals: this.#refusals.unauthorized(nowMs, offsetMs),
      ...(readMs === undefined ? {} : { readMs: Math.round(readMs + offsetMs) }),
      ...(untilMs === undefined || untilMs <= nowMs ? {} : { settlingUntilMs: Math.round(untilMs + offsetMs) }),
    };
  }

  /** Several API servers may answer at the kubeconfig's address, one at a time. */
  #behindOneAddress(counts: readonly ServerCounts[]): number {
    const { clock } = this.#context;
    const offsetMs = clock.now().getTime() - clock.monotonicMs();
    return counts.some(({ address }) => address === "") ? this.#history.serversAt("", offsetMs) : 0;
  }

  /** API servers that do not register themselves, or hide behind one address, are never all read. */
  #scopeOf(counts: readonly ServerCounts[], registered: number): CountsReading["scope"] {
    if (registered > 1) return counts.length === registered ? "each" : "some";
    return registered === 1 && this.#behindOneAddress(counts) === 1 ? "one" : "hidden";
  }
}

/** After a change, clients reconnect and list everything again for this long by default, in milliseconds. */
const SETTLE_MS = 300_000;

/** Changes closer together than this are one series, such as the restart of one server after the other. In milliseconds. */
const SERIES_GAP_MS = 600_000;

/** A series counts for this long at most, in milliseconds: a flood that crashes API servers again and again must not hide behind it. */
const MAX_SERIES_MS = 1_800_000;

/** A server that is older than this when it is first read was not started just now, however wrong its clock is. In milliseconds. */
const OLD_MS = 3_600_000;

/** Notices when an API server starts, appears or leaves: the clients that list again then are no runaways. */
export class ServerChanges {
  readonly #clock: Pick<Clock, "now" | "monotonicMs">;
  readonly #settleMs: number;
  /** When each process was read last, on the monotonic clock, by its start time. */
  readonly #seenMs = new Map<number, number>();
  #addresses: string | undefined;
  #series: { readonly firstMs: number; readonly lastMs: number } | undefined;

  constructor(clock: Pick<Clock, "now" | "monotonicMs">, settleMs = SETTLE_MS) {
    this.#clock = clock;
    this.#settleMs = settleMs;
  }

  /** Until when clients may still list again, on the monotonic clock; undefined if nothing has changed. */
  get untilMs(): number | undefined {
    if (this.#series === undefined) return undefined;
    const { firstMs, lastMs } = this.#series;
    return Math.min(lastMs + this.#settleMs, firstMs + MAX_SERIES_MS);
  }

  /** Takes the API servers that responded, and all that register themselves. */
  note(counts: readonly Pick<ServerCounts, "startSeconds">[], instances: readonly Pick<Instance, "address">[]): void {
    const [nowMs, epochMs] = [this.#clock.monotonicMs(), this.#clock.now().getTime()];
    const isFirst = this.#addresses === undefined;
    const started = counts.flatMap(({ startSeconds }) => {
      const isKnown = this.#seenMs.has(startSeconds);
      this.#seenMs.set(startSeconds, nowMs);
      return isKnown ? [] : [epochMs - 1_000 * startSeconds];
    });
    const list = instances
      .map(({ address }) => address)
      .sort()
      .join(",");
    const isMoved = !isFirst && list !== this.#addresses;
    this.#addresses = list;
    for (const [start, seenMs] of this.#seenMs) if (nowMs - seenMs > OLD_MS) this.#seenMs.delete(start);
    // The first reading knows no servers from before: what their clocks say decides.
    const agesMs = isFirst
      ? started.map(ageMs => Math.max(0, ageMs))
      : started.filter(ageMs => ageMs < OLD_MS).map(() => 0);
    const ageMs = Math.min(...agesMs, isMoved ? 0 : Infinity);
    if (ageMs < this.#settleMs) this.#add(nowMs - ageMs);
  }

  #add(ms: number): void {
    const isNext = this.#series !== undefined && ms - this.#series.lastMs <= SERIES_GAP_MS;
    this.#series = { firstMs: isNext ? (this.#series?.firstMs ?? ms) : ms, lastMs: ms };
  }
}

/** Requests are kept for longer than {@link COUNTED_MS} only for as long after an object has asked for it, in milliseconds: it asks at each pass. */
const ASKED_MS = 300_000;

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
  /** The highest value of each counter so far. */
  readonly highest: Map<string, number>;
}

/**
 * Converts the servers' counters to requests per interval. The result is a lower bound: each request counts in the interval in which it
 * was made, or in none, but never in two.
 */
export class RequestHistory {
  #intervals: readonly Interval[] = [];
  readonly #servers = new Map<number, Known>();

  /** Time of the last reading on the monotonic clock. */
  readMs: number | undefined;
  /** When objects have last asked for requests of so long back, by that time. */
  readonly #asked = new Map<number, number>();

  /** Requests of so long back are asked for. */
  keep(countedMs: number, nowMs: number): void {
    this.#asked.set(countedMs, nowMs);
  }

  /** Takes one reading of all servers that responded. */
  add(counts: readonly ServerCounts[]): void {
    const readMs = Math.max(...counts.map(({ atMs }) => atMs));
    // Without elapsed time there is no rate.
    if (readMs <= (this.readMs ?? -Infinity)) return;
    if (this.readMs !== undefined)
      this.#intervals = [...this.#intervals, { fromMs: this.readMs, toMs: readMs, requests: new Map() }];
    this.readMs = readMs;
    this.#forget(readMs);
    for (const server of counts) this.#take(server, readMs);
  }

  /** Returns the spans of each FlowSchema with requests. `offsetMs` converts the monotonic clock to milliseconds since the epoch. */
  spans(nowMs: number, offsetMs: number): Record<string, readonly RequestSpan[]> {
    this.#forget(nowMs);
    const names = new Set(this.#intervals.flatMap(({ requests }) => [...requests.keys()]));
    const epoch = (ms: number): number => Math.round(ms + offsetMs);
    const intervals = this.#intervals;
    const spansOf = (name: string): RequestSpan[] =>
      intervals.map(({ fromMs, toMs, requests }) => ({
        fromMs: epoch(fromMs),
        toMs: epoch(toMs),
        requests: requests.get(name) ?? 0,
      }));
    // Built when read: most readers look at a few of thousands, and intervals that were told do not change.
    const getters = [...names].map(name => [name, { enumerable: true, get: () => spansOf(name) }] as const);
    return Object.defineProperties({}, Object.fromEntries(getters));
  }

  /**
   * Returns the number of API servers that were read at an address in the last 16 minutes. A server that started after another was last read
   * counts as its replacement. `offsetMs` as in {@link spans}.
   */
  serversAt(address: string, offsetMs: number): number {
    const there = [...this.#servers].filter(([, known]) => known.address === address);
    const startMs = Math.max(...there.map(([startSeconds]) => 1_000 * startSeconds));
    return there.filter(([, { readMs }]) => readMs + offsetMs >= startMs).length;
  }

  #take({ address, startSeconds, counts }: ServerCounts, readMs: number): void {
    const known = this.#servers.get(startSeconds);
    // One server at two addresses counts once.
    if (known?.readMs === readMs) return;
    const highest = known?.highest ?? new Map<string, number>();
    this.#servers.set(startSeconds, { address, readMs, highest });
    const grown = grow(highest, counts);
    // Counts before the first reading may be from any time, and at another address it may be another server.
    if (known?.address === address) this.#count(known.readMs, grown);
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
    for (const [ms, askedMs] of this.#asked) if (nowMs - askedMs > ASKED_MS) this.#asked.delete(ms);
    const keptMs = Math.max(COUNTED_MS, ...this.#asked.keys());
    this.#intervals = this.#intervals.filter(({ fromMs }) => nowMs - fromMs <= keptMs);
    for (const [start, { readMs }] of this.#servers) if (nowMs - readMs > COUNTED_MS) this.#servers.delete(start);
  }
}

/** No reader needs their number. */
const UNCOUNTED: ReadonlySet<string> = new Set<Refusal>(["403", "429"]);

/** Raises the counters, and returns the growth of each: from zero for a new one, and none for one that has fallen. */
function grow(highest: Map<string, number>, counts: ReadonlyMap<string, number>): Map<string, number> {
  const grown = new Map<string, number>();
  for (const [name, count] of counts) {
    const more = count - (highest.get(name) ?? 0);
    if (!(more > 0) || UNCOUNTED.has(name)) continue;
    grown.set(name, more);
    highest.set(name, count);
  }
  return grown;
}

/** Joins consecutive intervals. */
function join(intervals: readonly Interval[]): Interval {
  const requests = new Map<string, number>();
  for (const interval of intervals)
    for (const [name, more] of interval.requests) requests.set(name, (requests.get(name) ?? 0) + more);
  return { fromMs: intervals[0]?.fromMs ?? NaN, toMs: intervals.at(-1)?.toMs ?? NaN, requests };
}
