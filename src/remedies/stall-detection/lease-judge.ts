import { type LeaseTrack, RENEWALS_KEPT } from "../../core/leases";
import { type Clock, CLOCK_SKEW_MS } from "../../core/time";
import { groupBy, type PodView } from "../../core/views";

// Which pod holds a Lease, and whether it still renews it. Pure. Unknown means no accusation.

/** A Lease must miss this many of its durations, and of the longest pause between two renewals that counts. */
const MISSED = 4;

/** What is known of a Lease and the pod that holds it, or released it. */
export interface LeaseFacts {
  readonly track: LeaseTrack;
  readonly pod: PodView;
  /** Time between two readings of the Lease. */
  readonly intervalMs: number;
  /** Nothing has failed since the reading, which was made a moment ago, and no other Lease of the pod may be unknown. */
  readonly isFresh: boolean;
  /** How long the pod has been able to renew: its node answers, and its containers run. */
  readonly ableForMs: number;
  /** When a pass last saw that a container of the pod had started again: wall-clock time. Absent: none has. */
  readonly startSeenMs?: number | undefined;
  /** The log of the pod shows that its requests fail: a 401, a denied request for Leases, or a lost Lease. */
  readonly isConfirmed: boolean;
  /** An earlier pass, perhaps of another process, has found it stale, and it has not changed since. */
  readonly wasStale: boolean;
  /** How long a Lease stands still at least before it is stale. */
  readonly forMs: number;
}

/** A Lease that a pod holds, or released, and what it shows. */
export interface HeldLease extends LeaseFacts {
  /**
   * - `renewed`: it is renewed, or not for long.
   * - `unknown`: whether it is to be renewed, or its holder does not run.
   * - `unseen`: the pod runs and holds it, and has not renewed it since this process follows it. It may have finished with it before.
   * - `unconfirmed`: it stopped when a container of the pod restarted, so the new process may not use leader election any more; or the pod could not renew
   *   it for long enough.
   * - `left`: it is stale, but the pod renews another one: it works, and may have finished with this one without releasing it, as client-go does by
   *   default.
   * - `stale`: the pod runs and has stopped renewing it, or has released it, and none has taken it.
   */
  readonly verdict: "renewed" | "unknown" | "unseen" | "unconfirmed" | "left" | "stale";
  /** The first Lease that the pod still renews, or has taken lately, as this process saw. */
  readonly renewed: LeaseTrack | undefined;
}

/** Judges the Leases of one pod. */
export function judgeLeases(leases: readonly LeaseFacts[]): HeldLease[] {
  const renewed = leases.find(isSeenAlive)?.track;
  return leases.map(held => {
    const verdict = verdictOf(held);
    if (renewed === undefined || (verdict !== "stale" && verdict !== "unseen")) return { ...held, verdict, renewed };
    return { ...held, verdict: verdict === "stale" ? "left" : "unknown", renewed };
  });
}

function isSeenAlive(held: LeaseFacts): boolean {
  const { renewalsMs, heldFromMs, standingMs } = held.track;
  const isSeen = renewalsMs.length > 0 || heldFromMs > -Infinity;
  return isSeen && !held.wasStale && !isReleased(held.track) && standingMs < staleLimitMs(held);
}

function verdictOf(held: LeaseFacts): Exclude<HeldLease["verdict"], "left"> {
  const { track, pod, wasStale } = held;
  if (track.durationMs === undefined || !isRunning(pod)) return "unknown";
  if (wasStale) return "stale";
  if (isLock(track)) return "unknown";
  if (!wasRenewed(held)) return isUnseen(held) ? "unseen" : "unknown";
  if (track.standingMs < staleLimitMs(held)) return "renewed";
  return isExcused(held) || !hadTime(held) ? "unconfirmed" : "stale";
}

/** A pod whose containers start again and again never has the time that they have each time, in milliseconds: a person has to know after so long. */
const LASTING_MS = 3_600_000;

