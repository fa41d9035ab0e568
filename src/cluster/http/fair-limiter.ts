import { TransientError } from "../../core/errors";

/** At most `limit` concurrent holders with this key. */
export interface Share {
  readonly key: string | symbol;
  readonly limit: number;
}

interface Waiter {
  /** Of its queue. */
  readonly key: Share["key"];
  readonly shares: readonly Share[];
  readonly admit: () => void;
}

/** Longest queue: further callers fail immediately. */
const MAX_WAITING = 10_000;

/**
 * Limits concurrency, overall and per share. Waiters queue by their first share, and the limiter serves the queues round-robin, so a
 * busy or slow share does not delay the others.
 */
export class FairLimiter {
  readonly #total: Share;
  readonly #held = new Map<Share["key"], number>();
  /** Queues by first share, in round-robin order: a served queue moves to the end of the Map. */
  readonly #queues = new Map<Share["key"], readonly Waiter[]>();

  constructor(total: number) {
    this.#total = { key: Symbol("total"), limit: total };
  }

  /**
   * Waits for a slot. The caller releases it by the returned function.
   *
   * @throws the signal's reason, or TransientError if the queue is full
   */
  async acquire(shares: readonly Share[], signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const all = [this.#total, ...shares];
    if (this.#isFree(all)) this.#take(all, 1);
    else await this.#wait({ key: (shares[0] ?? this.#total).key, shares: all }, signal);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#take(all, -1);
      this.#admitNext();
    };
  }

  #wait(place: Omit<Waiter, "admit">, signal: AbortSignal): Promise<void> {
    if ([...this.#queues.values()].reduce((sum, { length }) => sum + length, 0) >= MAX_WAITING)
      throw new TransientError(`expected at most ${MAX_WAITING} queued calls, got more`);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#leave(waiter);
        reject(signal.reason as Error);
      };
      const admit = (): void => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const waiter = { ...place, admit };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#queues.set(place.key, [...(this.#queues.get(place.key) ?? []), waiter]);
    });
  }

  #admitNext(): void {
    for (const queue of this.#queues.values()) {
      if (!this.#isFree([this.#total])) return;
      const waiter = queue.find(({ shares }) => this.#isFree(shares));
      if (waiter === undefined) continue;
      this.#queues.delete(waiter.key);
      this.#queues.set(waiter.key, queue);
      this.#leave(waiter);
      this.#take(waiter.shares, 1);
      waiter.admit();
    }
  }

  #leave(waiter: Waiter): void {
    const left = (this.#queues.get(waiter.key) ?? []).filter(one => one !== waiter);
    if (left.length > 0) this.#queues.set(waiter.key, left);
    else this.#queues.delete(waiter.key);
  }

  #take(shares: readonly Share[], slots: 1 | -1): void {
    for (const { key } of shares) {
      const held = (this.#held.get(key) ?? 0) + slots;
      if (held > 0) this.#held.set(key, held);
      else this.#held.delete(key);
    }
  }

  #isFree(shares: readonly Share[]): boolean {
    return shares.every(({ key, limit }) => (this.#held.get(key) ?? 0) < limit);
  }
}
