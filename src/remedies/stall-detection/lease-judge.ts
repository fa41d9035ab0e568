import type { StallStatus } from "../../api/controller-resilience";
import { RENEWALS_KEPT, type LeaseTrack } from "../../core/leases";
import { CLOCK_SKEW_MS } from "../../core/time";
import type { PodView } from "../../core/views";

// Whether a Lease that a pod holds is still renewed. Pure. Unknown means no accusation.

/** A Lease must miss this many of its durations, and of the longest pauses that were seen between two renewals. */
const MISSED = 4;

/** What is known of a Lease and the pod that holds it. */
export interface HeldLease {
  readonly track: LeaseTrack;
  readonly pod: PodView;
  /** Time between two readings of the Lease. */
  readonly intervalMs: number;
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
  const isResumed = isUnchangedSince(held);
  if (!isResumed && !wasRenewed(held)) return "unknown";
  if (!isResumed && track.standingMs < limitMs(track, forMs)) return "renewed";
  return hasRestarted(held) && !isConfirmed && !isResumed ? "unconfirmed" : "stale";
}

/** Reports whether this process has itself seen long enough that a stale Lease stands still: only then it restarts the pod. */
export function isSeenStanding({ track }: HeldLease): boolean {
  return track.standingMs >= MISSED * (track.durationMs ?? Infinity);
}

/** Time after which a Lease without a renewal is stale. */
export function limitMs({ durationMs = 0, longestMs }: LeaseTrack, forMs: number): number {
  return Math.max(forMs, MISSED * durationMs, MISSED * longestMs);
}

/** The operator has seen this very pod renew it several times. Locks are taken once, and released. */
function wasRenewed({ track, pod }: HeldLease): boolean {
  const [first] = track.renewalsMs;
  return first !== undefined && track.renewalsMs.length >= RENEWALS_KEPT && first >= pod.createdAtMs;
}

/** An earlier leader of the operator knew that it was stale, and it has not changed since. */
function isUnchangedSince({ track, pod, previous }: HeldLease): boolean {
  return previous?.podUID === pod.uid && previous.leaseVersion === track.resourceVersion;
}

/** The pod runs on a node that answers, and is not being deleted. Between two lives of a container nothing is expected of it. */
function isRunning({ phase, deletedAtMs, nodeUnreachable, containers }: PodView): boolean {
  const main = containers.filter(({ role }) => role === "main");
  const isUp = main.length === 0 || main.some(({ running }) => running);
  return phase === "Running" && deletedAtMs === undefined && nodeUnreachable !== true && isUp;
}

/** A container started at or after the last renewal that was seen; the clocks of nodes differ a little. */
function hasRestarted({ track, pod, intervalMs }: HeldLease): boolean {
  const sinceMs = track.changedMs - intervalMs - CLOCK_SKEW_MS;
  return pod.containers.some(({ role, startedAtMs }) => role !== "init" && (startedAtMs ?? -Infinity) >= sinceMs);
}
