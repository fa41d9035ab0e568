import { TransientError } from "../../core/errors";

/** At most `limit` concurrent holders with this key. */
export interface Share {
  readonly key: string;
  readonly limit: number;
}

interface Waiter {
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
  readonly #total: number;
  readonly #held = new Map<string, number>();
  /** Queues by first share, in round-robin order: a served queue moves to the end of the Map. */
  readonly #queues = new Map<string, Waiter[]>();
  #active = 0;
  #waiting = 0;

  constructor(total: number) {
    this.#total = total;
  }

  /**
   * Waits for a slot. The caller releases it by the returned function.
   *
   * @throws the signal's reason, or TransientError if the queue is full
   */
  async acquire(shares: readonly Share[], signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (!this.#isFree(shares)) await this.#wait(shares, signal);
    else this.#take(shares);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#release(shares);
    };
  }

  #wait(shares: readonly Share[], signal: AbortSignal): Promise<void> {
    if (this.#waiting >= MAX_WAITING)
      throw new TransientError(`expected at most ${MAX_WAITING} queued calls, got more`);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#leave(waiter);
        reject(signal.reason as Error);
      };
      const waiter: Waiter = {
        shares,
        admit: () => {
          signal.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      const queue = this.#queues.get(queueKey(waiter));
      if (queue === undefined) this.#queues.set(queueKey(waiter), [waiter]);
      else queue.push(waiter);
      this.#waiting++;
    });
  }

  #release(shares: readonly Share[]): void {
    this.#active--;
    for (const { key } of shares) {
      const left = (this.#held.get(key) ?? 0) - 1;
      if (left > 0) this.#held.set(key, left);
      else this.#held.delete(key);
    }
    this.#admitNext();
  }

  #admitNext(): void {
    for (const [key, queue] of this.#queues) {
      if (this.#active >= this.#total) return;
      const waiter = queue.find(candidate => this.#isFree(candidate.shares));
      if (waiter === undefined) continue;
      this.#leave(waiter);
      if (this.#queues.delete(key)) this.#queues.set(key, queue);
      this.#take(waiter.shares);
      waiter.admit();
    }
  }

  #leave(waiter: Waiter): void {
    const queue = this.#queues.get(queueKey(waiter));
    const index = queue?.indexOf(waiter) ?? -1;
    if (queue === undefined || index < 0) return;
    queue.splice(index, 1);
    if (queue.length === 0) this.#queues.delete(queueKey(waiter));
    this.#waiting--;
  }

  #take(shares: readonly Share[]): void {
    this.#active++;
    for (const { key } of shares) this.#held.set(key, (this.#held.get(key) ?? 0) + 1);
  }

  #isFree(shares: readonly Share[]): boolean {
    return this.#active < this.#total && shares.every(({ key, limit }) => (this.#held.get(key) ?? 0) < limit);
  }
}

function queueKey(waiter: Waiter): string {
  return waiter.shares[0]?.key ?? "";
}
