import { isDeepStrictEqual } from "node:util";
import { each, type Steps } from "../../core/slices";
import { groupBy } from "../../core/views";

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
  /** By namespace; empty for cluster-scoped views. No array is empty. */
  #parts = new Map<string, readonly V[]>();
  #all: readonly V[] | null = null;

  /** Returns all views, in the same array until one changes. */
  all(): readonly V[] {
    return (this.#all ??= [...this.#parts.values()].flat());
  }

  /** Returns the views of a namespace, in the same array until one of them changes, or the cache is replaced. */
  of(namespace: string): readonly V[] {
    return this.#parts.get(namespace) ?? NONE;
  }

  /** Returns the newest view of that name: the deletion of an earlier object may arrive after the creation of its successor. */
  get(namespace: string, name: string): V | undefined {
    return this.of(namespace).findLast(view => view.name === name);
  }

  put(view: V): Delta<V> {
    const views = this.of(namespaceOf(view));
    const at = views.findIndex(({ uid }) => uid === view.uid);
    this.#set(view, at < 0 ? [...views, view] : views.with(at, view));
    return { before: views[at] ?? null, after: view };
  }

  /** Returns null for an unknown object. */
  remove(view: V): Delta<V> | null {
    const views = this.of(namespaceOf(view));
    const before = views.find(({ uid }) => uid === view.uid);
    if (before === undefined) return null;
    this.#set(
      view,
      views.filter(one => one !== before),
    );
    return { before, after: null };
  }

  #set(view: V, views: readonly V[]): void {
    if (views.length > 0) this.#parts.set(namespaceOf(view), views);
    else this.#parts.delete(namespaceOf(view));
    this.#all = null;
  }

  /** Replaces the cache by a list, in its last step, and returns the differences, deletions first. Nothing else may change the cache meanwhile. */
  *replace(views: readonly V[]): Steps<Delta<V>[]> {
    const before = new Map(yield* each(this.all(), view => [view.uid, view] as const));
    const after = new Map(yield* each(views, view => [view.uid, view] as const));
    const gone = [...before.values()].filter(({ uid }) => !after.has(uid));
    yield;
    const changed = yield* each([...after.values()], view => ({ before: before.get(view.uid) ?? null, after: view }));
    this.#parts = new Map(groupBy([...after.values()], namespaceOf));
    this.#all = null;
    return [...gone.map(view => ({ before: view, after: null })), ...changed];
  }
}

const NONE: readonly never[] = [];

function namespaceOf({ namespace = "" }: Identified): string {
  return namespace;
}
