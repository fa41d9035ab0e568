import { BREAKER_ANNOTATION, BREAKER_RESET_ANNOTATION, KEYS_ANNOTATION } from "../../api/names";
import type { LeaseRecord } from "../../core/ports";
import { textsOf, timeOf } from "../../core/json";
import { type Clock, describeTime } from "../../core/time";
import { formatKeys, type KeyMemory } from "../../core/signing-keys";

// Builds and compares Lease records. Times in a record come from remote wall clocks: they are for people, and are compared for
// equality only, never with a clock.

/** Something that is kept in an annotation of the Lease, so that it survives this process. */
export interface LeaseAnnotation {
  /** Returns the record to write, with the annotation as it should be. */
  on(record: LeaseRecord): LeaseRecord;
  /** Takes what was read or written. */
  seen(record: LeaseRecord | null): void;
}

/** Returns the record with these annotations; undefined ones change nothing. */
function annotated(record: LeaseRecord, annotations: Readonly<Record<string, string | undefined>>): LeaseRecord {
  return { ...record, annotations: { ...record.annotations, ...textsOf(annotations) } };
}

/** On release, the holder clears holderIdentity and writes this duration, as client-go does. */
const RELEASED_SECONDS = 1;

/** The field is an int32: the API server refuses more. */
const MOST_TRANSITIONS = 2 ** 31 - 1;

/** Reports whether the holder released the Lease. An empty holder alone proves nothing: a person may have cleared it, or the whole spec. */
export function isReleased(record: LeaseRecord): boolean {
  return record.holderIdentity === "" && record.leaseDurationSeconds === RELEASED_SECONDS;
}

/** Longest duration that another version may have; a person may have written any, and a standby must take over. */
const LONGEST_MS = 60_000;

/** Returns how long the record must stay unchanged before it expires: the longer of the holder's and our own lease duration. */
export function expiresAfterMs(record: LeaseRecord, leaseDurationMs: number): number {
  const holderMs = Math.min(record.leaseDurationSeconds * 1000, LONGEST_MS);
  return Number.isFinite(holderMs) ? Math.max(leaseDurationMs, holderMs) : leaseDurationMs;
}

/**
 * Two reads with the same fingerprint mean that no holder has written between them; others may have changed labels and annotations. A Lease that
 * a person has emptied twice looks the same, although another may have held it between: its version tells them apart.
 */
export function fingerprint(record: LeaseRecord | null): string {
  if (record === null) return "absent";
  const { holderIdentity, leaseDurationSeconds, acquireTimeMs, renewTimeMs, leaseTransitions } = record;
  const version = holderIdentity === "" ? record.resourceVersion : undefined;
  return JSON.stringify([holderIdentity, leaseDurationSeconds, acquireTimeMs, renewTimeMs, leaseTransitions, version]);
}

/** Reports whether `found` is the record that `written` wrote; labels, annotations and the duration may have been edited since. */
export function isSameHold(found: LeaseRecord, written: LeaseRecord): boolean {
  return (
    found.holderIdentity === written.holderIdentity &&
    found.acquireTimeMs === written.acquireTimeMs &&
    found.renewTimeMs === written.renewTimeMs &&
    found.leaseTransitions === written.leaseTransitions
  );
}

/** Reports whether a record was written before another one, as after a restore: its holder, whose clock made both times, or fewer transitions show it. */
function isEarlier(record: LeaseRecord, last: LeaseRecord = record): boolean {
  if (record.leaseTransitions < last.leaseTransitions) return true;
  return record.holderIdentity === last.holderIdentity && record.renewTimeMs < last.renewTimeMs;
}

/** Returns the record that takes over or creates the Lease. */
export function takenOver(found: LeaseRecord | null, identity: string, durationMs: number, now: Date): LeaseRecord {
  const transitions = found === null ? 0 : Math.min(found.leaseTransitions + 1, MOST_TRANSITIONS);
  return {
    ...found,
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(durationMs / 1000),
    acquireTimeMs: now.getTime(),
    renewTimeMs: now.getTime(),
    leaseTransitions: transitions,
  };
}

/** Returns the record of a renewal. */
export function renewed(held: LeaseRecord, durationMs: number, now: Date): LeaseRecord {
  return { ...held, leaseDurationSeconds: Math.ceil(durationMs / 1000), renewTimeMs: now.getTime() };
}

