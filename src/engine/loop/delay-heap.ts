interface Entry<K> {
  readonly key: K;
  readyAtMs: number;
  /** Order of insertion; breaks ties. */
  sequence: number;
  index: number;
}

/** A priority queue of keys by the time at which they are ready, with one entry per key (binary heap). */
export class DelayHeap<K> {
  readonly #heap: Entry<K>[] = [];
  readonly #entries = new Map<K, Entry<K>>();
  #sequence = 0;

  /** Number of keys. */
  get size(): number {
    return this.#heap.length;
  }

  /** The earliest time at which a key is ready; undefined if there is no key. */
  get nextAtMs(): number | undefined {
    return this.#heap[0]?.readyAtMs;
  }

  /** Adds a key, or moves it forward if the new time is earlier. */
  schedule(key: K, readyAtMs: number): void {
    const existing = this.#entries.get(key);
    if (existing) {
      if (existing.readyAtMs <= readyAtMs) return;
      existing.readyAtMs = readyAtMs;
      this.#moveUp(existing);
      return;
    }
    const entry = { key, readyAtMs, sequence: this.#sequence++, index: this.#heap.length };
    this.#entries.set(key, entry);
    this.#heap.push(entry);
    this.#moveUp(entry);
  }

  /** Removes and returns the first key that is ready, or undefined. */
  takeReady(nowMs: number): K | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.readyAtMs > nowMs) return undefined;
    this.#entries.delete(first.key);
    const last = this.#heap.pop();
    if (last !== undefined && last !== first) {
      this.#place(last, 0);
      this.#moveDown(last);
    }
    return first.key;
  }

  /** Removes all keys. */
  clear(): void {
    this.#heap.length = 0;
    this.#entries.clear();
  }

  #moveUp(entry: Entry<K>): void {
    for (;;) {
      const parent = this.#heap[(entry.index - 1) >> 1];
      if (entry.index === 0 || parent === undefined || !isBefore(entry, parent)) return;
      this.#swap(entry, parent);
    }
  }

  #moveDown(entry: Entry<K>): void {
    for (;;) {
      const left = this.#heap[2 * entry.index + 1];
      const right = this.#heap[2 * entry.index + 2];
      const smaller = left && right && isBefore(right, left) ? right : left;
      if (smaller === undefined || !isBefore(smaller, entry)) return;
      this.#swap(smaller, entry);
    }
  }

  #swap(a: Entry<K>, b: Entry<K>): void {
    const index = a.index;
    this.#place(a, b.index);
    this.#place(b, index);
  }

  #place(entry: Entry<K>, index: number): void {
    entry.index = index;
    this.#heap[index] = entry;
  }
}

function isBefore<K>(a: Entry<K>, b: Entry<K>): boolean {
  return a.readyAtMs === b.readyAtMs ? a.sequence < b.sequence : a.readyAtMs < b.readyAtMs;
}
