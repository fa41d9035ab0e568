import { BREAKER_ANNOTATION } from "../api/names";
import type { ControllerResilience, RestartStatus } from "../api/controller-resilience";
import { type Clock, timeInMessage, toSeconds } from "../core/time";
import type { Deferral, ObjectRef } from "../core/intent";
import { isDoubtful, isOpen, isUnproven, limited, RECHECK_MS, restartId, UNPROVEN_OPEN_MS } from "./history";

// One rule for restarts without proof, over all objects: none while two of the last hour did not help, or may still turn out not to. At
// most one of them is open in the cluster, and two that did not help trip the breaker (docs/adr/0024-stop-unproven-restarts-on-a-bad-day.md).

const HOUR_MS = 3_600_000;

/**
 * No unproven restart for this long after the operator itself was answered 401 or had lost the API server: an API server that refuses or
 * drops the operator may refuse everybody, and controllers with a valid token recover within this time.
 */
const OWN_TROUBLE_MS = 120_000;

/** The state of the breaker. It outlives this process. */
export interface BreakerState {
  /** Why it is tripped, or null if it is not; undefined: unknown. */
  readonly state: string | null | undefined;
  /** Wall-clock time of the last reset. */
  readonly resetMs: number;
  trip(why: string): void;
}

/** What the breaker works with. */
export interface BreakerPorts {
  readonly clock: Clock;
  readonly breaker: BreakerState;
  /** The Lease that holds the state. */
  readonly lease: ObjectRef;
  /** Time since the operator's own last trouble with the API server, in milliseconds; Infinity if there was none. */
  readonly sinceOwnTroubleMs?: (() => number) | undefined;
  /** What is wrong with the operator's clock, or null. */
  readonly clockTrouble?: (() => string | null) | undefined;
  /** Called once when the breaker trips, with sentences for people. */
  readonly onTripped?: (note: string) => void;
}

/** An unproven restart of any object. */
interface UnprovenRestart {
  readonly entry: RestartStatus;
  readonly namespace: string;
  /** Uid of the object that recorded it. */
  readonly object: string;
  /** Never later than the time at which it was first noted. */
  readonly timeMs: number;
}

/** Limits unproven restarts in the whole cluster. Once it is tripped, only a person resets it. */
export class Breaker {
  readonly #ports: BreakerPorts;
  /** By {@link restartId}. A confirmed restart still counts after its object is gone. */
  readonly #restarts = new Map<string, UnprovenRestart>();

  constructor(ports: BreakerPorts) {
    this.#ports = ports;
  }

