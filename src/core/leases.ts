// What the operator learns of Leases by looking at them again and again. Timestamps inside a Lease are those of another clock, so they are
// only compared with each other; time is measured by the operator's own clocks, between its own readings. Pure.

import type { Problem } from "./errors";
import { CLOCK_SKEW_MS } from "./time";
import type { Identity } from "./views";

/** A Lease. */
export interface LeaseView extends Omit<Identity, "createdAtMs" | "deletedAtMs"> {
  /** Empty: it has no holder. */
  readonly holder: string;
  /** leaseDurationSeconds; absent: not set. */
  readonly durationMs?: number;
  /** acquireTime and renewTime as they stand there, to compare them with later ones. */
  readonly acquired?: string;
  readonly renewed?: string;
}

/** A time between two renewals. */
export interface Pause {
  readonly ms: number;
  /** When the renewal at its end was seen: wall-clock time. */
  readonly endedMs: number;
}

/** A Lease, and how it has changed between the readings of this process. */
export interface LeaseTrack extends LeaseView {
  /** When the last renewals by the present holder were seen, oldest first: wall-clock times, {@link RENEWALS_KEPT} at most. */
  readonly renewalsMs: readonly number[];
  /**
   * The longest times between two of its renewals, as seen in the last {@link PAUSES_COUNT_MS}, and the last one: the longest first, each
   * later than the one before.
   */
  readonly pauses: readonly Pause[];
  /** Time without a change of holder and times since the last one was seen. Time in which readings failed does not count. */
  readonly standingMs: number;
  /** When the last change was seen: wall-clock time. */
  readonly changedMs: number;
  /** When this process saw the present holder take it: wall-clock time. -Infinity: it held it at the first reading. */
  readonly heldFromMs: number;
  /** The holder that this process saw release it; all but `holder` is of its term. Absent: it was not released, or taken since. */
  readonly releasedBy?: string;
}

/** The Leases of one namespace. */
export interface LeaseReading {
  readonly leases: readonly LeaseTrack[];
  /** When the last successful reading was made, on the monotonic clock. Absent: there was none yet. */
  readonly readMs?: number;
  /** Why they are not known, or not any more. Absent: they are known. */
  readonly unknown?: Problem;
  /** Time between two readings. */
  readonly intervalMs: number;
}

/** When a reading was made. */
export interface LeaseMoment {
  /** Wall-clock time. */
  readonly nowMs: number;
  /** Time since the reading before, as far as it counts: none after a failed reading. */
  readonly countedMs: number;
}

/** Renewals that are remembered of each Lease. */
export const RENEWALS_KEPT = 4;

/**
 * A pause counts until the first renewal after this long, in milliseconds, as far back as lost Leases and stopped requests are looked at. One
 * long pause, such as of a slow API server, is no rhythm. While a Lease stands still nothing is forgotten, and the last pause always counts.
 */
export const PAUSES_COUNT_MS = 3_600_000;

/** Returns what is known of a Lease after one more reading. `before` is absent if the reading before did not have it. */
export function followLease(before: LeaseTrack | undefined, view: LeaseView, moment: LeaseMoment): LeaseTrack {
  const { nowMs, countedMs } = moment;
  if (isStampedAhead(before, nowMs)) return followLease(undefined, view, moment);
  if (before?.uid === view.uid && view.holder === "") {
    const { resourceVersion, holder } = view;
    if (before.holder === "") return { ...before, resourceVersion, standingMs: before.standingMs + countedMs };
    return { ...before, resourceVersion, holder, releasedBy: before.holder, standingMs: 0, changedMs: nowMs };
  }
  if (before === undefined || !isSameTerm(before, view)) {
    const heldFromMs = before === undefined ? -Infinity : nowMs;
    return { ...view, renewalsMs: [], pauses: [], standingMs: 0, changedMs: nowMs, heldFromMs };
  }
  if (before.renewed === view.renewed) {
    const { renewalsMs, pauses, standingMs, changedMs, heldFromMs } = before;
    return { ...view, renewalsMs, pauses, standingMs: standingMs + countedMs, changedMs, heldFromMs };
  }
  return {
    ...view,
    renewalsMs: [...before.renewalsMs, nowMs].slice(-RENEWALS_KEPT),
    pauses: withPause(before.pauses, { ms: before.standingMs + countedMs, endedMs: nowMs }),
    standingMs: 0,
    changedMs: nowMs,
    heldFromMs: before.heldFromMs,
  };
}

/** Reports whether a clock that was ahead has stamped it, so that nothing is known of it. */
function isStampedAhead(before: LeaseTrack | undefined, nowMs: number): boolean {
  return before !== undefined && before.changedMs > nowMs + CLOCK_SKEW_MS;
}

/** Adds the last pause, without those that are forgotten, and those that a longer one follows: rarely are more than a few left. */
function withPause(pauses: readonly Pause[], last: Pause): readonly Pause[] {
  const left = pauses.filter(({ ms, endedMs }) => ms > last.ms && last.endedMs - endedMs < PAUSES_COUNT_MS);
  return [...left, last];
}

/** The same holder without a break: a process that takes a Lease, or takes it back, sets its acquireTime. */
function isSameTerm(before: LeaseView, view: LeaseView): boolean {
  return before.uid === view.uid && before.holder === view.holder && before.acquired === view.acquired;
}
