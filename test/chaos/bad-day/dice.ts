const LETTERS = "bcdfghjklmnpqrstvwxz".split("");

/** Random choices that a seed decides (mulberry32). */
export class Dice {
  #state: number;

  /** @param use separates the choices of one use of a seed from those of another */
  constructor(seed: number, use = "") {
    this.#state = Buffer.from(use).reduce((hash, byte) => Math.imul(hash ^ byte, 0x01000193), seed + 1) >>> 0;
  }

  whole(least: number, most: number): number {
    return least + Math.floor(this.#next() * (most - least + 1));
  }

  /** One of these. */
  oneOf<T>(items: readonly T[]): T {
    return items[this.whole(0, items.length - 1)]!;
  }

  /** All of these in another order. */
  shuffled<T>(items: readonly T[]): T[] {
    const left = [...items];
    return items.map(() => left.splice(this.whole(0, left.length - 1), 1)[0]!);
  }

  /** Different names with this prefix, in a random alphabetical order. */
  names(count: number, prefix: string): string[] {
    const made = new Set<string>();
    while (made.size < count) made.add(`${prefix}-${Array.from({ length: 5 }, () => this.oneOf(LETTERS)).join("")}`);
    return [...made];
  }

  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }
}