  /** Starts a term of leadership: another leader may have settled what was open, of objects that are gone now as well. */
  startTerm(): void {
    for (const [id, { entry }] of this.#restarts) if (isOpen(entry)) this.#restarts.delete(id);
  }

  /** Takes the restarts in the status of an object, as read or written, and trips the breaker if they show that it has to be. */
  note({ metadata: { uid, namespace } }: ControllerResilience, history: readonly RestartStatus[]): void {
    const nowMs = this.#nowMs();
    this.#forget(uid, nowMs);
    for (const entry of history.filter(isUnproven)) {
      const [id, stampedMs] = [restartId(entry), Date.parse(entry.time)];
      const timeMs = this.#restarts.get(id)?.timeMs ?? (stampedMs < nowMs ? stampedMs : nowMs);
      if (!(nowMs - stampedMs >= 2 * HOUR_MS)) this.#restarts.set(id, { entry, namespace, object: uid, timeMs });
    }
    if (this.#ports.breaker.state === null) this.#tripIfNeeded();
  }

  #forget(uid: string, nowMs: number): void {
    for (const [id, { object, entry, timeMs }] of this.#restarts) {
      // A request that was not executed leaves status again.
      const isReplaced = object === uid && entry.outcome === "Requested";
      // A clock ahead may have stamped it: it is noted once.
      const latestMs = Math.max(timeMs, Date.parse(entry.time));
      if (isReplaced || nowMs - latestMs >= 2 * HOUR_MS) this.#restarts.delete(id);
    }
  }

  /** Proofs and limits compare times of others with the operator's own. */
  clockOff(): Deferral | undefined {
    return (this.#ports.clockTrouble?.() ?? null) === null ? undefined : limited("OwnTrouble", RECHECK_MS);
  }

  /** The operator's own trouble with the API server may be everybody's. */
  ownTrouble(): Deferral | undefined {
    const sinceMs = this.#ports.sinceOwnTroubleMs?.() ?? Infinity;
    if (sinceMs >= OWN_TROUBLE_MS) return undefined;
    return limited("OwnTrouble", OWN_TROUBLE_MS - sinceMs);
  }

  /** A person must reset it. */
  tripped(): Deferral | undefined {
    const { breaker, lease } = this.#ports;
    return breaker.state === null ? undefined : limited("Breaker", RECHECK_MS, describeTripped(breaker.state, lease));
  }

  /** The outcome of another restart without proof is unknown. */
  otherOpen(): Deferral | undefined {
    const nowMs = this.#nowMs();
    const restarts = [...this.#restarts.values()];
    const open = restarts.find(({ entry, timeMs }) => isOpen(entry) && nowMs - timeMs < UNPROVEN_OPEN_MS);
    if (open === undefined) return undefined;
    const wait = `Waiting for the outcome of a restart without proof: ${describe(open)}`;
    return limited("UnprovenRestart", RECHECK_MS, `${wait}; at most one is open in the cluster.`);
  }

  /** Two of the last hour did not help, or may still turn out not to, so that a third one could be in vain, too. */
  tooMuchDoubt(): Deferral | undefined {
    const endOf = ({ timeMs }: UnprovenRestart): number => timeMs + HOUR_MS;
    const doubtful = this.#sinceReset().filter(({ entry }) => isDoubtful(entry));
    const [last, next] = [...this.#inVain(), ...doubtful]
      .filter(one => endOf(one) > this.#nowMs())
      .toSorted((a, b) => endOf(b) - endOf(a));
    if (last === undefined || next === undefined) return undefined;
    return limited("UnprovenRestart", RECHECK_MS, describeDoubt([next, last], endOf(next)));
  }

  /** Trips the breaker once two restarts within an hour of each other did not help, the later of them in the last hour. */
  #tripIfNeeded(): void {
    const { breaker, clock, lease, onTripped } = this.#ports;
    const [last, previous] = this.#inVain();
    const nowMs = this.#nowMs();
    if (last === undefined || previous === undefined) return;
    if (nowMs - last.timeMs >= HOUR_MS || last.timeMs - previous.timeMs >= HOUR_MS) return;
    const pods = [previous, last].map(describe).join(" and ");
    const text = `${toSeconds(clock.now())} two restarts without proof within an hour did not help: ${pods}`;
    breaker.trip(text);
    onTripped?.(describeTripped(text, lease));
  }

  /** Restarts since the last reset that did not help, the latest first. */
  #inVain(): UnprovenRestart[] {
    const nowMs = this.#nowMs();
    return this.#sinceReset()
      .filter(
        ({ entry, timeMs }) => entry.outcome === "Ineffective" || (isOpen(entry) && nowMs - timeMs >= UNPROVEN_OPEN_MS),
      )
      .toSorted((a, b) => b.timeMs - a.timeMs);
  }

  #sinceReset(): UnprovenRestart[] {
    return [...this.#restarts.values()].filter(({ timeMs }) => timeMs >= this.#ports.breaker.resetMs);
  }

  #nowMs(): number {
    return this.#ports.clock.now().getTime();
  }
}

function describe({ namespace, entry }: UnprovenRestart): string {
  return `pod ${namespace}/${entry.pod} of ${entry.workload}`;
}

function describeDoubt(restarts: readonly UnprovenRestart[], untilMs: number): string {
  const pods = restarts.map(describe).join(" and ");
  return `Waiting until ${timeInMessage(untilMs)} at the earliest: two restarts without proof did not help, or may still turn out not to: ${pods}.`;
}

/** Longest part of the annotation in a message. A person may have written it. */
const MAX_WHY = 300;

function describeTripped(why: string | undefined, { namespace = "", name }: ObjectRef): string {
  const rest = "no pod is restarted without proof until";
  if (why === undefined) return `Restart breaker unknown: the Lease was not read yet; ${rest} it is.`;
  const shown = why.replaceAll(/\p{Cc}+/gu, " ").slice(0, MAX_WHY) || "no reason given";
  const command = `kubectl annotate lease -n ${namespace} ${name} ${BREAKER_ANNOTATION}-`;
  return `Restart breaker tripped: ${shown}; ${rest} a person resets it; find out why they did not help, then run: ${command}`;
}
