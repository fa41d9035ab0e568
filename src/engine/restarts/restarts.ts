import type { ControllerResilience, RestartStatus } from "../../api/controller-resilience";
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

export type { BreakerState, ObjectRestarts, SettledRestarts };

/** What the restarts need from the engine. */
export interface RestartsPorts extends BreakerPorts {
  /** Enqueues a pass of an object. */
  readonly requestPass: (key: Key) => void;
}

/** Objects whose restarts are remembered after they are gone, the latest read last. */
const MAX_REMEMBERED = 2_000;

/** All restarts of this process. The rest of the engine imports only this file of the folder, so every restart passes the same checks. */
export class Restarts {
  readonly #clock: Clock;
  readonly #warmup: LeaderWarmup;
  readonly #breaker: Breaker;
  readonly #pacer: RestartPacer;
  readonly #rollouts: Rollouts;
  readonly #refused = new RefusedRequests();
  /** The restarts that an object had when it was read last. */
  readonly #last = new Map<Key, { readonly uid: string; readonly restarts: readonly RestartStatus[] }>();

  /** `intervalMs` is the minimum time between two restarts. */
  constructor(ports: RestartsPorts, intervalMs = DEFAULT_RESTART_INTERVAL_MS) {
    const { clock, requestPass } = ports;
    this.#clock = clock;
    this.#warmup = new LeaderWarmup(requestPass);
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
   * Loads the restarts in the status of an object that was read. Returns the object, with the restarts of its predecessor of the same name if
   * it has none: an object that is deleted and created again, as by `kubectl replace --force`, does not get a new budget.
   *
   * @param mode absent: that of its spec
   */
  load(key: Key, read: ControllerResilience, mode?: Mode): ControllerResilience {
    const object = this.#inheriting(key, read);
    const restarts = this.#refused.without(object.status?.restarts ?? []);
    this.#breaker.note(object, restarts);
    this.#rollouts.note(key, object, mode);
    for (const { time } of restarts) this.#pacer.seed(new Date(time));
    this.#warmup.loaded(key);
    return object;
  }

  /** The object does not exist any more. Its restarts still count for the breaker, and for a successor of the same name. */
  gone(key: Key): void {
    this.#rollouts.note(key, null);
    this.#warmup.loaded(key);
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
   * Takes note of a status that a pass has written: without that, other objects would wait for a restart or a rollout that has ended until
   * the next full pass.
   *
   * @param mode as in {@link load}
   */
  reported(key: Key, object: ControllerResilience, mode?: Mode): void {
    this.#remember(key, object);
    this.#breaker.note(object, object.status?.restarts ?? []);
    this.#rollouts.note(key, object, mode);
  }

  /** Begins the restarts of one object in one pass. `settled` has the outcomes that remedies have settled in this pass. */
  settle(session: ObjectSession, settled: readonly SettledRestarts[] = []): ObjectRestarts {
    const history = this.#refused.without(joinRestarts(session.object.status?.restarts ?? [], settled));
    return new ObjectRestarts(session, history, {
      clock: this.#clock,
      warmup: this.#warmup,
      breaker: this.#breaker,
      pacer: this.#pacer,
      rollouts: this.#rollouts,
      refused: this.#refused,
    });
  }
}
