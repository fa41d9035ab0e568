import type { ControllerResilience, ControllerResilienceStatus } from "../../api/controller-resilience";
import type { Clock } from "../../core/clock";
import { STORE_DEADLINE_MS, withDeadline } from "../../core/deadline";
import type { ObjectStore } from "../../core/ports";
import { isSameStatus } from "../../core/status";

/**
 * One ControllerResilience during one pass. It owns the object's versions: every write goes through it and carries the resourceVersion of the
 * read or write before. Each write is bounded in time.
 */
export class ObjectSession {
  #object: ControllerResilience;
  /** Status as read, before this pass wrote any. */
  readonly statusRead: ControllerResilienceStatus;
  readonly #store: ObjectStore;
  readonly #clock: Clock;

  constructor(object: ControllerResilience, store: ObjectStore, clock: Clock) {
    this.#object = object;
    this.statusRead = object.status ?? {};
    this.#store = store;
    this.#clock = clock;
  }

  /** The object as last read or written. */
  get object(): ControllerResilience {
    return this.#object;
  }

  /**
   * Writes status, unless it is the same already.
   *
   * @throws the store's errors, or TransientError after the deadline; then the object counts as not written
   */
  async writeStatus(status: ControllerResilienceStatus): Promise<void> {
    const object = this.#object;
    if (isSameStatus(object.status, status)) return;
    const resourceVersion = await withDeadline(this.#clock, STORE_DEADLINE_MS, "writing status", () =>
      this.#store.writeStatus(object, status),
    );
    this.#object = { ...object, metadata: { ...object.metadata, resourceVersion }, status };
  }

  /** Puts the operator's finalizer on the object or removes it. @throws the store's errors, or TransientError after the deadline */
  async setFinalizer(present: boolean): Promise<void> {
    const object = this.#object;
    const metadata = await withDeadline(this.#clock, STORE_DEADLINE_MS, "writing the finalizer", () =>
      this.#store.setFinalizer(object, present),
    );
    this.#object = { ...object, metadata };
  }
}
