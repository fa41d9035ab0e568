/** What a cache needs to know of what it holds. */
export interface Identified {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Absent where the view does not hold it. */
  readonly resourceVersion?: string;
}

/** One difference: added (no `before`), changed, or deleted (no `after`). */
export interface Delta<V> {
  readonly before: V | null;
  readonly after: V | null;
}

/** Views by uid: an object that is recreated under its name is another one, so its deletion is never missed. */
export class ViewCache<V extends Identified> {
  #views = new Map<string, V>();
  #snapshot: readonly V[] | null = null;

  /** How many are held. */
  get size(): number {
    return this.#views.size;
  }

  /** All of them; the same array until something changes. */
  all(): readonly V[] {
    return (this.#snapshot ??= [...this.#views.values()]);
  }

  /** Adds or replaces one. */
  put(view: V): Delta<V> {
    const before = this.#views.get(view.uid) ?? null;
    this.#views.set(view.uid, view);
    this.#snapshot = null;
    return { before, after: view };
  }

  /** Removes one; null if it was not held. */
  remove(uid: string): Delta<V> | null {
    const before = this.#views.get(uid);
    if (before === undefined) return null;
    this.#views.delete(uid);
    this.#snapshot = null;
    return { before, after: null };
  }

  /** Takes a new list for the truth: what is not in it any more was deleted meanwhile. Deletions come first. */
  replace(views: ReadonlyMap<string, V>): Delta<V>[] {
    const deltas: Delta<V>[] = [];
    for (const [uid, before] of this.#views) if (!views.has(uid)) deltas.push({ before, after: null });
    for (const [uid, after] of views) deltas.push({ before: this.#views.get(uid) ?? null, after });
    this.#views = new Map(views);
    this.#snapshot = null;
    return deltas;
  }
}
