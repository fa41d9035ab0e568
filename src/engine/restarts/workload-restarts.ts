import type { ControllerResilience, RestartStatus } from "../../api/controller-resilience";
import type { Clock } from "../../core/clock";
import { RESTARTS_COUNTED_MS } from "../../core/restarts/history";

/** Entries that are remembered at most; those of the objects that were seen longest ago go first, which are those that are gone. */
const MAX_ENTRIES = 20_000;

/** How often what is too old to count is looked for. */
const SWEEP_INTERVAL_MS = 3_600_000;

interface Told {
  readonly namespace: string;
  readonly entries: readonly RestartStatus[];
}

/**
 * What all objects have told of restarts in the life of this process. A budget belongs to the workload, not to the object that
 * names it: two objects with one target share it, and an object that is deleted and created again does not renew it
 * (docs/adr/0010-budget-restarts-per-workload.md).
 */
export class WorkloadRestarts {
  readonly #clock: Clock;
  /** By the uid of the object, the one that was noted last at the end. */
  readonly #told = new Map<string, Told>();
  #entries = 0;
  #sweptAtMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sweptAtMs = clock.monotonicMs();
  }

  /** Takes the object's history in place of what it told before. What it told last outlives it. What is too old to count takes nobody's place. */
  note(object: ControllerResilience, history: readonly RestartStatus[]): void {
    const { uid, namespace } = object.metadata;
    this.#remove(uid);
    const entries = history.filter(entry => this.#counts(entry));
    if (entries.length > 0) {
      this.#told.set(uid, { namespace, entries });
      this.#entries += entries.length;
    }
    this.#sweep();
    for (const oldest of this.#told.keys()) {
      if (this.#entries <= MAX_ENTRIES) break;
      this.#remove(oldest);
    }
  }

  /** Restarts of a workload in the object's namespace of which other objects have told, those that are gone included. */
  toldByOthers(object: ControllerResilience, workload: string): RestartStatus[] {
    const { uid, namespace } = object.metadata;
    return [...this.#told]
      .filter(([other, told]) => other !== uid && told.namespace === namespace)
      .flatMap(([, { entries }]) => entries.filter(entry => entry.workload === workload));
  }

  #remove(uid: string): void {
    this.#entries -= this.#told.get(uid)?.entries.length ?? 0;
    this.#told.delete(uid);
  }

  #sweep(): void {
    if (this.#clock.monotonicMs() - this.#sweptAtMs < SWEEP_INTERVAL_MS) return;
    this.#sweptAtMs = this.#clock.monotonicMs();
    for (const [uid, { entries }] of this.#told) if (!entries.some(entry => this.#counts(entry))) this.#remove(uid);
  }

  /** A time that can't be read is never too old. */
  #counts({ time }: RestartStatus): boolean {
    return !(this.#clock.now().getTime() - Date.parse(time) > RESTARTS_COUNTED_MS);
  }
}
