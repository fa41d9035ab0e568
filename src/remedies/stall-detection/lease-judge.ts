import type { StallStatus } from "../../api/controller-resilience";
import { longestPauseMs, RENEWALS_KEPT, type LeaseTrack } from "../../core/leases";
import type { Rejections } from "../../core/rejections";
import { CLOCK_SKEW_MS } from "../../core/time";
import type { PodView } from "../../core/views";

// Whether a Lease that a pod holds is still renewed. Pure. Unknown means no accusation.

/** A Lease must miss this many of its durations, and of the longest pause between two renewals that counts. */
const MISSED = 4;

/** A pause between two renewals that is longer than this was seen as such, and not only as the time between two readings. */
const SHORTEST_PAUSE_MS = 15_000;

/** 401s that show that a holder is cut off: so many, over such a time, and the last of them so lately. */
const CUT_OFF_OCCASIONS = 3;
const CUT_OFF_SPAN_MS = 2_000;
const STILL_MS = 60_000;

/** What is known of a Lease and the pod that holds it. */
export interface HeldLease {
  readonly track: LeaseTrack;
  readonly pod: PodView;
  /** Time between two readings of the Lease. */
  readonly intervalMs: number;
  /** Nothing has failed since the reading, which was made a moment ago. */
  readonly isFresh: boolean;
  /** How long the pod has been able to renew: its node answers, and its containers run. */
  readonly ableForMs: number;
  /** The 401s of the pod in the audit webhook. */
  readonly rejections?: Rejections;
  /** The log of the pod shows that its requests fail: a 401, a denied request for Leases, or a lost Lease. */
  readonly isConfirmed: boolean;
  /** Entry in status of an earlier pass, perhaps of another process. */
  readonly previous: StallStatus | undefined;
}

/**
 * - `renewed`: it is renewed, or not for long.
 * - `unknown`: it may never have been renewed, or its holder does not run.
 * - `unconfirmed`: it stopped when a container of the pod restarted. The new process may not use leader election any more.
 * - `stale`: the pod runs and has stopped renewing it.
 */
export type LeaseVerdict = "renewed" | "unknown" | "unconfirmed" | "stale";

/** Judges a Lease. */
export function judgeLease(held: HeldLease, forMs: number): LeaseVerdict {
  const { track, pod, isConfirmed } = held;
  if (track.durationMs === undefined || !isRunning(pod)) return "unknown";
  const isResumed = isUnchangedSince(held, "Lease");
  if (!isResumed && !wasRenewed(held)) return "unknown";
  if (!isResumed && untilStaleMs(held, forMs) > 0) return "renewed";
  return hasRestarted(held) && !isConfirmed && !isResumed ? "unconfirmed" : "stale";
}

/**
 * Reports whether this process has itself seen long enough that a stale Lease stands still: only then it restarts the pod. While 401s go on,
 * one duration is enough, after which the holder may not work any more.
 */
export function isSeenStanding(held: HeldLease, nowMs: number): boolean {
  const { track, isFresh } = held;
  const missed = isStillRejected(held, nowMs) ? 1 : MISSED;
  return isFresh && track.standingMs >= missed * (track.durationMs ?? Infinity);
}

/** Reports whether the pod has had its chance to renew. Whatever its age, it has none while its requests are rejected. */
export function hasHadChance(held: HeldLease, nowMs: number): boolean {
  return isStillRejected(held, nowMs) || held.ableForMs >= MISSED * (held.track.durationMs ?? Infinity);
}

/** A holder that is known to be cut off goes on getting 401s: in its present life, or between two lives in the last one. */
function isStillRejected(held: HeldLease, nowMs: number): boolean {
  const { rejections, pod, ableForMs } = held;
  if (rejections === undefined || !isUnchangedSince(held, "Audit") || !isGoingOn(rejections, nowMs)) return false;
  return !isRunning(pod) || nowMs - rejections.lastMs <= ableForMs;
}

/** Reports whether the holder has stopped renewing, by any evidence. */
export function isNotRenewed(held: HeldLease, forMs: number, nowMs: number): boolean {
  return judgeLease(held, forMs) === "stale" || isCutOff(held, nowMs);
}

/**
 * Returns the stale Leases of one pod. None while the pod renews another one: it works, and may have finished with these without releasing
 * them, as client-go does by default.
 */
export function staleLeases(leases: readonly HeldLease[], forMs: number): HeldLease[] {
  return otherRenewed(leases, forMs) === undefined ? standingLeases(leases, forMs) : [];
}

/** Returns the stale Leases of one pod, also those that are no evidence because it renews another one. */
export function standingLeases(leases: readonly HeldLease[], forMs: number): HeldLease[] {
  return leases.filter(held => judgeLease(held, forMs) === "stale");
}

/** Returns a Lease that the pod still renews, or has taken lately. The first one, so that messages are stable. */
export function otherRenewed(leases: readonly HeldLease[], forMs: number): HeldLease | undefined {
  return leases.find(({ track }) => isSeenAlive(track) && track.standingMs < staleLimitMs(track, forMs));
}

