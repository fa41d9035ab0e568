import { splitKey } from "../../core/key";
import type { Key } from "../../core/ports";

/** The known keys by namespace. */
export class KnownKeys {
  readonly #byNamespace = new Map<string, Set<Key>>();

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

  /** Adds keys. */
  addAll(keys: Iterable<Key>): void {
    for (const key of keys) {
      const namespace = splitKey(key).namespace;
      const known = this.#byNamespace.get(namespace);
      if (known) known.add(key);
      else this.#byNamespace.set(namespace, new Set([key]));
    }
  }

  /** Removes a key. */
  remove(key: Key): void {
    const namespace = splitKey(key).namespace;
    const keys = this.#byNamespace.get(namespace);
    keys?.delete(key);
    if (keys?.size === 0) this.#byNamespace.delete(namespace);
  }

  /** Removes all keys. */
  clear(): void {
    this.#byNamespace.clear();
  }
}
