import { wantedForMs } from "../../core/readers";
import type { Clock } from "../../core/time";

/** What rounds work with. */
export interface RoundsContext {
  readonly clock: Clock;
  /** Time between two full passes; absent: a minute. */
  readonly fullPassMs?: number | undefined;
}

/** What is read again and again. */
interface Round {
  /** The first reading, which its owner has begun; resolves to the time until the next one, in milliseconds. */
  readonly first: Promise<number>;
}

/**
 * Readings of what is asked for, again and again: each in rounds of its own, so that one that hangs delays no other. One ends when it was not asked
 * for in two full passes.
 */
export class Rounds<T extends Round> {
  readonly #clock: Clock;
  readonly #wantedMs: number;
  readonly #read: (round: T) => Promise<number>;
  readonly #entries = new Map<string, { readonly round: T; askedMs: number }>();

  /** @param read reads once more; never throws, and resolves to the time until the next reading, in milliseconds */
  constructor({ clock, fullPassMs }: RoundsContext, read: (round: T) => Promise<number>) {
    this.#clock = clock;
    this.#wantedMs = wantedForMs(fullPassMs);
    this.#read = read;
  }

  /** Those that go on. */
  get all(): readonly T[] {
    return Array.from(this.#entries.values(), ({ round }) => round);
  }

  /** When a question is too old to be still wanted, on the monotonic clock. */
  get oldestMs(): number {
    return this.#clock.monotonicMs() - this.#wantedMs;
  }

  /** Returns one that goes on, without a question. */
  get(key: string): T | undefined {
    return this.#entries.get(key)?.round;
  }

  /** Asks for one; the first question begins it. */
  want(key: string, begin: () => T): T {
    const askedMs = this.#clock.monotonicMs();
    const known = this.#entries.get(key);
    if (known !== undefined) known.askedMs = askedMs;
    const entry = known ?? { round: begin(), askedMs };
    this.#entries.set(key, entry);
    if (known === undefined) void this.#run(key, entry);
    return entry.round;
  }

  async #run(key: string, entry: { readonly round: T; readonly askedMs: number }): Promise<void> {
    let waitMs = await entry.round.first;
    for (;;) {
      await new Promise<void>(resolve => this.#clock.after(waitMs, resolve));
      if (entry.askedMs < this.oldestMs) break;
      waitMs = await this.#read(entry.round);
    }
    this.#entries.delete(key);
  }
}