/** Returns the Leases of one pod with 401s that it has stopped renewing. None while it renews another one: see {@link staleLeases}. */
export function cutOffLeases(leases: readonly HeldLease[], nowMs: number): HeldLease[] {
  if (leases.some(({ track }) => isSeenAlive(track) && track.standingMs < cutOffLimitMs(track))) return [];
  return leases.filter(held => isCutOff(held, nowMs));
}

/** This process saw the holder take or renew it. */
function isSeenAlive({ renewalsMs, heldFromMs }: LeaseTrack): boolean {
  return renewalsMs.length > 0 || heldFromMs > -Infinity;
}

/** Reports whether a pod is known to renew this Lease, or to have renewed it. */
export function isRenewer(held: HeldLease): boolean {
  return isUnchangedSince(held) || wasRenewed(held);
}

/**
 * Reports whether the holder is cut off: its requests are answered 401, and its Lease is not renewed since. A program that passes on
 * requests with tokens of others gets 401s, too, and goes on renewing. Once cut off, it is so until the Lease changes.
 */
export function isCutOff(held: HeldLease, nowMs: number): boolean {
  const { track, rejections, pod } = held;
  if (track.durationMs === undefined || !isAlive(pod)) return false;
  // A program that loses its Lease may exit and start again, with the same token.
  if (isUnchangedSince(held, "Audit")) return true;
  if (rejections === undefined || !isGoingOn(rejections, nowMs) || !isRunning(pod)) return false;
  return isRenewer(held) && untilCutOffMs(held) <= 0;
}

/**
 * Time until a holder with 401s is cut off without a renewal. Readings are not closer than their interval, so no shorter pause is known. A
 * process that has started since may pass on requests of others, too, while it waits for the Lease of the one before.
 */
export function untilCutOffMs(held: HeldLease): number {
  const { track, ableForMs } = held;
  const { durationMs = 0, standingMs } = track;
  const hasStarted = hasRestarted(held) || ableForMs < standingMs;
  return Math.max(cutOffLimitMs(track) - standingMs, hasStarted ? MISSED * durationMs - ableForMs : -Infinity);
}

function cutOffLimitMs(track: LeaseTrack): number {
  const longestMs = longestPauseMs(track);
  return Math.max((track.durationMs ?? 0) / 2, longestMs > SHORTEST_PAUSE_MS ? 1.5 * longestMs : 0);
}

/** Several 401s, the last of them lately. */
function isGoingOn({ occasions, firstMs, lastMs }: Rejections, nowMs: number): boolean {
  return occasions >= CUT_OFF_OCCASIONS && lastMs - firstMs >= CUT_OFF_SPAN_MS && nowMs - lastMs < STILL_MS;
}

/**
 * Time until a Lease without a renewal is stale. A process that has just started, or whose node answers again, takes up its Lease within some
 * of its durations, however long the Lease stood still before.
 */
export function untilStaleMs({ track, ableForMs }: HeldLease, forMs: number): number {
  const { durationMs = 0, standingMs } = track;
  return Math.max(staleLimitMs(track, forMs) - standingMs, MISSED * durationMs - ableForMs);
}

function staleLimitMs(track: LeaseTrack, forMs: number): number {
  return Math.max(forMs, MISSED * (track.durationMs ?? 0), MISSED * longestPauseMs(track));
}

/** The operator has seen this very pod renew it several times. Locks are taken once, and released. */
function wasRenewed({ track, pod }: HeldLease): boolean {
  const [first] = track.renewalsMs;
  return first !== undefined && track.renewalsMs.length >= RENEWALS_KEPT && first >= pod.createdAtMs;
}

/** An earlier leader of the operator knew that it was stale, and it has not changed since. */
function isUnchangedSince({ track, pod, previous }: HeldLease, evidence?: StallStatus["evidence"]): boolean {
  if (evidence !== undefined && previous?.evidence !== evidence) return false;
  return previous?.podUID === pod.uid && previous.leaseVersion === track.resourceVersion;
}

/**
 * The pod runs on a node that answers, and is not being deleted. Between two lives of a main container nothing is expected of it: that one
 * may be the program with the Lease.
 */
export function isRunning(pod: PodView): boolean {
  const main = pod.containers.filter(({ role }) => role === "main");
  return isAlive(pod) && main.every(({ running }) => running);
}

function isAlive({ phase, deletedAtMs, nodeUnreachable }: PodView): boolean {
  return phase === "Running" && deletedAtMs === undefined && nodeUnreachable !== true;
}

/** A container started, or its life before ended, at or after the last renewal that was seen; the clocks of nodes differ a little. */
function hasRestarted({ track, pod, intervalMs }: HeldLease): boolean {
  const sinceMs = track.changedMs - intervalMs - CLOCK_SKEW_MS;
  const isSince = (ms = -Infinity): boolean => ms >= sinceMs;
  const lives = pod.containers.filter(({ role }) => role !== "init");
  return lives.some(({ startedAtMs, lastFinishedAtMs }) => isSince(startedAtMs) || isSince(lastFinishedAtMs));
}
