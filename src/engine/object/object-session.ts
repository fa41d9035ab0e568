import type { ControllerResilience, ControllerResilienceStatus } from "../../api/controller-resilience";
import { type Clock, STORE_DEADLINE_MS, withDeadline } from "../../core/time";
import type { ObjectStore } from "../../core/ports";
import { isSameStatus } from "../../core/status";

/** A pass on caches has come to a write that needs live reads: the pass is repeated with them. */
export class LiveReadsNeeded extends Error {}

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
  readonly #isCached: boolean;

  /** @param isCached the object and all else in this pass come from caches, so it may write no more than what status shows */
  constructor(object: ControllerResilience, store: ObjectStore, clock: Clock, isCached = false) {
    this.#object = object;
    this.statusRead = object.status ?? {};
    this.#store = store;
    this.#clock = clock;
    this.#isCached = isCached;
  }

  /** The object as last read or written. */
  get object(): ControllerResilience {
    return this.#object;
  }

  /** Call it before every write, but one of what status shows. @throws LiveReadsNeeded if this pass is on caches */
  readonly beforeWrite = (): void => {
    if (this.#isCached) throw new LiveReadsNeeded("expected live reads before a write");
  };

  /**
   * Writes status, unless it is the same already.
   *
   * @throws LiveReadsNeeded, the store's errors, or TransientError after the deadline; then the object counts as not written
   */
  async writeStatus(status: ControllerResilienceStatus): Promise<void> {
    const object = this.#object;
    if (isSameStatus(object.status, status)) return;
    if (!isSameStatus(withoutReports(object.status), withoutReports(status))) this.beforeWrite();
    const resourceVersion = await withDeadline(this.#clock, STORE_DEADLINE_MS, "writing status", () =>
      this.#store.writeStatus(object, status),
    );
    this.#object = { ...object, metadata: { ...object.metadata, resourceVersion }, status };
  }

  /** Puts the operator's finalizer on the object or removes it. @throws LiveReadsNeeded, the store's errors, or TransientError after the deadline */
  async setFinalizer(present: boolean): Promise<void> {
    this.beforeWrite();
    const object = this.#object;
    const metadata = await withDeadline(this.#clock, STORE_DEADLINE_MS, "writing the finalizer", () =>
      this.#store.setFinalizer(object, present),
    );
    this.#object = { ...object, metadata };
  }
}

/** Returns the status without its reports of what was seen: the conditions and the targets. The rest is the record that later writes rest on, such as the budgets. */
function withoutReports(status: ControllerResilienceStatus = {}): object {
  return { ...status, conditions: undefined, targets: undefined };
}
