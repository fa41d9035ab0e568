import type { ControllerResilience, RestartStatus } from "../../api/controller-resilience";
import type { Clock } from "../../core/clock";
import { restartId } from "../../core/restarts/history";
import { isUnproven } from "../../core/restarts/unproven";

/** Restarts are kept for this long, in milliseconds. */
export const KEPT_MS = 3_600_000;

/** An unproven restart of any object. */
export interface UnprovenRestart {
  readonly entry: RestartStatus;
  /** Of the object that recorded it. */
  readonly namespace: string;
  /** Never later than the time at which it was noted. */
  readonly timeMs: number;
}

interface Noted extends UnprovenRestart {
  readonly object: string;
}

/**
 * The unproven restarts of the last hour in the status of all objects. A confirmed one still counts after its object is gone, and after a
 * new generation has dropped it from status.
 */
export class UnprovenRestarts {
  readonly #clock: Clock;
  readonly #byId = new Map<string, Noted>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Replaces the history of an object. */
  note({ metadata: { uid, namespace } }: ControllerResilience, history: readonly RestartStatus[]): void {
    // A request that was not executed leaves status again.
    for (const [id, { object, entry }] of this.#byId)
      if (object === uid && entry.outcome === "Requested") this.#byId.delete(id);
    const nowMs = this.#clock.now().getTime();
    for (const entry of history.filter(isUnproven)) {
      const timeMs = Date.parse(entry.time);
      const restart = { entry, namespace, object: uid, timeMs: timeMs < nowMs ? timeMs : nowMs };
      if (nowMs - restart.timeMs < KEPT_MS) this.#byId.set(restartId(entry), restart);
    }
  }

  /** The restarts of the last hour since a wall-clock time. */
  since(sinceMs: number): UnprovenRestart[] {
    const fromMs = this.#clock.now().getTime() - KEPT_MS;
    for (const [id, { timeMs }] of this.#byId) if (timeMs <= fromMs) this.#byId.delete(id);
    return [...this.#byId.values()].filter(({ timeMs }) => timeMs >= sinceMs);
  }
}
