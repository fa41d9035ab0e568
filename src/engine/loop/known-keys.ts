import { splitKey } from "../../core/key";
import type { Key } from "../../core/ports";

/** The keys that are known, by namespace; whoever watches namespaces is told when their set changes. */
export class KnownKeys {
  readonly #byNamespace = new Map<string, Set<Key>>();
  readonly #onListenerError: (error: unknown) => void;
  readonly #listeners = new Set<(namespaces: ReadonlySet<string>) => void>();

  constructor(onListenerError: (error: unknown) => void) {
    this.#onListenerError = onListenerError;
  }

  /** Namespaces that hold at least one key. */
  namespaces(): ReadonlySet<string> {
    return new Set(this.#byNamespace.keys());
  }

  /** Keys of a namespace. */
  in(namespace: string): readonly Key[] {
    return [...(this.#byNamespace.get(namespace) ?? [])];
  }

  /** All keys. */
  all(): Key[] {
    return [...this.#byNamespace.values()].flatMap(keys => [...keys]);
  }

  /** Notes a key. */
  add(key: Key): void {
    this.addAll([key]);
  }

  /** Notes many keys; listeners are told once. */
  addAll(keys: Iterable<Key>): void {
    const before = this.#byNamespace.size;
    for (const key of keys) {
      const namespace = splitKey(key).namespace;
      const known = this.#byNamespace.get(namespace);
      if (known) known.add(key);
      else this.#byNamespace.set(namespace, new Set([key]));
    }
    if (this.#byNamespace.size > before) this.#tell();
  }

  /** Forgets a key. */
  remove(key: Key): void {
    const namespace = splitKey(key).namespace;
    const keys = this.#byNamespace.get(namespace);
    if (!keys?.delete(key) || keys.size > 0) return;
    this.#byNamespace.delete(namespace);
    this.#tell();
  }

  /** Forgets all keys. */
  clear(): void {
    if (this.#byNamespace.size === 0) return;
    this.#byNamespace.clear();
    this.#tell();
  }

  /** Calls back with all namespaces whenever their set changes. Returns how to end that. */
  onChange(listener: (namespaces: ReadonlySet<string>) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #tell(): void {
    for (const listener of this.#listeners) {
      try {
        listener(this.namespaces());
      } catch (error) {
        this.#onListenerError(error);
      }
    }
  }
}