/** Returns the record of a release, so that the next leader does not wait for expiry. */
export function released(held: LeaseRecord, now: Date): LeaseRecord {
  return {
    ...held,
    holderIdentity: "",
    leaseDurationSeconds: RELEASED_SECONDS,
    acquireTimeMs: now.getTime(),
    renewTimeMs: now.getTime(),
  };
}

/**
 * The state of the restart breaker, an annotation on the Lease (docs/adr/0024-stop-unproven-restarts-on-a-bad-day.md). It survives a
 * restart and a change of leader. Only a person removes it; the next renewal then finds the Lease changed, and reads it.
 */
export class LeaseBreaker implements LeaseAnnotation {
  /** The annotation as last read, null without one; undefined before the first read. */
  #read: string | null | undefined;
  /** Tripped, but not confirmed by the API server yet. */
  #pending: string | undefined;
  #resetMs = -Infinity;
  #last: LeaseRecord | undefined;

  /** `onChange` is called when the breaker is tripped, with the reason, and with null when it no longer is. */
  constructor(
    private readonly clock: Clock,
    private readonly onChange: (why: string | null) => void = () => undefined,
  ) {}

  /** Why the breaker is tripped, or null if it is not; undefined: unknown. */
  get state(): string | null | undefined {
    return this.#pending ?? this.#read;
  }

  /** Wall-clock time at which a leader saw that the breaker was reset. */
  get resetMs(): number {
    return this.#resetMs;
  }

  /** Trips the breaker: at once for this process, and on the Lease with the next renewal. */
  trip(why: string): void {
    if (typeof this.state === "string") return;
    this.#pending = why;
    this.onChange(why);
  }

  /** The record to write: with a trip that is not written yet. A deleted or restored Lease gets the last annotation again. */
  on(record: LeaseRecord): LeaseRecord {
    const breaker = this.#pending ?? record.annotations?.[BREAKER_ANNOTATION] ?? this.#read ?? undefined;
    return annotated(record, {
      [BREAKER_ANNOTATION]: breaker,
      [BREAKER_RESET_ANNOTATION]: describeTime(this.#resetMs),
    });
  }

  /** Takes what was read or written. */
  seen(record: LeaseRecord | null): void {
    if (record === null) return;
    const before = this.state ?? null;
    this.#takeReset(record);
    const breaker = record.annotations?.[BREAKER_ANNOTATION];
    this.#read = breaker ?? this.#withoutBreaker(record);
    if (this.#read === (breaker ?? null)) this.#last = record;
    if (this.#read !== null) this.#pending = undefined;
    if (this.state !== before) this.onChange(this.state ?? null);
  }

  /** A time in the future, by another clock, would keep all restarts until then from counting. */
  #takeReset({ annotations }: LeaseRecord): void {
    const resetMs = timeOf(annotations?.[BREAKER_RESET_ANNOTATION]) ?? Infinity;
    if (resetMs > this.#resetMs && resetMs <= this.clock.now().getTime()) this.#resetMs = resetMs;
  }

  /** A person has reset it, unless the record is of a backup of before the trip. */
  #withoutBreaker(record: LeaseRecord): string | null {
    if (typeof this.#read !== "string") return null;
    if (isEarlier(record, this.#last)) return this.#read;
    this.#resetMs = this.clock.now().getTime();
    return null;
  }

  /** Drops a trip that was not written: the next leader decides again, from the same facts. */
  endTerm(): void {
    const before = this.state ?? null;
    this.#pending = undefined;
    if ((this.state ?? null) !== before) this.onChange(this.state ?? null);
  }
}

/** The history of the signing keys, an annotation on the Lease: after a rotation the operator itself may have to start again. */
export function leaseKeys(memory: KeyMemory, clock: Pick<Clock, "now">): LeaseAnnotation {
  return {
    on: record => annotated(record, { [KEYS_ANNOTATION]: memory.history && formatKeys(memory.history) }),
    seen: record => {
      const keys = record?.annotations?.[KEYS_ANNOTATION];
      if (keys !== undefined) memory.follow(keys, clock.now().getTime());
    },
  };
}
