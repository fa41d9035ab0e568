interface Entry<K> {
  readonly key: K;
  readyAtMs: number;
  /** Breaks ties first come, first served. */
  sequence: number;
  index: number;
}

/** Keys that wait for a moment, the earliest first; one entry per key. A binary heap, so a change costs log(n). */
export class DelayHeap<K> {
  readonly #heap: Entry<K>[] = [];
  readonly #entries = new Map<K, Entry<K>>();
  #sequence = 0;

  /** How many keys wait. */
  get size(): number {
    return this.#heap.length;
  }

  /** When the first is ready; undefined when none waits. */
  get nextAtMs(): number | undefined {
    return this.#heap[0]?.readyAtMs;
  }

  /** Lets a key wait until that moment. Of two moments for one key the earlier wins. */
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

  /** Takes the first key if its moment has come. */
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

  /** Forgets all. */
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
