import type { RestartStatus } from "../../api/controller-resilience";
import type { Clock } from "../../core/clock";
import type { RestartClaim } from "../../core/intent";
import { requestedRestart, withOutcome, withoutRequest } from "../../core/restarts/budget";
import { restartId } from "../../core/restarts/history";
import { boundStatus } from "../../core/status";
import type { ObjectSession } from "../object/object-session";
import type { WorkloadRestarts } from "./workload-restarts";

/** The restarts of one object during one pass. A restart is in status before it is requested from the API server. */
export class RestartLedger {
  #history: readonly RestartStatus[];
  readonly #session: ObjectSession;
  readonly #restarts: WorkloadRestarts;
  readonly #clock: Clock;

  /** `history` is status.restarts after the remedies have settled their outcomes in this pass. */
  constructor(session: ObjectSession, history: readonly RestartStatus[], restarts: WorkloadRestarts, clock: Clock) {
    this.#session = session;
    this.#history = history;
    this.#restarts = restarts;
    this.#clock = clock;
    restarts.note(session.object, history);
  }

  /** The object's own restarts, oldest first, with those of this pass. */
  get history(): readonly RestartStatus[] {
    return this.#history;
  }

  /** Every restart that counts against this workload's budgets: the object's own, and those that other objects have recorded. */
  counted(workload: string): readonly RestartStatus[] {
    const own = new Set(this.#history.map(restartId));
    const others = this.#restarts.recordedByOthers(this.#session.object, workload);
    return [...others.filter(entry => !own.has(restartId(entry))), ...this.#history];
  }

  /**
   * Writes the restart to status as Requested.
   *
   * @throws the store's errors; then nothing was recorded and nothing may be restarted
   */
  async request(claim: RestartClaim): Promise<void> {
    const now = this.#clock.now();
    const history = [...this.#history, requestedRestart(claim, now)];
    await this.#session.writeStatus(boundStatus({ ...this.#session.object.status, restarts: history }, now));
    this.#become(history);
  }

  /** The restart was executed. */
  confirm(claim: RestartClaim): void {
    this.#become(withOutcome(this.#history, claim.podUID, "Restarted"));
  }

  /** The restart certainly was not executed, so it costs no budget. */
  withdraw(claim: RestartClaim): void {
    this.#become(withoutRequest(this.#history, claim.podUID));
  }

  #become(history: readonly RestartStatus[]): void {
    this.#history = history;
    this.#restarts.note(this.#session.object, history);
  }
}