function hadTime(held: LeaseFacts): boolean {
  const { standingMs, durationMs = Infinity } = held.track;
  const isLasting = standingMs >= LASTING_MS && held.ableForMs >= MISSED * durationMs;
  return isLasting || untilStaleMs(held) <= 0;
}

/** Returns the Leases of one pod that show that it hangs. */
export function staleLeases(leases: readonly HeldLease[]): HeldLease[] {
  return leases.filter(({ verdict }) => verdict === "stale");
}

/** A Lease in status and messages. */
export function leaseId({ namespace, name }: Pick<LeaseTrack, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}

/** Reports whether it has no holder. A pod that released it may have finished with it, so that it is reported only. */
export function isReleased({ holder }: LeaseTrack): boolean {
  return holder === "";
}

/** Reports whether this process has itself seen for long enough that the pod could renew a stale Lease and did not: only then it restarts the pod. */
export function isSeenStale(held: LeaseFacts): boolean {
  const { track, isFresh, ableForMs } = held;
  return isFresh && track.standingMs >= MISSED * (track.durationMs ?? Infinity) && ableForMs >= graceMs(held);
}

/** Time until a Lease without a renewal is stale. */
export function untilStaleMs(held: LeaseFacts): number {
  return Math.max(staleLimitMs(held) - held.track.standingMs, graceMs(held) - held.ableForMs);
}

/**
 * How long a pod has to take up its Lease once its containers run and its node answers, however long the Lease stood still before: as long as a pod may
 * let it stand still, and less only where its log shows that it cannot.
 */
function graceMs(held: LeaseFacts): number {
  return held.isConfirmed ? MISSED * (held.track.durationMs ?? Infinity) : staleLimitMs(held);
}

/** How long a Lease stands still before it is stale. */
export function staleLimitMs({ track, forMs }: LeaseFacts): number {
  return Math.max(forMs, MISSED * (track.durationMs ?? 0), MISSED * (track.pauses[0]?.ms ?? 0));
}

/** A Lease that was held for less than this by its own timestamps, in milliseconds, and released, is taken for a lock. */
const LOCK_MS = 3_600_000;

function isLock(track: LeaseTrack): boolean {
  const { renewed = "", acquired = "" } = track;
  return isReleased(track) && !(Date.parse(renewed) - Date.parse(acquired) >= LOCK_MS);
}

/** The operator has seen this very pod renew it several times. Locks are taken once, and released. */
function wasRenewed({ track, pod }: LeaseFacts): boolean {
  const [first] = track.renewalsMs;
  return first !== undefined && track.renewalsMs.length >= RENEWALS_KEPT && first >= pod.createdAtMs;
}

