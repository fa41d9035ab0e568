import { isRemembered, rememberOnsets, type Onset } from "./cause";

/** The onsets of all objects, by object key. Objects without onsets have no entry: every pass of every object reads all entries. */
export class KnownOnsets {
  readonly #byObject = new Map<string, readonly Onset[]>();

  /** Number of objects with remembered onsets. */
  get size(): number {
    return this.#byObject.size;
  }

  /**
   * Adds the onsets of one object's pass, and returns those of all objects. `nowMs` is wall-clock time.
   *
   * @param isExplained drops what is remembered: the cause of that rejection is proven now
   */
  remember(
    key: string,
    current: readonly Onset[],
    nowMs: number,
    isExplained: (onset: Onset) => boolean = () => false,
  ): Onset[] {
    const known = (this.#byObject.get(key) ?? []).filter(onset => !isExplained(onset));
    const remembered = rememberOnsets(known, current, nowMs);
    this.#byObject.set(key, remembered);
    // For all objects: a suspended object has no pass that could remove its own.
    for (const [object, onsets] of this.#byObject)
      if (!onsets.some(onset => isRemembered(onset, nowMs))) this.#byObject.delete(object);
    return [...this.#byObject.values()].flat();
  }

  /** Drops the onsets of one object. */
  forget(key: string): void {
    this.#byObject.delete(key);
  }
}
