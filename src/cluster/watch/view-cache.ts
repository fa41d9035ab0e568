export interface Identified {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Absent if the view does not keep it. */
  readonly resourceVersion?: string;
}

/** A change: added (no `before`), modified, or deleted (no `after`). */
export interface Delta<V> {
  readonly before: V | null;
  readonly after: V | null;
}

/** Views by uid, so that the deletion of an object that is recreated with the same name is not missed. */
export class ViewCache<V extends Identified> {
  #views = new Map<string, V>();
  #snapshot: readonly V[] | null = null;

  /** Returns all views, in the same array until one changes. */
  all(): readonly V[] {
    return (this.#snapshot ??= [...this.#views.values()]);
  }

  put(view: V): Delta<V> {
    const before = this.#views.get(view.uid) ?? null;
    this.#views.set(view.uid, view);
    this.#snapshot = null;
    return { before, after: view };
  }

  /** Returns null for an unknown uid. */
  remove(uid: string): Delta<V> | null {
    const before = this.#views.get(uid);
    if (before === undefined) return null;
    this.#views.delete(uid);
    this.#snapshot = null;
    return { before, after: null };
  }

  /** Replaces the cache by a list and returns the differences, deletions first. */
  replace(views: ReadonlyMap<string, V>): Delta<V>[] {
    const deltas: Delta<V>[] = [];
    for (const [uid, before] of this.#views) if (!views.has(uid)) deltas.push({ before, after: null });
    for (const [uid, after] of views) deltas.push({ before: this.#views.get(uid) ?? null, after });
    this.#views = new Map(views);
    this.#snapshot = null;
    return deltas;
  }
}
