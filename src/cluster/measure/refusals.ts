import type { Refusal } from "../../core/readers";
import type { ServerCounts } from "./metrics";

// Whether the API servers refuse anyone, from the counters of all of them together (docs/adr/0036-read-no-healthy-log-while-no-request-is-refused.md).

/** Time between two readings, in milliseconds. */
const INTERVAL_MS = 10_000;

/** A page takes an API server 30 ms of a core per megabyte: so many milliseconds per byte between two readings are half a percent of it. */
const MS_PER_BYTE = 6e-3;

/** With a larger page than this allows, a refusal would be known too late to be of use. */
const MAX_INTERVAL_MS = 60_000;

/** After so many readings in a row that proved nothing, the next follows later. */
const MISSES = 6;
const RETRY_MS = 300_000;

/** One server must have answered so many new connections in a row: several may answer at one address, one at a time. */
const ALONE_READINGS = 6;

/** Beyond the next reading, the last one holds for this long: the deadline of a page. */
const LATE_MS = 15_000;

const REFUSALS: readonly Refusal[] = ["401", "403", "429"];

/** One reading of the API servers. */
export interface CountsReading {
  readonly counts: readonly ServerCounts[];
  /** `each`: every API server, at its own address; `one`: the only one that is known; `some`: not all, or others may hide behind one address. */
  readonly scope: "each" | "one" | "some";
  /** Before the first request, on the monotonic clock. */
  readonly startedMs: number;
  readonly endedMs: number;
}

/** Remembers until when an API server may have refused a request. Unknown counters mean that one may refuse requests now. */
export class RefusalMemory {
  /** The last reading of all API servers. */
  #known: readonly ServerCounts[] = [];
  /** A refusal before this time was counted in it. */
  #coveredMs = -Infinity;
  /** The end of the last interval in which the counters rose, or the servers changed. */
  readonly #untilMs = new Map<Refusal, number>(REFUSALS.map(refusal => [refusal, -Infinity]));
  /** Readings in a row of the only server. */
  #alone = 0;
  #misses = 0;
  #bytes = 0;

  /** Time until the next reading, in milliseconds. */
  get waitMs(): number {
    return this.#misses >= MISSES || this.#intervalMs() > MAX_INTERVAL_MS ? RETRY_MS : this.#intervalMs();
  }

  note(reading: CountsReading): void {
    const { counts, scope, startedMs, endedMs } = reading;
    this.#bytes = Math.max(0, ...counts.map(({ bytes }) => bytes));
    this.#alone = scope === "one" ? this.#alone + 1 : 0;
    this.#misses = scope === "some" ? this.#misses + 1 : 0;
    if (scope !== "each" && this.#alone < ALONE_READINGS) return;
    for (const refusal of REFUSALS) if (this.#isRisen(refusal, counts)) this.#untilMs.set(refusal, endedMs);
    this.#known = counts;
    this.#coveredMs = startedMs;
  }

  /** As {@link RefusalWatch.refusedUntilMs}. */
  refusedUntilMs(refusals: readonly Refusal[], nowMs: number): number {
    const intervalMs = this.#intervalMs();
    if (intervalMs > MAX_INTERVAL_MS || nowMs - this.#coveredMs > 2 * intervalMs + LATE_MS) return Infinity;
    return Math.max(...refusals.map(refusal => this.#untilMs.get(refusal) ?? Infinity));
  }

  #intervalMs(): number {
    return Math.max(INTERVAL_MS, MS_PER_BYTE * this.#bytes);
  }

  /** A server that is new, gone or restarted, or that does not count them, may have refused requests. */
  #isRisen(refusal: Refusal, counts: readonly ServerCounts[]): boolean {
    const countOf = (one: ServerCounts | undefined): number => one?.refused.get(refusal) ?? NaN;
    const before = ({ address, startSeconds }: ServerCounts): ServerCounts | undefined =>
      this.#known.find(one => one.address === address && one.startSeconds === startSeconds);
    return counts.length !== this.#known.length || counts.some(server => countOf(server) !== countOf(before(server)));
  }
}
