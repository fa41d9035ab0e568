import type { ControllerResilience, RestartStatus } from "../../api/controller-resilience";
import type { Clock } from "../../core/clock";
import { RESTARTS_COUNTED_MS } from "../../core/restarts/history";

/** Maximum number of entries. The objects seen longest ago are dropped first: these are gone. */
const MAX_ENTRIES = 20_000;

/** Interval of dropping entries that are too old to count. */
const SWEEP_INTERVAL_MS = 3_600_000;

interface ObjectRestarts {
  readonly namespace: string;
  readonly entries: readonly RestartStatus[];
}

/**
 * The restarts in the status of all objects that this process has read. A budget belongs to the workload, not to the object that names it: two
 * objects with one target share it, and an object that is deleted and created again does not reset it
 * (docs/adr/0010-budget-restarts-per-workload.md).
 */
export class WorkloadRestarts {
  readonly #clock: Clock;
  /** By uid of the object; the latest is last. */
  readonly #byObject = new Map<string, ObjectRestarts>();
  #entries = 0;
  #sweptAtMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sweptAtMs = clock.monotonicMs();
  }

  /** Replaces the history of an object. The last history outlives the object; entries too old to count are dropped. */
  note(object: ControllerResilience, history: readonly RestartStatus[]): void {
    const { uid, namespace } = object.metadata;
    this.#remove(uid);
    const entries = history.filter(entry => this.#counts(entry));
    if (entries.length > 0) {
      this.#byObject.set(uid, { namespace, entries });
      this.#entries += entries.length;
    }
    this.#sweep();
    for (const oldest of this.#byObject.keys()) {
      if (this.#entries <= MAX_ENTRIES) break;
      this.#remove(oldest);
    }
  }

  /** Restarts of a workload in the object's namespace that other objects have recorded, including objects that are gone. */
  recordedByOthers(object: ControllerResilience, workload: string): RestartStatus[] {
    const { uid, namespace } = object.metadata;
    return [...this.#byObject]
      .filter(([other, entry]) => other !== uid && entry.namespace === namespace)
      .flatMap(([, { entries }]) => entries.filter(entry => entry.workload === workload));
  }

  #remove(uid: string): void {
    this.#entries -= this.#byObject.get(uid)?.entries.length ?? 0;
    this.#byObject.delete(uid);
  }

  #sweep(): void {
    if (this.#clock.monotonicMs() - this.#sweptAtMs < SWEEP_INTERVAL_MS) return;
    this.#sweptAtMs = this.#clock.monotonicMs();
    for (const [uid, { entries }] of this.#byObject) if (!entries.some(entry => this.#counts(entry))) this.#remove(uid);
  }

  /** An unreadable time is never too old. */
  #counts({ time }: RestartStatus): boolean {
    return !(this.#clock.now().getTime() - Date.parse(time) > RESTARTS_COUNTED_MS);
  }
}