function isUnseen(held: LeaseFacts): boolean {
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

/** A container started, or its life before ended, when the renewals stopped, by the clock of its node or of the operator. The log may show that it failed. */
function isExcused({ track, pod, intervalMs, isConfirmed, startSeenMs }: LeaseFacts): boolean {
  const { changedMs, durationMs = Infinity } = track;
  const isAtStop = (ms = -Infinity): boolean =>
    ms >= changedMs - intervalMs - CLOCK_SKEW_MS && ms <= changedMs + MISSED * durationMs;
  const containers = pod.containers.filter(({ role }) => role !== "init");
  const times = containers.flatMap(({ startedAtMs, lastFinishedAtMs }) => [startedAtMs, lastFinishedAtMs]);
  return !isConfirmed && [startSeenMs, ...times].some(isAtStop);
}

/** Since when pods have been able to renew a Lease: their node answers, and their containers run. Followed from pass to pass. */
export class AbleTimes {
  /**
   * By uid: when a pass first found the pod able, on the monotonic clock (Infinity: not yet; -Infinity: at its first pass), and how often its containers have
   * started.
   */
  #known: ReadonlyMap<string, Pick<LeaseFacts, "startSeenMs"> & { readonly ableMs: number; readonly lives: number }> =
    new Map();

  /** Takes the pods of a pass, and forgets all others. */
  follow(pods: readonly PodView[], clock: Clock): void {
    const nowMs = clock.monotonicMs();
    const before = this.#known;
    this.#known = new Map(
      pods.map(pod => {
        const lives = pod.containers.reduce((sum, { restartCount }) => sum + restartCount, 0);
        const last = before.get(pod.uid) ?? { ableMs: -Infinity, lives, startSeenMs: undefined };
        // The clock of a node may be behind.
        const hasStarted = lives !== last.lives;
        const startSeenMs = hasStarted ? clock.now().getTime() : last.startSeenMs;
        // Not from the last pass that saw it unable: a minute may have passed since.
        const sinceMs = hasStarted ? nowMs : Math.min(last.ableMs, nowMs);
        return [pod.uid, { lives, startSeenMs, ableMs: isRunning(pod) ? sinceMs : Infinity }];
      }),
    );
  }

  /** As {@link LeaseFacts.startSeenMs}. */
  startSeenMs({ uid }: PodView): number | undefined {
    return this.#known.get(uid)?.startSeenMs;
  }

  /** Time for which a pod has been able, as far as is known. The start of a container shows a pause between two passes. */
  ofMs({ uid, containers }: PodView, clock: Clock): number {
    const seenMs = clock.monotonicMs() - (this.#known.get(uid)?.ableMs ?? -Infinity);
    const running = containers.filter(({ role, running: isRunningNow }) => role !== "init" && isRunningNow);
    const startedMs = Math.max(...running.map(({ startedAtMs = -Infinity }) => startedAtMs));
    return Math.max(0, Math.min(seenMs, clock.now().getTime() - startedMs));
  }
}

// Which pod holds a Lease.

/** Longest host name that the kubelet gives a pod. */
const MAX_HOSTNAME = 63;

/**
 * The pods that hold Leases, by their identity: client-go's default is the host name, an underscore and a uuid, and many programs use the name
 * of the pod, some with a suffix (cert-manager, Cilium), which does not count where the names of others, such as `web-0-proxy`, may begin with that of
 * a StatefulSet's pod. There is no holder if several pods of the namespace fit. A pod in the network of its node has the node's name, which is
 * ambiguous: it counts only for a Lease that the spec lists.
 */
export class Holders {
  readonly #byName: ReadonlyMap<string, readonly { readonly pod: PodView }[]>;
  readonly #byNode: ReadonlyMap<string, readonly PodView[]>;

  /** @param all the pods of the namespace, those of the targets included */
  constructor(targets: readonly PodView[], all: readonly PodView[]) {
    const onNodes = targets.filter(({ hostNetwork, nodeName }) => hostNetwork === true && nodeName !== undefined);
    const named = all.flatMap(pod => namesOf(pod).map(name => ({ name, pod })));
    this.#byName = groupBy(named, ({ name }) => name);
    this.#byNode = groupBy(onNodes, ({ nodeName = "" }) => nodeName);
  }

  /** Returns the holder of a Lease, or who released it; undefined if no pod of the namespace is it, or it is unknown which. */
  of({ holder, releasedBy }: Pick<LeaseTrack, "holder" | "releasedBy">, isListed: boolean): PodView | undefined {
    const [host = ""] = (releasedBy ?? holder).split("_", 1);
    const podsOf = (name: string): PodView[] => [
      ...(this.#byName.get(name) ?? []).map(({ pod }) => pod),
      ...((isListed && this.#byNode.get(name)) || []),
    ];
    const exact = podsOf(host);
    const begun = beginningsOf(host).flatMap(podsOf);
    const named = new Set(exact.length > 0 ? exact : begun.filter(({ owner }) => owner?.kind !== "StatefulSet"));
    const [pod] = named;
    return named.size === 1 ? pod : undefined;
  }
}

/** What stands before each hyphen of a name. */
function beginningsOf(name: string): string[] {
  const parts = name.split("-");
  return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join("-"));
}

/** Its name, and its host name. */
function namesOf({ name, hostNetwork }: PodView): string[] {
  return [name, hostNetwork === true ? name : name.slice(0, MAX_HOSTNAME).replace(/[-.]+$/, "")];
}
