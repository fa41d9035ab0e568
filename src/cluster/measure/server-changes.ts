import type { ServerCounts } from "./server-counts";

/** After a change, clients reconnect and list everything again for this long by default, in milliseconds. */
const SETTLE_MS = 300_000;

/** Changes closer together than this are one series, such as the restart of one server after the other. In milliseconds. */
const SERIES_GAP_MS = 600_000;

/** A series counts for this long at most, in milliseconds: a flood that crashes API servers again and again must not hide behind it. */
const MAX_SERIES_MS = 1_800_000;

/** A server that is older than this when it is first read was not started just now, however wrong its clock is. In milliseconds. */
const OLD_MS = 3_600_000;

/** One reading. Times in milliseconds. */
export interface ServerReading {
  /** The API servers that responded. */
  readonly counts: readonly Pick<ServerCounts, "startSeconds">[];
  /** Addresses of the API servers that register themselves. */
  readonly addresses: readonly string[];
  /** On the monotonic clock. */
  readonly nowMs: number;
  /** Since the epoch. */
  readonly epochMs: number;
}

/** Notices when an API server starts, appears or leaves: the clients that list again then are no runaways. */
export class ServerChanges {
  readonly #settleMs: number;
  /** When each process was read last, on the monotonic clock, by its start time. */
  readonly #seenMs = new Map<number, number>();
  #addresses: string | undefined;
  #series: { readonly firstMs: number; readonly lastMs: number } | undefined;

  constructor(settleMs = SETTLE_MS) {
    this.#settleMs = settleMs;
  }

  /** Until when clients may still list again, on the monotonic clock; undefined if nothing has changed. */
  get untilMs(): number | undefined {
    if (this.#series === undefined) return undefined;
    const { firstMs, lastMs } = this.#series;
    return Math.min(lastMs + this.#settleMs, firstMs + MAX_SERIES_MS);
  }

  note({ counts, addresses, nowMs, epochMs }: ServerReading): void {
    const isFirst = this.#addresses === undefined;
    const started = counts.flatMap(({ startSeconds }) => {
      const isKnown = this.#seenMs.has(startSeconds);
      this.#seenMs.set(startSeconds, nowMs);
      return isKnown ? [] : [epochMs - 1_000 * startSeconds];
    });
    const list = addresses.toSorted().join(",");
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
