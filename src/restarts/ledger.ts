import type { ControllerResilience, RestartStatus, ControllerResilienceStatus } from "../api/controller-resilience";
import type { Cause } from "../api/conditions";
import { TooLargeError } from "../core/errors";
import { type Check, firstMatch } from "../core/checks";
import type { Clock } from "../core/time";
import type { Mode } from "../core/remedy";
import type { Key } from "../core/ports";
import {
  joinRestarts,
  type SettledRestarts,
  countConfirmed,
  restartId,
  requestedRestart,
  pruneRestarts,
  settleOpenRestarts,
  isUnproven,
  limited,
  RECHECK_MS,
  PROVEN_BY_POD,
} from "./history";
import { Breaker, type BreakerPorts, type BreakerState } from "./breaker";
import { LeaderWarmup, Rollouts } from "./rollouts";
import type { Deferral, RestartClaim, RolloutClaim } from "../core/intent";
import { boundStatus } from "../core/status";

export type { BreakerState, SettledRestarts };

/** What the restarts need from the engine. */
export interface RestartsPorts extends BreakerPorts {
  /** Enqueues a pass of an object. */
  readonly requestPass: (key: Key) => void;
}

/** The object of a pass, with the status that records its restarts. */
export interface RecordingObject {
  /** As last read or written. */
  readonly object: ControllerResilience;
  /** Before this pass wrote any. */
  readonly statusRead: ControllerResilienceStatus;
  /** @throws the store's errors; then nothing was written */
  writeStatus(status: ControllerResilienceStatus): Promise<void>;
}

/** Objects whose restarts are remembered after they are gone, the latest read last. */
const MAX_REMEMBERED = 2_000;

/** Default time between two restarts, in milliseconds. */
const DEFAULT_RESTART_INTERVAL_MS = 10_000;

/** All restarts of this process. The engine imports only this file of the folder, so every restart passes the same checks. */
export class Restarts {
  readonly #shared: SharedParts;
  /** The restarts that an object had when it was read last. */
  readonly #last = new Map<Key, { readonly uid: string; readonly restarts: readonly RestartStatus[] }>();

