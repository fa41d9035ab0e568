import { splitKey } from "../../core/key";
import type { Key } from "../../core/ports";

/** The known keys by namespace. Listeners are called when the set of namespaces changes. */
export class KnownKeys {
  readonly #byNamespace = new Map<string, Set<Key>>();
  readonly #onListenerError: (error: unknown) => void;
  readonly #listeners = new Set<(namespaces: ReadonlySet<string>) => void>();

  constructor(onListenerError: (error: unknown) => void) {
    this.#onListenerError = onListenerError;
  }

  /** Returns the namespaces with at least one key. */
  namespaces(): ReadonlySet<string> {
    return new Set(this.#byNamespace.keys());
  }

  /** Returns the keys of a namespace. */
  in(namespace: string): readonly Key[] {
    return [...(this.#byNamespace.get(namespace) ?? [])];
  }

  /** Returns all keys. */
  all(): Key[] {
    return [...this.#byNamespace.values()].flatMap(keys => [...keys]);
  }

  /** Adds a key. */
  add(key: Key): void {
    this.addAll([key]);
  }

  /** Adds keys; calls the listeners once. */
  addAll(keys: Iterable<Key>): void {
    const before = this.#byNamespace.size;
    for (const key of keys) {
      const namespace = splitKey(key).namespace;
      const known = this.#byNamespace.get(namespace);
      if (known) known.add(key);
      else this.#byNamespace.set(namespace, new Set([key]));
    }
    if (this.#byNamespace.size > before) this.#notify();
  }

  /** Removes a key. */
  remove(key: Key): void {
    const namespace = splitKey(key).namespace;
    const keys = this.#byNamespace.get(namespace);
    if (!keys?.delete(key) || keys.size > 0) return;
    this.#byNamespace.delete(namespace);
    this.#notify();
  }

  /** Removes all keys. */
  clear(): void {
    if (this.#byNamespace.size === 0) return;
    this.#byNamespace.clear();
    this.#notify();
  }

  /** Calls `listener` with all namespaces whenever their set changes. Returns a function that removes the listener. */
  onChange(listener: (namespaces: ReadonlySet<string>) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #notify(): void {
    for (const listener of this.#listeners) {
      try {
        listener(this.namespaces());
      } catch (error) {
        this.#onListenerError(error);
      }
    }
  }
}
