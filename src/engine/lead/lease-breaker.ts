import type { Clock } from "../../core/clock";
import type { LeaseRecord } from "../../core/ports";
import type { LeaseAnnotation } from "./lease-record";

/**
 * The state of the restart breaker, an annotation on the Lease (docs/adr/0024-stop-unproven-restarts-on-a-bad-day.md). It survives a
 * restart and a change of leader. Only a person removes it; the next renewal then finds the Lease changed, and reads it.
 */
export class LeaseBreaker implements LeaseAnnotation {
  readonly #clock: Clock;
  readonly #onChange: (why: string | null) => void;
  /** The annotation as last read, null without one; undefined before the first read. */
  #read: string | null | undefined;
  /** Tripped, but not confirmed by the API server yet. */
  #pending: string | undefined;
  #resetMs = -Infinity;

  /** `onChange` is called when the breaker is tripped, with the reason, and with null when it no longer is. */
  constructor(clock: Clock, onChange: (why: string | null) => void = () => undefined) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** Why the breaker is tripped, or null if it is not; undefined: unknown. */
  get state(): string | null | undefined {
    return this.#pending ?? this.#read;
  }

  /** Wall-clock time at which this process saw that the breaker was reset. */
  get resetMs(): number {
    return this.#resetMs;
  }

  /** Trips the breaker: at once for this process, and on the Lease with the next renewal. */
  trip(why: string): void {
    if (typeof this.state === "string") return;
    this.#pending = why;
    this.#onChange(why);
  }

  /** The record to write: with a trip that is not written yet. A deleted Lease is created with the last annotation. */
  on(record: LeaseRecord): LeaseRecord {
    const known = record.resourceVersion === undefined ? (this.#read ?? undefined) : record.breaker;
    const breaker = this.#pending ?? known;
    return breaker === undefined ? record : { ...record, breaker };
  }

  /** Takes what was read or written. */
  seen(record: LeaseRecord | null): void {
    if (record === null) return;
    const before = this.state ?? null;
    if (typeof this.#read === "string" && record.breaker === undefined) this.#resetMs = this.#clock.now().getTime();
    this.#read = record.breaker ?? null;
    if (this.#read !== null) this.#pending = undefined;
    if (this.state !== before) this.#onChange(this.state ?? null);
  }

  /** Drops a trip that was not written: the next leader decides again, from the same facts. */
  endTerm(): void {
    const before = this.state ?? null;
    this.#pending = undefined;
    if ((this.state ?? null) !== before) this.#onChange(this.state ?? null);
  }
}
