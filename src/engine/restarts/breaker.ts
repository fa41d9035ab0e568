import { Cause } from "../../api/conditions";
import { BREAKER_ANNOTATION } from "../../api/names";
import type { Clock } from "../../core/clock";
import type { ControllerResilience, RestartStatus } from "../../api/controller-resilience";
import type { ObjectRef, Outcome, RestartClaim, UnprovenRejections } from "../../core/intent";
import { isOpen } from "../../core/restarts/budget";
import { restartId } from "../../core/restarts/history";
import { isUnproven } from "../../core/restarts/unproven";
import { toSeconds } from "../../core/time";
import { KEPT_MS, UnprovenRestarts, type UnprovenRestart } from "./unproven-restarts";

/** Settings of the breaker and the canary; docs/settings.md describes them. */
export interface BreakerSettings {
  /** Unproven restarts in any hour, over all objects; those of one workload that helped count as one. */
  readonly restartsPerHour: number;
  /** More workloads than this, and than {@link LARGE_PERCENT} of the watched ones, with unproven rejections at once trip the breaker, */
  readonly workloads: number;
  /** and so does more than this share of the watched workloads, in percent. */
  readonly percent: number;
  readonly canary: boolean;
}

export const DEFAULT_BREAKER: BreakerSettings = { restartsPerHour: 20, workloads: 10, percent: 50, canary: true };

/** Fewer workloads are no share worth tripping for: in a small cluster one bad program is a third of them. */
const LEAST_FOR_PERCENT = 5;

/** In a large cluster more workloads than `workloads` may be rejected at once for independent causes: up to this share, in percent. */
const LARGE_PERCENT = 2;

/**
 * A canary without an outcome delays others for this long. Most restarts settle within ten minutes, but a rollout may take two hours, and no
 * outcome comes after the object is deleted or suspended.
 */
const CANARY_MS = 1_800_000;

/**
 * No unproven restart for this long after the operator itself was answered 401 or had lost the API server: an API server that refuses or
 * drops the operator may refuse everybody, and controllers with a valid token recover within this time.
 */
const OWN_TROUBLE_MS = 120_000;

/** Time until a deferred restart is tried again, in milliseconds. */
const RECHECK_MS = 10_000;

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
  readonly sinceOwnTroubleMs?: () => number;
  /** Called once when the breaker trips, with sentences for people. */
  readonly onTripped?: (note: string) => void;
}

type Deferral = Extract<Outcome, { result: "Limited" }>;

/**
 * Stops unproven restarts in the whole cluster when they are too many, or when the rejections look like trouble of the API servers
 * (docs/adr/0024-stop-unproven-restarts-on-a-bad-day.md). Once tripped, only a person resets it.
 */
export class Breaker {
  readonly #ports: BreakerPorts;
  readonly #settings: BreakerSettings;
  readonly #restarts: UnprovenRestarts;

  constructor(ports: BreakerPorts, settings: Partial<BreakerSettings> = {}) {
    this.#ports = ports;
    this.#settings = { ...DEFAULT_BREAKER, ...settings };
    this.#restarts = new UnprovenRestarts(ports.clock);
  }

  /** Replaces the history of an object. */
  note(object: ControllerResilience, history: readonly RestartStatus[]): void {
    this.#restarts.note(object, history);
  }

  /** Defers an unproven restart while the API server may be the cause of the rejections. */
  ownTrouble(claim: RestartClaim): Deferral | undefined {
    const sinceMs = this.#ports.sinceOwnTroubleMs?.() ?? Infinity;
    if (!isUnproven(claim) || sinceMs >= OWN_TROUBLE_MS) return undefined;
    return { result: "Limited", limit: "OwnTrouble", retryAfterMs: OWN_TROUBLE_MS - sinceMs };
  }

