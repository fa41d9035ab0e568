import type { LeaseRecord } from "../../core/ports";

// What a Lease says, and what it proves. Times in the record are remote wall clocks: they are written for people to read
// and compared for equality, never with a clock.

/** A leader that steps down empties the holder and writes this duration, as client-go does. */
const RELEASED_SECONDS = 1;

/** The holder has stepped down by itself. A holder emptied by a person is no proof that it knows. */
export function isReleased(record: LeaseRecord): boolean {
  return record.holderIdentity === "" && record.leaseDurationSeconds <= RELEASED_SECONDS;
}

/** How long the record must be seen unchanged before another may take it: what the holder promised, and no less than our own. */
export function expiresAfterMs(record: LeaseRecord, leaseDurationMs: number): number {
  const promisedMs = record.leaseDurationSeconds * 1000;
  return Number.isFinite(promisedMs) ? Math.max(leaseDurationMs, promisedMs) : leaseDurationMs;
}

/** Two reads with the same fingerprint mean that nothing was written in between. */
export function fingerprint(record: LeaseRecord | null): string {
  if (record === null) return "absent";
  const { holderIdentity, leaseDurationSeconds, acquireTimeMs, renewTimeMs, leaseTransitions, resourceVersion } =
    record;
  return JSON.stringify([
    holderIdentity,
    leaseDurationSeconds,
    acquireTimeMs,
    renewTimeMs,
    leaseTransitions,
    resourceVersion ?? "",
  ]);
}

/** Whether `found` is what `written` wrote, perhaps with labels, annotations or a duration that a person edited since. */
export function isSameHold(found: LeaseRecord, written: LeaseRecord): boolean {
  return (
    found.holderIdentity === written.holderIdentity &&
    found.acquireTimeMs === written.acquireTimeMs &&
    found.renewTimeMs === written.renewTimeMs &&
    found.leaseTransitions === written.leaseTransitions
  );
}

/** Who takes the Lease over, or creates it, writes this. */
export function takenOver(found: LeaseRecord | null, identity: string, durationMs: number, now: Date): LeaseRecord {
  const transitions = found && Number.isFinite(found.leaseTransitions) ? found.leaseTransitions + 1 : 0;
  return {
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(durationMs / 1000),
    acquireTimeMs: now.getTime(),
    renewTimeMs: now.getTime(),
    leaseTransitions: transitions,
    ...precondition(found),
  };
}

/** The holder writes this again and again. */
export function renewed(held: LeaseRecord, durationMs: number, now: Date): LeaseRecord {
  return { ...held, leaseDurationSeconds: Math.ceil(durationMs / 1000), renewTimeMs: now.getTime() };
}

/** The holder writes this when it steps down, so that the next need not wait. */
export function released(held: LeaseRecord, now: Date): LeaseRecord {
  return {
    ...held,
    holderIdentity: "",
    leaseDurationSeconds: RELEASED_SECONDS,
    acquireTimeMs: now.getTime(),
    renewTimeMs: now.getTime(),
  };
}

function precondition(found: LeaseRecord | null): Pick<LeaseRecord, "resourceVersion"> {
  return found?.resourceVersion === undefined ? {} : { resourceVersion: found.resourceVersion };
}
