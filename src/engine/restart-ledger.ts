import type { ControllerResilience, RestartStatus } from "../api/controller-resilience";
import type { Clock } from "../core/clock";
import type { RestartClaim } from "../core/intent";
import type { ObjectStore } from "../core/ports";
import { requestedRestart, withOutcome, withoutRequest } from "../core/restart-budget";
import { withDeadline } from "./deadline";
import { boundStatus } from "./status";

/** Longest wait for one read or write of a ControllerResilience. */
export const STORE_DEADLINE_MS = 30_000;

/** The restarts of one object during one pass. What is asked for stands in status before it is asked for. */
export class RestartLedger {
  #object: ControllerResilience;
  #history: readonly RestartStatus[];
  readonly #store: ObjectStore;
  readonly #clock: Clock;

  /** `history` is what the remedies made of status.restarts in this pass. */
  constructor(object: ControllerResilience, history: readonly RestartStatus[], store: ObjectStore, clock: Clock) {
    this.#object = object;
    this.#history = history;
    this.#store = store;
    this.#clock = clock;
  }

  /** Every restart that counts, oldest first, with those of this pass. */
  get history(): readonly RestartStatus[] {
    return this.#history;
  }

  /** The object as last read or written. */
  get object(): ControllerResilience {
    return this.#object;
  }

  /**
   * Writes the restart into status as Requested.
   *
   * @throws whatever the store throws; then nothing was noted and nothing may be restarted
   */
  async request(claim: RestartClaim): Promise<void> {
    const now = this.#clock.now();
    const history = [...this.#history, requestedRestart(claim, now)];
    const status = boundStatus({ ...this.#object.status, restarts: history }, now);
    const resourceVersion = await withDeadline(this.#clock, STORE_DEADLINE_MS, "writing status before a restart", () =>
      this.#store.writeStatus(this.#object, status),
    );
    this.#history = history;
    this.#object = { ...this.#object, metadata: { ...this.#object.metadata, resourceVersion }, status };
  }

  /** It was carried out. */
  confirm(claim: RestartClaim): void {
    this.#history = withOutcome(this.#history, claim.podUID, "Restarted");
  }

  /** It certainly was not carried out, so it costs no budget. */
  withdraw(claim: RestartClaim): void {
    this.#history = withoutRequest(this.#history, claim.podUID);
  }
}