  /**
   * Defers an unproven restart while the breaker is tripped. Trips it if this restart must not happen.
   *
   * @param beforeTrip may throw, in a pass on caches: only live reads trip the breaker
   */
  tripped(claim: RestartClaim, beforeTrip: () => void): Deferral | undefined {
    if (!isUnproven(claim)) return undefined;
    if (this.#ports.breaker.state === null) this.#tripIfNeeded(claim, beforeTrip);
    const { state } = this.#ports.breaker;
    return state === null ? undefined : limited("Breaker", describeTripped(state, this.#ports.lease));
  }

  /** Defers an unproven restart while another one shows whether restarts help. */
  canaryOpen(claim: RestartClaim): Deferral | undefined {
    if (!isUnproven(claim) || !this.#settings.canary) return undefined;
    const open = this.#restarts.since(-Infinity).filter(({ entry }) => isOpen(entry));
    // A new leader may not have seen when the first of the rejections began, but its restart has the cause.
    const isTogether = isShared(claim) || open.some(({ entry }) => isShared(entry));
    const canary = open.find(({ timeMs }) => this.#nowMs() - timeMs <= CANARY_MS);
    return canary && isTogether ? limited("Canary", describeCanary(canary)) : undefined;
  }

  #tripIfNeeded(claim: RestartClaim, beforeTrip: () => void): void {
    const why = this.#tooMany() ?? this.#tooWide(claim) ?? this.#failedCanary(claim);
    if (why === undefined) return;
    beforeTrip();
    const { breaker, clock, lease, onTripped } = this.#ports;
    const text = `${toSeconds(clock.now())} ${why}`;
    breaker.trip(text);
    onTripped?.(describeTripped(text, lease));
  }

  #tooMany(): string | undefined {
    const { restartsPerHour } = this.#settings;
    const { size } = new Set(this.#restarts.since(this.#ports.breaker.resetMs).map(countedAs));
    if (size < restartsPerHour) return undefined;
    return `${size} restarts without proof within an hour (limit: ${restartsPerHour})`;
  }

  /** After a reset the workloads do not count for an hour: a person has decided that restarts can help. */
  #tooWide({ cause, rejections }: RestartClaim): string | undefined {
    if (rejections === undefined || this.#nowMs() - this.#ports.breaker.resetMs < KEPT_MS) return undefined;
    const { workloads, watched } = rejections;
    const isShare = workloads >= LEAST_FOR_PERCENT && workloads * 100 > this.#settings.percent * watched;
    const limit = Math.max(this.#settings.workloads, (watched * LARGE_PERCENT) / 100);
    if (workloads <= limit && !isShare) return undefined;
    const what = cause === Cause.LeaseNotRenewed ? "no longer renew their Leases" : "get 401 responses";
    return `${workloads} of ${watched} workloads ${what} at once`;
  }

  /** Neither restart says anything about a shared cause if both workloads were rejected alone. */
  #failedCanary({ cause, rejections }: RestartClaim): string | undefined {
    const sinceMs = (cause === Cause.RejectedTogether ? rejections?.togetherSinceMs : undefined) ?? Infinity;
    if (!this.#settings.canary) return undefined;
    const failed = this.#restarts
      .since(this.#ports.breaker.resetMs)
      .filter(({ entry, timeMs }) => timeMs >= sinceMs || isShared(entry))
      .find(({ entry }) => entry.outcome === "Ineffective");
    return failed && `several ServiceAccounts are rejected, and restarting ${describe(failed)} did not help`;
  }

  #nowMs(): number {
    return this.#ports.clock.now().getTime();
  }
}

/** Restarts of one workload that helped are one incident (docs/adr/0005-count-restarts-by-incident.md). */
function countedAs({ namespace, entry }: UnprovenRestart): string {
  return entry.outcome === "Recovered" ? `${namespace}/${entry.workload}` : restartId(entry);
}

/** Reports whether rejections of several ServiceAccounts began together, as far as a claim or a recorded restart tells. */
function isShared({ cause, rejections }: { cause: string; rejections?: UnprovenRejections }): boolean {
  return cause === Cause.RejectedTogether || rejections?.togetherSinceMs !== undefined;
}

function limited(limit: "Breaker" | "Canary", detail: string): Deferral {
  return { result: "Limited", limit, retryAfterMs: RECHECK_MS, detail };
}

function describe({ namespace, entry }: UnprovenRestart): string {
  return `pod ${namespace}/${entry.pod} of ${entry.workload}`;
}

function describeCanary(canary: UnprovenRestart): string {
  return `Waiting: ${describe(canary)} was restarted first; the next pod follows once its successor is accepted.`;
}

/** Longest part of the annotation in a message. A person may have written it. */
const MAX_WHY = 300;

function describeTripped(why: string | undefined, { namespace = "", name }: ObjectRef): string {
  const rest = "no pod is restarted on log evidence alone until";
  if (why === undefined) return `Restart breaker unknown: the Lease was not read yet; ${rest} it is.`;
  const shown = why.replaceAll(/\p{Cc}+/gu, " ").slice(0, MAX_WHY) || "no reason given";
  const command = `kubectl annotate lease -n ${namespace} ${name} ${BREAKER_ANNOTATION}-`;
  return `Restart breaker tripped: ${shown}; ${rest} a person resets it; find the cause of the 401 responses, then run: ${command}`;
}
