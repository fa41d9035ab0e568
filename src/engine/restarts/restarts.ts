import type { ControllerResilience } from "../../api/controller-resilience";
import type { Clock } from "../../core/clock";
import type { Mode } from "../../core/mode";
import type { Key } from "../../core/ports";
import { joinRestarts, type SettledRestarts } from "../../core/restarts/history";
import type { ObjectSession } from "../object/object-session";
import { Breaker, type BreakerPorts, type BreakerState } from "./breaker";
import { LeaderWarmup } from "./leader-warmup";
import { ObjectRestarts } from "./object-restarts";
import { RefusedRequests } from "./refused-requests";
import { DEFAULT_RESTART_INTERVAL_MS, RestartPacer } from "./restart-pacer";
import { Rollouts } from "./rollouts";
import { WorkloadRestarts } from "./workload-restarts";

export type { BreakerState, ObjectRestarts, SettledRestarts };

/** What the restarts need from the engine. */
export interface RestartsPorts extends BreakerPorts {
  /** Enqueues a pass of an object. */
  readonly requestPass: (key: Key) => void;
}

/** All restarts of this process. The rest of the engine imports only this file of the folder, so every restart passes the same checks. */
export class Restarts {
  readonly #clock: Clock;
  readonly #warmup: LeaderWarmup;
  readonly #workloads: WorkloadRestarts;
  readonly #breaker: Breaker;
  readonly #pacer: RestartPacer;
  readonly #rollouts: Rollouts;
  readonly #refused = new RefusedRequests();

  /** `intervalMs` is the minimum time between two restarts. */
  constructor(ports: RestartsPorts, intervalMs = DEFAULT_RESTART_INTERVAL_MS) {
    const { clock, requestPass } = ports;
    this.#clock = clock;
    this.#warmup = new LeaderWarmup(requestPass);
    this.#workloads = new WorkloadRestarts(clock);
    this.#breaker = new Breaker(ports);
    this.#pacer = new RestartPacer(clock, intervalMs);
    this.#rollouts = new Rollouts(clock);
  }

  /** Starts a term of leadership: the history of every object has to be loaded again. */
  startTerm(): void {
    this.#pacer.startTerm();
    this.#warmup.startTerm();
  }

  /** Sets the objects whose history has to be loaded. Only the first list of a term counts. */
  expect(keys: readonly Key[]): void {
    this.#warmup.expect(keys);
  }

  /**
   * Loads the history in the status of an object that was read. Null: the object is gone; its last history still counts.
   *
   * @param mode absent: that of its spec
   */
  load(key: Key, object: ControllerResilience | null, mode?: Mode): void {
    const restarts = this.#refused.without(object?.status?.restarts ?? []);
    if (object !== null) {
      this.#workloads.note(object, restarts);
      this.#breaker.note(object, restarts);
    }
    this.#rollouts.note(key, object, mode);
    for (const { time } of restarts) this.#pacer.seed(new Date(time));
    this.#warmup.loaded(key);
  }

  /**
   * Takes note of a status that a pass has written: without that, other objects would wait for a restart or a rollout that has ended until
   * the next full pass.
   *
   * @param mode as in {@link load}
   */
  reported(key: Key, object: ControllerResilience, mode?: Mode): void {
    this.#breaker.note(object, object.status?.restarts ?? []);
    this.#rollouts.note(key, object, mode);
  }

  /** Begins the restarts of one object in one pass. `settled` has the outcomes that remedies have settled in this pass. */
  settle(session: ObjectSession, settled: readonly SettledRestarts[] = []): ObjectRestarts {
    const history = this.#refused.without(joinRestarts(session.object.status?.restarts ?? [], settled));
    return new ObjectRestarts(session, history, {
      clock: this.#clock,
      warmup: this.#warmup,
      workloads: this.#workloads,
      breaker: this.#breaker,
      pacer: this.#pacer,
      rollouts: this.#rollouts,
      refused: this.#refused,
    });
  }
}
