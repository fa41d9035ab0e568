import type { Clock } from "../../core/time";
import type { Key, ObjectVersion } from "../../core/ports";

/**
 * How long the operator's own watch may see a change later than Pepr's, in milliseconds. Both streams bring a change within
 * milliseconds of each other, except for a busy process: with 1,000 objects created at once, Pepr's came first for a third of them, and
 * each of these had a second pass (`npm run bench -- scale --scene burst`).
 */
const GRACE_MS = 1_000;

export interface MissedChangesPorts {
  readonly clock: Clock;
  /** Reports whether the operator's own watch has seen this version of an object, or a later one. */
  readonly isSeen: (key: Key, version: ObjectVersion) => boolean;
  /** Requests a pass. */
  readonly enqueue: (key: Key) => void;
}

/**
 * Passes on what Pepr's watch has seen and the operator's own has not. What both see is judged by the own watch alone: it ignores the
 * operator's own reports.
 */
export class MissedChanges {
  readonly #ports: MissedChangesPorts;
  /** The last version of each object that only Pepr has seen so far. */
  readonly #waiting = new Map<Key, ObjectVersion>();

  constructor(ports: MissedChangesPorts) {
    this.#ports = ports;
  }

  /** Takes a change that Pepr has seen. It is passed on within {@link GRACE_MS}, unless the own watch has it by then. */
  add(key: Key, version: ObjectVersion): void {
    const { clock, isSeen } = this.#ports;
    if (isSeen(key, version)) return;
    if (this.#waiting.size === 0) clock.after(GRACE_MS, () => this.#passOn());
    this.#waiting.set(key, version);
  }

  #passOn(): void {
    const { isSeen, enqueue } = this.#ports;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const [key, version] of waiting) if (!isSeen(key, version)) enqueue(key);
  }
}
