import type { CacheAge } from "../../core/ports";
import { type Delta, type Identified, isChange } from "./view-cache";
import { Watch, type WatchCache, type WatchContext, type WatchSubject } from "./watch";

/** A watch that has given up is opened again after this time, in milliseconds. */
const GIVEN_UP_MS = 600_000;

/** What is watched of a kind. */
export interface KindSubject<V extends Identified>
  extends Pick<WatchSubject<V>, "resource" | "project" | "fieldSelector" | "withoutBookmarks"> {
  /** Called when a view changes. */
  readonly onChange: (delta: Delta<V>) => void;
  /** Reports whether the watch gives up for ten minutes after this error of its first list. Absent: it never does. */
  readonly givesUp?: (error: unknown) => boolean;
}

interface Opened<V extends Identified> {
  readonly watch: Watch<V>;
  givenUpAtMs?: number;
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
  readonly #opened = new Map<string, Opened<V>>();

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
    return this.#opened.get(this.#isTogether ? "" : namespace)?.watch.lastKnown(namespace, name);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#opened.values()].map(({ watch }) => watch.stop()));
  }

  /** Of those that have not given up. */
  ages(): readonly CacheAge[] {
    const { plural: resource } = this.#subject.resource;
    return [...this.#opened.values()].flatMap(({ watch, givenUpAtMs }) =>
      givenUpAtMs === undefined ? [{ resource, ageMs: watch.ageMs() }] : [],
    );
  }

  #watch(namespace: string): Watch<V> {
    const nowMs = this.#context.clock.monotonicMs();
    const known = this.#opened.get(namespace);
    if (known !== undefined && nowMs - (known.givenUpAtMs ?? nowMs) < GIVEN_UP_MS) return known.watch;
    const opened: Opened<V> = {
      watch: this.#make(namespace, () => (opened.givenUpAtMs = this.#context.clock.monotonicMs())),
    };
    this.#opened.set(namespace, opened);
    opened.watch.start();
    return opened.watch;
  }

  #make(namespace: string, onGivenUp: () => void): Watch<V> {
    const { onChange, givesUp, ...subject } = this.#subject;
    const watch: Watch<V> = new Watch(this.#context, {
      ...subject,
      ...(namespace !== "" && { namespace }),
      onDelta: delta => {
        if (isChange(delta)) onChange(delta);
      },
      isLast: ({ error }) => {
        const isLast = !watch.isFilled() && givesUp?.(error) === true;
        if (isLast) onGivenUp();
        return isLast;
      },
    });
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
