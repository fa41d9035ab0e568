import type { Key } from "../../core/ports";

/** Objects requested at a time; callers ask again every few seconds. */
const REQUEST_BATCH = 10;

/**
 * Tracks which objects a new leader still has to load. What holds for the whole cluster, an open restart without proof or a rollout, is in
 * the status of all objects.
 */
export class LeaderWarmup {
  readonly #request: (key: Key) => void;
  /** Objects not loaded yet; undefined until the first list of the term. */
  #missing: Set<Key> | undefined;

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
    this.#missing ??= new Set(keys);
  }

  /** Marks an object as loaded or deleted. */
  loaded(key: Key): void {
    this.#missing?.delete(key);
  }

  /** Reports whether all objects are loaded. If not, requests some of the missing ones ahead of the full pass. */
  isComplete(): boolean {
    if (this.#missing?.size === 0) return true;
    for (const key of [...(this.#missing ?? [])].slice(0, REQUEST_BATCH)) this.#request(key);
    return false;
  }
}
