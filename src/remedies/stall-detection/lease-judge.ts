import { type Clock, CLOCK_SKEW_MS } from "../../core/time";
import { type LeaseTrack, RENEWALS_KEPT } from "../../core/leases";
import type { PodView } from "../../core/views";

// Whether a Lease that a pod holds is still renewed. Pure. Unknown means no accusation.

/** A Lease must miss this many of its durations, and of the longest pause between two renewals that counts. */
const MISSED = 4;

/** What is known of a Lease and the pod that holds it, or released it. */
export interface HeldLease {
  readonly track: LeaseTrack;
  readonly pod: PodView;
  /** Time between two readings of the Lease. */
  readonly intervalMs: number;
  /** Nothing has failed since the reading, which was made a moment ago. */
  readonly isFresh: boolean;
  /** How long the pod has been able to renew: its node answers, and its containers run. */
  readonly ableForMs: number;
  /** The log of the pod shows that its requests fail: a 401, a denied request for Leases, or a lost Lease. */
  readonly isConfirmed: boolean;
  /** An earlier pass, perhaps of another process, has found it stale, and it has not changed since. */
  readonly wasStale: boolean;
  /** How long a Lease stands still at least before it is stale. */
  readonly forMs: number;
}

/**
 * - `renewed`: it is renewed, or not for long.
 * - `unknown`: whether it is to be renewed, or its holder does not run.
 * - `unseen`: the pod runs and holds it, and has not renewed it since this process follows it. It may have finished with it before.
 * - `unconfirmed`: it stopped when a container of the pod restarted, so the new process may not use leader election any more; or the pod could not renew
 *   it for long enough.
 * - `stale`: the pod runs and has stopped renewing it, or has released it, and none has taken it.
 */
export type LeaseVerdict = "renewed" | "unknown" | "unseen" | "unconfirmed" | "stale";

/** Judges a Lease. */
export function judgeLease(held: HeldLease): LeaseVerdict {
  const { track, pod, wasStale } = held;
  if (track.durationMs === undefined || !isRunning(pod)) return "unknown";
  if (wasStale) return "stale";
  if (isLock(track)) return "unknown";
  if (!wasRenewed(held)) return isUnseen(held) ? "unseen" : "unknown";
  if (track.standingMs < staleLimitMs(held)) return "renewed";
  return isExcused(held) || untilStaleMs(held) > 0 ? "unconfirmed" : "stale";
}

/** Reports whether it has no holder. A pod that released it may have finished with it, so that it is reported only. */
export function isReleased({ holder }: LeaseTrack): boolean {
  return holder === "";
}

/** Reports whether this process has itself seen for long enough that the pod could renew a stale Lease and did not: only then it restarts the pod. */
export function isSeenStale(held: HeldLease): boolean {
  const { track, isFresh, ableForMs } = held;
  return isFresh && track.standingMs >= MISSED * (track.durationMs ?? Infinity) && ableForMs >= graceMs(held);
}

/**
 * Returns the stale Leases of one pod. None while the pod renews another one: it works, and may have finished with these without releasing
 * them, as client-go does by default.
 */
export function staleLeases(leases: readonly HeldLease[]): HeldLease[] {
  return otherRenewed(leases) === undefined ? standingLeases(leases) : [];
}

/** Returns the stale Leases of one pod, also those that are no evidence because it renews another one. */
export function standingLeases(leases: readonly HeldLease[]): HeldLease[] {
  return leases.filter(held => judgeLease(held) === "stale");
}

/** Returns a Lease that the pod still renews, or has taken lately, as this process saw. The first one, so that messages are stable. */
export function otherRenewed(leases: readonly HeldLease[]): HeldLease | undefined {
  return leases.find(held => {
    const { renewalsMs, heldFromMs, standingMs } = held.track;
    const isSeenAlive = renewalsMs.length > 0 || heldFromMs > -Infinity;
    return isSeenAlive && !held.wasStale && !isReleased(held.track) && standingMs < staleLimitMs(held);
  });
}

/** Time until a Lease without a renewal is stale. */
export function untilStaleMs(held: HeldLease): number {
  return Math.max(staleLimitMs(held) - held.track.standingMs, graceMs(held) - held.ableForMs);
}

