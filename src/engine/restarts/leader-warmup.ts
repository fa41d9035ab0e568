import type { Key } from "../../core/ports";
import { KnownKeys } from "../loop/known-keys";

/** Objects requested at a time; callers ask again every few seconds, and other namespaces must not wait for one with many objects. */
const REQUEST_BATCH = 10;

/**
 * Tracks which objects a new leader still has to load before it restarts anything. The restart budget of a workload counts the
 * restarts recorded by every object of its namespace (docs/adr/0010-budget-restarts-per-workload.md), and a new leader has none of
 * these records, or outdated ones from an earlier term.
 */
export class LeaderWarmup {
  readonly #request: (key: Key) => void;
  /** Objects not loaded yet; undefined until the first list of the term. */
  #missing: KnownKeys | undefined;

  /** `request` enqueues a pass of an object. */
  constructor(request: (key: Key) => void) {
    this.#request = request;
  }

  /** Starts a term of leadership: nothing is loaded. */
  startTerm(): void {
    this.#missing = undefined;
  }

  /** Sets the objects to load. Only the first list of a term counts: objects that appear later have passes in this term. */
  expect(keys: readonly Key[]): void {
    if (this.#missing !== undefined) return;
    this.#missing = new KnownKeys(() => undefined);
    this.#missing.addAll(keys);
  }

  /** Marks an object as loaded or deleted. */
  loaded(key: Key): void {
    this.#missing?.remove(key);
  }

  /** Reports whether all objects of a namespace are loaded. */
  isCompleteIn(namespace: string): boolean {
    return this.#missing?.in(namespace).length === 0;
  }

  /** Reports whether all objects of all namespaces are loaded. */
  isComplete(): boolean {
    return this.#missing?.all().length === 0;
  }

  /** Requests missing objects of a namespace, or of all, ahead of the full pass. */
  requestMissing(namespace?: string): void {
    const missing = namespace === undefined ? this.#missing?.all() : this.#missing?.in(namespace);
    for (const key of missing?.slice(0, REQUEST_BATCH) ?? []) this.#request(key);
  }
}
