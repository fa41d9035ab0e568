export interface Identified {
  readonly uid: string;
  /** Absent: cluster-scoped. */
  readonly namespace?: string;
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
  /** By {@link placeOf}; null until the first {@link get}. */
  #places: Map<string, V> | null = null;

  /** Returns all views, in the same array until one changes. */
  all(): readonly V[] {
    return (this.#snapshot ??= [...this.#views.values()]);
  }

  get(namespace: string, name: string): V | undefined {
    this.#places ??= new Map([...this.#views.values()].map(view => [placeOf(view), view]));
    return this.#places.get(placeOf({ namespace, name }));
  }

  put(view: V): Delta<V> {
    const before = this.#views.get(view.uid) ?? null;
    this.#views.set(view.uid, view);
    this.#places?.set(placeOf(view), view);
    this.#snapshot = null;
    return { before, after: view };
  }

  /** Returns null for an unknown uid. */
  remove(uid: string): Delta<V> | null {
    const before = this.#views.get(uid);
    if (before === undefined) return null;
    this.#views.delete(uid);
    // Its successor of the same name may be there already.
    if (this.#places?.get(placeOf(before)) === before) this.#places.delete(placeOf(before));
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
    this.#places = null;
    return deltas;
  }
}

function placeOf({ namespace = "", name }: Pick<Identified, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}
