import type { ControllerResilience, RestartStatus } from "../../api/controller-resilience";
import type { Clock } from "../../core/clock";
import type { RestartClaim } from "../../core/intent";
import type { ObjectStore } from "../../core/ports";
import { requestedRestart, withOutcome, withoutRequest } from "../../core/restarts/budget";
import { STORE_DEADLINE_MS, withDeadline } from "../../core/deadline";
import { restartId } from "../../core/restarts/history";
import { boundStatus } from "../../core/status";
import type { WorkloadRestarts } from "./workload-restarts";

/** What a ledger works with. */
export interface LedgerPorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly restarts: WorkloadRestarts;
}

/** The restarts of one object during one pass. What is asked for stands in status before it is asked for. */
export class RestartLedger {
  #object: ControllerResilience;
  #history: readonly RestartStatus[];
  readonly #ports: LedgerPorts;

  /** `history` is what the remedies made of status.restarts in this pass. */
  constructor(object: ControllerResilience, history: readonly RestartStatus[], ports: LedgerPorts) {
    this.#object = object;
    this.#history = history;
    this.#ports = ports;
    ports.restarts.note(object, history);
  }

  /** The object's own restarts, oldest first, with those of this pass. */
  get history(): readonly RestartStatus[] {
    return this.#history;
  }

  /** Every restart that counts against this workload's budgets: the object's own, and those of which other objects have told. */
  counted(workload: string): readonly RestartStatus[] {
    const own = new Set(this.#history.map(restartId));
    const others = this.#ports.restarts.toldByOthers(this.#object, workload);
    return [...others.filter(entry => !own.has(restartId(entry))), ...this.#history];
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
    const now = this.#ports.clock.now();
    const history = [...this.#history, requestedRestart(claim, now)];
    const status = boundStatus({ ...this.#object.status, restarts: history }, now);
    const resourceVersion = await withDeadline(
      this.#ports.clock,
      STORE_DEADLINE_MS,
      "writing status before a restart",
      () => this.#ports.store.writeStatus(this.#object, status),
    );
    this.#become(history);
    this.#object = { ...this.#object, metadata: { ...this.#object.metadata, resourceVersion }, status };
  }

  /** It was carried out. */
  confirm(claim: RestartClaim): void {
    this.#become(withOutcome(this.#history, claim.podUID, "Restarted"));
  }

  /** It certainly was not carried out, so it costs no budget. */
  withdraw(claim: RestartClaim): void {
    this.#become(withoutRequest(this.#history, claim.podUID));
  }

  #become(history: readonly RestartStatus[]): void {
    this.#history = history;
    this.#ports.restarts.note(this.#object, history);
  }
}