/**
 * How long a pod has to take up its Lease once its containers run and its node answers, however long the Lease stood still before: as long as a pod may
 * let it stand still, and less only where its log shows that it cannot.
 */
function graceMs(held: HeldLease): number {
  return held.isConfirmed ? MISSED * (held.track.durationMs ?? Infinity) : staleLimitMs(held);
}

/** How long a Lease stands still before it is stale. */
export function staleLimitMs({ track, forMs }: HeldLease): number {
  return Math.max(forMs, MISSED * (track.durationMs ?? 0), MISSED * (track.pauses[0]?.ms ?? 0));
}

/** A Lease that was held for less than this by its own timestamps, in milliseconds, and released, is taken for a lock. */
const LOCK_MS = 3_600_000;

function isLock(track: LeaseTrack): boolean {
  const { renewed = "", acquired = "" } = track;
  return isReleased(track) && !(Date.parse(renewed) - Date.parse(acquired) >= LOCK_MS);
}

/** The operator has seen this very pod renew it several times. Locks are taken once, and released. */
function wasRenewed({ track, pod }: HeldLease): boolean {
  const [first] = track.renewalsMs;
  return first !== undefined && track.renewalsMs.length >= RENEWALS_KEPT && first >= pod.createdAtMs;
}

function isUnseen(held: HeldLease): boolean {
  const { track } = held;
  return track.renewalsMs.length === 0 && !isReleased(track) && untilStaleMs(held) <= 0;
}

/**
 * The pod runs on a node that answers, and is not being deleted. Between two lives of a main container nothing is expected of it: that one
 * may be the program with the Lease.
 */
export function isRunning({ phase, deletedAtMs, nodeUnreachable, containers }: PodView): boolean {
  if (phase !== "Running" || deletedAtMs !== undefined || nodeUnreachable === true) return false;
  return containers.every(({ role, running }) => role !== "main" || running);
}

/** A container started, or its life before ended, when the renewals stopped; the clocks of nodes differ a little. The log may show that it failed. */
function isExcused({ track: { changedMs, durationMs = Infinity }, pod, intervalMs, isConfirmed }: HeldLease): boolean {
  const isAtStop = (ms = -Infinity): boolean =>
    ms >= changedMs - intervalMs - CLOCK_SKEW_MS && ms <= changedMs + MISSED * durationMs;
  const containers = pod.containers.filter(({ role }) => role !== "init");
  return !isConfirmed && containers.some(one => isAtStop(one.startedAtMs) || isAtStop(one.lastFinishedAtMs));
}

/** Since when pods have been able to renew a Lease: their node answers, and their containers run. Followed from pass to pass. */
export class AbleTimes {
  /** By uid, of pods that were seen unable: when a pass first found them able again, on the monotonic clock; Infinity: not yet. */
  #ableMs: ReadonlyMap<string, number> = new Map();

  /** Takes the pods of a pass, and forgets all others. */
  follow(pods: readonly PodView[], clock: Clock): void {
    const nowMs = clock.monotonicMs();
    const before = this.#ableMs;
    this.#ableMs = new Map(
      pods.flatMap(pod => {
        if (!isRunning(pod)) return [[pod.uid, Infinity]];
        // Not from the last pass that saw it unable: a minute may have passed since.
        const sinceMs = before.get(pod.uid);
        return sinceMs === undefined ? [] : [[pod.uid, Math.min(sinceMs, nowMs)]];
      }),
    );
  }

  /** Time for which a pod has been able, as far as is known. The start of a container shows a pause between two passes. */
  ofMs({ uid, containers }: PodView, clock: Clock): number {
    const seenMs = clock.monotonicMs() - (this.#ableMs.get(uid) ?? -Infinity);
    const running = containers.filter(({ role, running: isRunningNow }) => role !== "init" && isRunningNow);
    const startedMs = Math.max(...running.map(({ startedAtMs = -Infinity }) => startedAtMs));
    return Math.max(0, Math.min(seenMs, clock.now().getTime() - startedMs));
  }
}
