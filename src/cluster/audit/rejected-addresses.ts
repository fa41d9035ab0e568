import type { Clock } from "../../core/clock";
import {
  addRejection,
  REJECTION_GAP_MS,
  type RejectedRequest,
  type RejectionReading,
  type RejectionSeries,
} from "../../core/rejections";

/** Addresses that are remembered: above the pods that could be rejected together before the restart breaker trips. */
export const MOST_ADDRESSES = 4_096;

/** An API server retries for this long, so that an older event describes the past. */
export const MAX_AGE_MS = 120_000;

/** Clocks of the API servers differ a little. */
const MAX_AHEAD_MS = 10_000;

/** Further 401s of an address are no news: a pass that was requested repeats itself. */
const TOLD_OCCASIONS = 5;

/** News of many events within this time are told together. */
const TOLD_AFTER_MS = 500;

/** The addresses whose requests are answered 401, bounded in number. */
export class RejectedAddresses implements RejectionReading {
  readonly isServed = true;
  readonly #clock: Clock;
  readonly #onNews: (addresses: ReadonlySet<string>) => void;
  /** The longest silent first. */
  readonly #known = new Map<string, RejectionSeries>();
  #news = new Set<string>();

  /** @param onNews called with the addresses of new 401s, at most twice per second */
  constructor(clock: Clock, onNews: (addresses: ReadonlySet<string>) => void) {
    this.#clock = clock;
    this.#onNews = onNews;
  }

  of(address: string): RejectionSeries | undefined {
    const known = this.#known.get(address);
    return known !== undefined && this.#nowMs() - known.lastMs <= REJECTION_GAP_MS ? known : undefined;
  }

  /** Takes requests that were answered 401. */
  add(requests: readonly RejectedRequest[]): void {
    const nowMs = this.#nowMs();
    for (const { address, atMs } of requests) {
      if (atMs < nowMs - MAX_AGE_MS || atMs > nowMs + MAX_AHEAD_MS) continue;
      const before = this.#known.get(address);
      const now = addRejection(before, atMs);
      this.#known.delete(address);
      this.#known.set(address, now);
      if (now.occasions !== before?.occasions && now.occasions <= TOLD_OCCASIONS) this.#tell(address);
    }
    for (const address of this.#known.keys()) {
      if (this.#known.size <= MOST_ADDRESSES) break;
      this.#known.delete(address);
    }
  }

  #tell(address: string): void {
    if (this.#news.size === 0) this.#clock.after(TOLD_AFTER_MS, () => this.#tellAll());
    this.#news.add(address);
  }

  #tellAll(): void {
    const news = this.#news;
    this.#news = new Set();
    if (news.size > 0) this.#onNews(news);
  }

  #nowMs(): number {
    return this.#clock.now().getTime();
  }
}