  /** `intervalMs` is the minimum time between two restarts. */
  constructor(ports: RestartsPorts, intervalMs = DEFAULT_RESTART_INTERVAL_MS) {
    const { clock, requestPass } = ports;
    this.#shared = {
      clock,
      warmup: new LeaderWarmup(requestPass),
      breaker: new Breaker(ports),
      pacer: new RestartPacer(clock, intervalMs),
      rollouts: new Rollouts(clock),
      refused: new Set(),
    };
  }

  /** Starts a term of leadership: the history of every object has to be loaded again. */
  startTerm(): void {
    this.#shared.pacer.startTerm();
    this.#shared.warmup.startTerm();
    this.#shared.breaker.startTerm();
    this.#shared.rollouts.startTerm();
  }

  /** Sets the objects whose history has to be loaded. Only the first list of a term counts. */
  expect(keys: readonly Key[]): void {
    this.#shared.warmup.expect(keys);
  }

  /**
   * Loads the restarts in the status of an object that was read or written. Returns the object, with the restarts of its predecessor of the same name if
   * it has none: an object that is deleted and created again, as by `kubectl replace --force`, does not get a new budget.
   *
   * @param mode absent: that of its spec
   */
  load(key: Key, read: ControllerResilience, mode?: Mode): ControllerResilience {
    const object = this.#inheriting(key, read);
    const restarts = withoutRefused(object.status?.restarts ?? [], this.#shared);
    this.#shared.breaker.note(object, restarts);
    this.#shared.rollouts.note(key, object, mode);
    this.#shared.warmup.loaded(key);
    return object;
  }

  /** The object does not exist any more. Its restarts still count for the breaker, and for a successor of the same name. */
  gone(key: Key): void {
    this.#shared.rollouts.note(key, null);
    this.#shared.warmup.loaded(key);
  }

  /** The object could not be read. A new leader does not wait for one that is too large, since nobody can read it; what is known of it stays. */
  unread(key: Key, error: unknown): void {
    if (error instanceof TooLargeError) this.#shared.warmup.loaded(key);
  }

  #inheriting(key: Key, object: ControllerResilience): ControllerResilience {
    const { restarts: own = [] } = object.status ?? {};
    const known = this.#last.get(key);
    const isNew = known !== undefined && known.uid !== object.metadata.uid && own.length === 0;
    if (isNew) return { ...object, status: { ...object.status, restarts: [...known.restarts] } };
    this.#remember(key, object);
    return object;
  }

  #remember(key: Key, { metadata: { uid }, status }: ControllerResilience): void {
    const { restarts = [] } = status ?? {};
    this.#last.delete(key);
    if (restarts.length > 0) this.#last.set(key, { uid, restarts });
    const [oldest] = this.#last.keys();
    if (oldest !== undefined && this.#last.size > MAX_REMEMBERED) this.#last.delete(oldest);
  }

  /**
   * Begins the restarts of one object in one pass. `settled` has the outcomes that remedies have settled in this pass. No remedy is left to settle
   * those of `endedCauses`.
   */
  settle(session: RecordingObject, settled: readonly SettledRestarts[] = [], endedCauses: readonly Cause[] = []) {
    const ended = { causes: endedCauses, workloads: new Map(), outcomeOf: ({ outcome }: RestartStatus) => outcome };
    const known = session.object.status?.restarts ?? [];
    const before = settleOpenRestarts(known, ended, this.#shared.clock.now().getTime());
    const history = withoutRefused(joinRestarts(before, settled), this.#shared);
    return new ObjectRestarts(session, history, this.#shared);
  }
}

/** Most refused requests that are remembered, the oldest dropped first: status forgets them with its next write. */
const MOST_REFUSED = 1_000;

/** What all objects share. */
interface SharedParts {
  readonly clock: Clock;
  readonly warmup: LeaderWarmup;
  readonly breaker: Breaker;
  readonly pacer: RestartPacer;
  readonly rollouts: Rollouts;
  /**
   * Ids of requested restarts that the API server has refused. Status has them until its next write. If that fails, the next pass reads them again, and
   * could not tell a refused eviction of a pod that is gone from one that was carried out.
   */
  readonly refused: Set<string>;
}

function withoutRefused(history: readonly RestartStatus[], { refused }: SharedParts): readonly RestartStatus[] {
  return history.filter(entry => !refused.has(restartId(entry)));
}

/** How the write of a requested restart ended. */
export type RestartEnd =
  /** The API server accepted it. */
  | "Executed"
  /** The API server refused it, so it costs no budget. */
  | "Refused"
  /** No answer says whether it was executed. The entry stays Requested until the remedy settles it. */
  | "Unknown"
  /** It was not written, since this process no longer leads. The entry stays Requested, and the next leader settles it. */
  | "NotWritten";

/** A restart that is in status and may be written now. */
export interface RestartRequest {
  readonly result: "Requested";
  /** Ends the request. Call it exactly once: no other restart is permitted before. */
  readonly end: (end: RestartEnd) => void;
}

/** The restarts of one object during one pass. A restart is in status before it is requested from the API server. */
export class ObjectRestarts {
  #own: readonly RestartStatus[];
  /** The workloads of the restarts that this pass has requested: a plan knows only those of status. */
  readonly #requested = new Set<string>();
  readonly #session: RecordingObject;
  readonly #shared: SharedParts;

  /** `own` is status.restarts after the remedies have settled their outcomes in this pass. */
  constructor(session: RecordingObject, own: readonly RestartStatus[], shared: SharedParts) {
    this.#session = session;
    this.#own = own;
    this.#shared = shared;
  }

  /**
   * Returns what defers a restart that the limits of its workload allow, in this order: the other plan of this pass, a clock that is off, then
   * {@link WITHOUT_PROOF}.
   */
  deferral(claim: RestartClaim): Deferral | undefined {
    if (this.#requested.has(claim.workload)) return limited("SamePass", RECHECK_MS);
    const off = this.#shared.breaker.clockOff();
    return off ?? (isUnproven(claim) ? firstMatch(Object.values(WITHOUT_PROOF), this.#shared) : undefined);
  }

  /** Returns for how long the restart pacer defers a restart. It is asked last, since it has one permit for all objects. */
  pace(claim: RestartClaim): Deferral | undefined {
    const waitMs = this.#shared.pacer.waitMs({ isProven: PROVEN_BY_POD.has(claim.cause) });
    return waitMs > 0 ? limited("RestartPacer", waitMs) : undefined;
  }

  /**
   * Makes all checks and writes the restart to status as Requested, so that a crash in between cannot lose it.
   *
   * @throws the store's errors; then nothing was recorded and nothing may be restarted
   */
  async request(claim: RestartClaim): Promise<RestartRequest | Deferral> {
    // What this very pass has found to be in vain counts, too.
    this.#shared.breaker.note(this.#session.object, this.#own);
    const deferral = this.deferral(claim) ?? this.pace(claim);
    if (deferral !== undefined) return deferral;
    this.#shared.pacer.take();
    const now = this.#shared.clock.now();
    const requested = requestedRestart(claim, now);
    const restarts = pruneRestarts([...this.#own, requested], now);
    try {
      await this.#session.writeStatus(boundStatus({ ...this.#session.object.status, restarts }));
    } catch (error) {
      this.#shared.pacer.giveBack(false);
      throw error;
    }
    this.#become(restarts);
    this.#requested.add(claim.workload);
    return { result: "Requested", end: end => this.#end(requested, end) };
  }

  /** Returns what defers the rollout of a changed template, or the end of its trial: by a clock that is off, logs seem quiet. */
  rolloutDeferral(claim: RolloutClaim): Deferral | undefined {
    const { breaker, rollouts, warmup } = this.#shared;
    return breaker.clockOff() ?? breaker.ownTrouble() ?? rollouts.deferral(this.#session.object, claim, warmup);
  }

  /** The template is being written. @returns takes that back, if it certainly was not */
  rolloutBegun(claim: RolloutClaim): () => void {
    return this.#shared.rollouts.begun(this.#session.object, claim);
  }

  /** The fields of status that record the restarts. */
  status(): Pick<ControllerResilienceStatus, "restarts" | "restartsTotal"> {
    const { restarts, restartsTotal = 0 } = this.#session.statusRead;
    return {
      ...(this.#own.length > 0 || restarts ? { restarts: pruneRestarts(this.#own, this.#shared.clock.now()) } : {}),
      restartsTotal: restartsTotal + countConfirmed(restarts ?? [], this.#own),
    };
  }

  #end(requested: RestartStatus, end: RestartEnd): void {
    this.#shared.pacer.giveBack(end === "Executed" || end === "Unknown");
    const executed: RestartStatus = { ...requested, outcome: "Restarted" };
    if (end === "Executed") this.#become(this.#own.map(entry => (entry === requested ? executed : entry)));
    if (end !== "Refused") return;
    const { refused } = this.#shared;
    refused.add(restartId(requested));
    const [oldest = ""] = refused;
    if (refused.size > MOST_REFUSED) refused.delete(oldest);
    this.#become(this.#own.filter(entry => entry !== requested));
  }

  #become(own: readonly RestartStatus[]): void {
    this.#own = own;
    this.#shared.breaker.note(this.#session.object, own);
  }
}

/** Time until a restart that waits for the leader warm-up is tried again, in milliseconds. */
const WARMUP_RECHECK_MS = 2_000;

/** What holds a restart without proof back in the whole cluster, in this order. A new leader first has to know the restarts of every object. */
export const WITHOUT_PROOF: Readonly<Record<string, Check<Pick<SharedParts, "warmup" | "breaker">, Deferral>>> = {
  leaderWarmup: ({ warmup }) => (warmup.isComplete() ? undefined : limited("LeaderWarmup", WARMUP_RECHECK_MS)),
  ownTrouble: ({ breaker }) => breaker.ownTrouble(),
  breakerTripped: ({ breaker }) => breaker.tripped(),
  anotherOpen: ({ breaker }) => breaker.otherOpen(),
  twoInDoubt: ({ breaker }) => breaker.tooMuchDoubt(),
};

/** A pod whose token is proven to be dead waits for this share of the interval: it does no work, and many of them die at once. */
const PROVEN_SHARE = 1 / 5;

/**
 * The last protection against a mass restart: all restarts of the operator are an interval apart, with a burst of 1, or a part of it where the
 * next pod is proven to be dead.
 *
 * One permit is out at a time, and the interval starts when it is returned as used. So the interval lies between two restarts from start to start
 * and from end to start, however long a write takes.
 */
export class RestartPacer {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  /** Of the last restart, or of what counts as one. */
  #lastMs: number;
  #permitOut = false;

  /** Starts with an empty bucket, see `startTerm`. */
  constructor(clock: Clock, intervalMs = DEFAULT_RESTART_INTERVAL_MS) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#lastMs = clock.monotonicMs();
  }

  /**
   * Empties the bucket at the start of a term: the previous leader may have restarted a pod in its last moment. After one interval it no longer
   * matters.
   */
  startTerm(): void {
    this.#lastMs = this.#clock.monotonicMs();
  }

  /** Returns the time until the permit to restart a pod once may be free, in milliseconds; 0: it is. */
  waitMs({ isProven = false } = {}): number {
    const intervalMs = this.#intervalMs * (isProven ? PROVEN_SHARE : 1);
    const waitMs = this.#lastMs + intervalMs - this.#clock.monotonicMs();
    return this.#permitOut ? Math.max(waitMs, intervalMs) : Math.max(waitMs, 0);
  }

  /** Takes the permit, which is free. */
  take(): void {
    this.#permitOut = true;
  }

  /** Returns the permit. If the restart was executed, or may have been, the interval starts now. Otherwise it is as if none had been taken. */
  giveBack(wasUsed: boolean): void {
    this.#permitOut = false;
    if (wasUsed) this.#lastMs = this.#clock.monotonicMs();
  }
}
