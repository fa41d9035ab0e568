import type { CacheAge } from "../../core/ports";
import { type Delta, type Identified, isChange } from "./view-cache";
import { Watch, type WatchCache, type WatchContext, type WatchSubject } from "./watch";

/** What is watched of a kind. */
export interface KindSubject<V extends Identified>
  extends Pick<WatchSubject<V>, "resource" | "project" | "fieldSelector" | "withoutBookmarks" | "givesUp"> {
  /** Called when a view changes. */
  readonly onChange: (delta: Delta<V>) => void;
}

/**
 * The watches of one kind: one of all namespaces, or one of each namespace that is read. Each starts with its first read and lasts until
 * the operator stops.
 */
export class KindWatches<V extends Identified> {
  readonly #context: WatchContext;
  readonly #subject: KindSubject<V>;
  readonly #isTogether: boolean;
  /** By namespace; with an empty one for all. */
  readonly #opened = new Map<string, Watch<V>>();

  constructor(context: WatchContext, subject: KindSubject<V>, { isTogether }: { readonly isTogether: boolean }) {
    this.#context = context;
    this.#subject = subject;
    this.#isTogether = isTogether;
  }

  /** Returns the cache of a namespace. */
  in(namespace: string): WatchCache<V> {
    return this.#isTogether ? partOf(this.everywhere(), namespace) : this.#watch(namespace);
  }

  /** Returns the cache of all namespaces, or of a cluster-scoped kind. */
  everywhere(): Watch<V> {
    return this.#watch("");
  }

  /** Returns the object of that name in the cache of a watched namespace, however stale. */
  lastKnown(namespace: string, name: string): V | undefined {
    return this.#opened.get(this.#isTogether ? "" : namespace)?.lastKnown(namespace, name);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#opened.values()].map(watch => watch.stop()));
  }

  /** Of those that have not given up. */
  ages(): readonly CacheAge[] {
    const { plural: resource } = this.#subject.resource;
    const open = [...this.#opened.values()].filter(watch => !watch.hasGivenUp());
    return open.map(watch => ({ resource, ageMs: watch.ageMs() }));
  }

  #watch(namespace: string): Watch<V> {
    const known = this.#opened.get(namespace);
    if (known !== undefined) return known;
    const { onChange, ...subject } = this.#subject;
    const onDelta = (delta: Delta<V>): void => {
      if (isChange(delta)) onChange(delta);
    };
    const watch = new Watch(this.#context, { ...subject, ...(namespace !== "" && { namespace }), onDelta });
    this.#opened.set(namespace, watch);
    watch.start();
    return watch;
  }
}

/** Returns the part of a watch of all namespaces that is in one of them. */
function partOf<V extends Identified>(watch: Watch<V>, namespace: string): WatchCache<V> {
  return {
    isAttempted: () => watch.isAttempted(),
    attempted: () => watch.attempted(),
    ageMs: () => watch.ageMs(),
    views: () => watch.viewsOf(namespace),
    find: (_, name) => watch.find(namespace, name),
    lastKnown: (_, name) => watch.lastKnown(namespace, name),
  };
}
