import { type Clock, pause } from "../../core/time";

/** What is not asked for in this time, in milliseconds, is not read any more: every object asks in each full pass, each 90 s at least. */
const WANTED_MS = 180_000;

interface Entry<T> {
  readonly known: T;
  /** The first reading. */
  readonly first: Promise<number>;
  askedMs: number;
}

/**
 * Readings of what is asked for, again and again: each in rounds of its own, so that one that hangs delays no other. One ends when it was not
 * asked for in three minutes.
 */
export class Rounds<T> {
  readonly #clock: Clock;
  readonly #read: (known: T) => Promise<number>;
  readonly #entries = new Map<string, Entry<T>>();

  /** @param read reads once more; never throws, and resolves to the time until the next reading, in milliseconds */
  constructor(clock: Clock, read: (known: T) => Promise<number>) {
    this.#clock = clock;
    this.#read = read;
  }

  /** What is known of those that go on. */
  get all(): readonly T[] {
    return Array.from(this.#entries.values(), ({ known }) => known);
  }

  /** When a question is too old to be still wanted, on the monotonic clock. */
  get oldestMs(): number {
    return this.#clock.monotonicMs() - WANTED_MS;
  }

  /** What is known under a key, without a question. */
  get(key: string): T | undefined {
    return this.#entries.get(key)?.known;
  }

  /** Asks for one. The first question begins it with a reading, or after one that has begun. */
  want(key: string, begin: () => T, reading?: Promise<number>): Entry<T> {
    const askedMs = this.#clock.monotonicMs();
    const entry = this.#entries.get(key);
    if (entry !== undefined) return Object.assign(entry, { askedMs });
    const known = begin();
    const begun = { known, first: reading ?? this.#read(known), askedMs };
    this.#entries.set(key, begun);
    void this.#run(key, begun);
    return begun;
  }

  async #run(key: string, entry: Entry<T>): Promise<void> {
    for (let waitMs = await entry.first; ; waitMs = await this.#read(entry.known)) {
      await pause(this.#clock, waitMs);
      if (entry.askedMs < this.oldestMs) break;
    }
    this.#entries.delete(key);
  }
}
