import { isDeepStrictEqual } from "node:util";
import type { Steps } from "../../core/slices";

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

/**
 * Reports whether a view has changed. Most changes of objects, such as heartbeats in annotations, and most objects of a relist
 * do not change any view, so they do not wake a ControllerResilience.
 */
export function isChange({ before, after }: Delta<Identified>): boolean {
  if (before === null || after === null) return true;
  if (before.resourceVersion !== undefined && before.resourceVersion === after.resourceVersion) return false;
  return !isDeepStrictEqual({ ...before, resourceVersion: "" }, { ...after, resourceVersion: "" });
}

/**
 * Views by namespace and uid: by namespace, so that a read or change costs only as much as its namespace, and by uid, so that the deletion
 * of an object that is recreated with the same name is not missed.
 */
export class ViewCache<V extends Identified> {
  /** By namespace; empty for cluster-scoped views. No part is empty. */
  #parts = new Map<string, Part<V>>();
  #snapshot: readonly V[] | null = null;

  /** Returns all views, in the same array until one changes. */
  all(): readonly V[] {
    return (this.#snapshot ??= [...this.#parts.values()].flatMap(part => [...part.views.values()]));
  }

  /** Returns the views of a namespace, in the same array until one of them changes, or the cache is replaced. */
  of(namespace: string): readonly V[] {
    return this.#parts.get(namespace)?.all() ?? NONE;
  }

  get(namespace: string, name: string): V | undefined {
    return this.#parts.get(namespace)?.get(name);
  }

  put(view: V): Delta<V> {
    const part = partOf(this.#parts, view);
    const before = part.views.get(view.uid) ?? null;
    part.put(view);
    this.#snapshot = null;
    return { before, after: view };
  }

  /** Returns null for an unknown object. */
  remove(view: V): Delta<V> | null {
    const namespace = namespaceOf(view);
    const part = this.#parts.get(namespace);
    const before = part?.views.get(view.uid);
    if (part === undefined || before === undefined) return null;
    part.remove(before);
    if (part.views.size === 0) this.#parts.delete(namespace);
    this.#snapshot = null;
    return { before, after: null };
  }

  /** Replaces the cache by a list, in its last step, and returns the differences, deletions first. Nothing else may change the cache meanwhile. */
  *replace(views: readonly V[]): Steps<Delta<V>[]> {
    const [parts, deltas] = [new Map<string, Part<V>>(), [] as Delta<V>[]];
    for (const view of views) {
      partOf(parts, view).put(view);
      yield;
    }
    for (const [namespace, part] of this.#parts) {
      for (const before of part.without(parts.get(namespace)?.views)) deltas.push({ before, after: null });
      yield;
    }
    for (const [namespace, part] of parts) {
      for (const after of part.all())
        deltas.push({ before: this.#parts.get(namespace)?.views.get(after.uid) ?? null, after });
      yield;
    }
    this.#parts = parts;
    this.#snapshot = null;
    return deltas;
  }
}

const NONE: readonly never[] = [];

/** The views of one namespace. */
class Part<V extends Identified> {
  readonly views = new Map<string, V>();
  #snapshot: readonly V[] | null = null;
  /** Null until the first {@link get}. */
  #byName: Map<string, V> | null = null;

  all(): readonly V[] {
    return (this.#snapshot ??= [...this.views.values()]);
  }

  get(name: string): V | undefined {
    this.#byName ??= new Map([...this.views.values()].map(view => [view.name, view]));
    return this.#byName.get(name);
  }

  put(view: V): void {
    this.views.set(view.uid, view);
    this.#byName?.set(view.name, view);
    this.#snapshot = null;
  }

  remove(view: V): void {
    this.views.delete(view.uid);
    // Its successor of the same name may be there already.
    if (this.#byName?.get(view.name) === view) this.#byName.delete(view.name);
    this.#snapshot = null;
  }

  /** Returns the views that another list of the namespace does not have. */
  without(next: ReadonlyMap<string, V> | undefined): V[] {
    return this.all().filter(({ uid }) => next?.has(uid) !== true);
  }
}

function partOf<V extends Identified>(parts: Map<string, Part<V>>, view: V): Part<V> {
  const namespace = namespaceOf(view);
  const known = parts.get(namespace);
  if (known !== undefined) return known;
  const part = new Part<V>();
  parts.set(namespace, part);
  return part;
}

function namespaceOf({ namespace = "" }: Identified): string {
  return namespace;
}
