import { isRemembered, rememberOnsets, type Onset } from "./cause";

/**
 * The onsets of all objects, by the key of each. Held of those alone that have any: every pass of every object looks at all of them, and of thousands
 * of objects hardly one is rejected.
 */
export class KnownOnsets {
  readonly #byObject = new Map<string, readonly Onset[]>();

  /** How many objects have onsets that are remembered. */
  get size(): number {
    return this.#byObject.size;
  }

  /** Takes in what an object's pass has found, and returns what is known of all objects. `nowMs` is wall-clock time. */
  remember(key: string, current: readonly Onset[], nowMs: number): Onset[] {
    const remembered = rememberOnsets(this.#byObject.get(key) ?? [], current, nowMs);
    this.#byObject.set(key, remembered);
    // Of all: an object that is suspended has no passes in which its own could go.
    for (const [object, onsets] of this.#byObject)
      if (!onsets.some(onset => isRemembered(onset, nowMs))) this.#byObject.delete(object);
    return [...this.#byObject.values()].flat();
  }

  /** What was known of that object counts no more. */
  forget(key: string): void {
    this.#byObject.delete(key);
  }
}
