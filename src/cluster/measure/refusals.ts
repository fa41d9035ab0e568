import { COUNTED_MS, type Refusal, type Refusals, type TimeSpan } from "../../core/readers";
import type { ServerCounts } from "./metrics";

// Whether the API servers refuse anyone, from the counters of all of them together (docs/adr/0036-read-no-healthy-log-while-no-request-is-refused.md).

/** Time between two readings, in milliseconds. */
const INTERVAL_MS = 10_000;

/** A page takes an API server 30 ms of a core per megabyte: so many milliseconds per byte between two readings are half a percent of it. */
const MS_PER_BYTE = 6e-3;

/** With a larger page than this allows, a refusal would be known too late to be of use. */
const MAX_INTERVAL_MS = 60_000;

/** After so many readings in a row that proved nothing, no other is waited for, and the next follows later. */
const MISSES = 6;
const RETRY_MS = 300_000;

/** One server must have answered so many new connections in a row: several may answer at one address, one at a time. */
const ALONE_READINGS = 6;

/** Beyond the next reading, the last one holds for this long: the deadline of a page. */
const LATE_MS = 15_000;

/** What it has proven about earlier 401s holds for longer, in milliseconds. */
const PROVEN_MS = 300_000;

const REFUSALS: readonly Refusal[] = ["401", "403", "429"];

/** One reading of the API servers. */
export interface CountsReading {
  readonly counts: readonly ServerCounts[];
  /** `each`: every API server, at its own address; `one`: the only one that is known; `some`: not all; `hidden`: others may be behind one address. */
  readonly scope: "each" | "one" | "some" | "hidden";
  /** Before the first request, on the monotonic clock. */
  readonly startedMs: number;
  readonly endedMs: number;
}

/** The time between two readings of all API servers. */
interface Interval {
  /** -Infinity: there was no reading before. */
  readonly fromMs: number;
  readonly toMs: number;
  /** What may have been refused in it: true where a counter rose; false where a server is new, gone or restarted, or does not count it. */
  readonly refused: ReadonlyMap<Refusal, boolean>;
}

/** The one memory of what the API servers have refused. Unknown counters mean that one may refuse requests now. */
export class RefusalMemory {
  #last: CountsReading | undefined;
  /** The last one of all API servers. */
  #known: CountsReading | undefined;
  /** The last ones that are not too old. */
  #intervals: readonly Interval[] = [];
  /** The end of the last interval in which such a request may have been refused. */
  readonly #untilMs = new Map<Refusal, number>();
  /** Readings in a row of the only server. */
  #alone = 0;
  #misses = 0;

  /** Time until the next reading, in milliseconds. */
  get waitMs(): number {
    return this.#misses >= MISSES || this.#intervalMs() > MAX_INTERVAL_MS ? RETRY_MS : this.#intervalMs();
  }

  note(reading: CountsReading): void {
    const { scope, startedMs, endedMs } = reading;
    const isNext = startedMs - (this.#last?.endedMs ?? -Infinity) <= 2 * RETRY_MS;
    this.#last = reading;
    this.#alone = scope === "one" ? this.#alone + 1 : 0;
    this.#misses = scope === "some" || scope === "hidden" ? (isNext ? this.#misses : 0) + 1 : 0;
    if (scope !== "each" && this.#alone < ALONE_READINGS) return;
    const interval = this.#until(reading);
    for (const refusal of interval.refused.keys()) this.#untilMs.set(refusal, endedMs);
    this.#intervals = [...this.#intervals, interval].filter(({ fromMs }) => endedMs - fromMs <= COUNTED_MS);
    this.#known = reading;
  }

  /** As {@link RefusalWatch.refusedUntilMs}. */
  refusedUntilMs(refusals: readonly Refusal[], nowMs: number): number {
    const intervalMs = this.#intervalMs();
    const ageMs = nowMs - (this.#known?.startedMs ?? -Infinity);
    if (intervalMs > MAX_INTERVAL_MS || ageMs > 2 * intervalMs + LATE_MS) return Infinity;
    return Math.max(...refusals.map(one => this.#untilMs.get(one) ?? -Infinity));
  }

  /**
   * What is proven about the 401s. Undefined: nothing, since not each API server can be read at its own address; while that is not clear yet, a
   * time without length. `offsetMs` converts the monotonic clock to milliseconds since the epoch.
   */
  unauthorized(nowMs: number, offsetMs: number): Refusals | undefined {
    const { scope, endedMs: toMs = -Infinity } = this.#known ?? {};
    if (scope === "each" && nowMs - toMs < PROVEN_MS) {
      const refused = this.#intervals.filter(one => one.refused.get("401") === true);
      const atEpoch = (one: TimeSpan): TimeSpan => ({ fromMs: one.fromMs + offsetMs, toMs: one.toMs + offsetMs });
      return { ...atEpoch({ fromMs: this.#intervals[0]?.fromMs ?? toMs, toMs }), refused: refused.map(atEpoch) };
    }
    const atMs = nowMs + offsetMs;
    return this.#last?.scope === "some" && this.#misses < MISSES
      ? { fromMs: atMs, toMs: atMs, refused: [] }
      : undefined;
  }

  #until({ endedMs: toMs, counts }: CountsReading): Interval {
    const { endedMs: fromMs = -Infinity, counts: before = [] } = this.#known ?? {};
    return { fromMs, toMs, refused: refusedBetween(before, counts) };
  }

  #intervalMs(): number {
    return Math.max(INTERVAL_MS, ...(this.#last?.counts ?? []).map(({ bytes }) => MS_PER_BYTE * bytes));
  }
}

/** As {@link Interval.refused}. */
function refusedBetween(before: readonly ServerCounts[], after: readonly ServerCounts[]): Map<Refusal, boolean> {
  const found = new Map<Refusal, boolean>();
  for (const refusal of REFUSALS) {
    const more = after.map(({ address, startSeconds, counts }) => {
      const same = before.find(one => one.address === address && one.startSeconds === startSeconds);
      return (counts.get(refusal) ?? NaN) - (same?.counts.get(refusal) ?? NaN);
    });
    const isQuiet = before.length === after.length && more.every(one => one === 0);
    const isRisen = more.some(one => one > 0);
    if (!isQuiet) found.set(refusal, isRisen);
  }
  return found;
}
