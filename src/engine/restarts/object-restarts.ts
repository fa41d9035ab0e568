import type { ControllerResilienceStatus, RestartStatus } from "../../api/controller-resilience";
import type { Clock } from "../../core/clock";
import type { RestartClaim, RolloutClaim } from "../../core/intent";
import { requestedRestart, withOutcome, withoutRequest } from "../../core/restarts/budget";
import { countConfirmed } from "../../core/restarts/history";
import { boundStatus } from "../../core/status";
import type { ObjectSession } from "../object/object-session";
import type { Breaker } from "./breaker";
import { deferralOf, type Deferral } from "./checks";
import type { LeaderWarmup } from "./leader-warmup";
import type { RefusedRequests } from "./refused-requests";
import type { RestartPacer, RestartPermit } from "./restart-pacer";
import { rolloutDeferral, type Rollouts } from "./rollouts";

/** What all objects share. */
interface SharedParts {
  readonly clock: Clock;
  readonly warmup: LeaderWarmup;
  readonly breaker: Breaker;
  readonly pacer: RestartPacer;
  readonly rollouts: Rollouts;
  readonly refused: RefusedRequests;
}

/** How the write of a requested restart ended. */
export type RestartEnd =
  /** The API server accepted it. */
  | "Executed"
  /** The API server refused it, so it costs no budget. */
  | "Refused"
  /** No answer says whether it was executed. The entry stays Requested until the remedy settles it. */
  | "Unknown"
  /** It was not written, since this process no longer leads. The entry stays Requested, and the next leader settles it. */
  | "NotWritten";

/** A restart that is in status and may be written now. */
export interface RestartRequest {
  readonly result: "Requested";
  /** Ends the request. Call it exactly once: no other restart is permitted before. */
  readonly end: (end: RestartEnd) => void;
}

/** The restarts of one object during one pass. A restart is in status before it is requested from the API server. */
export class ObjectRestarts {
  #own: readonly RestartStatus[];
  readonly #session: ObjectSession;
  readonly #shared: SharedParts;

  /** `own` is status.restarts after the remedies have settled their outcomes in this pass. */
  constructor(session: ObjectSession, own: readonly RestartStatus[], shared: SharedParts) {
    this.#session = session;
    this.#own = own;
    this.#shared = shared;
  }

  /** Returns what defers a restart, apart from the restart pacer. */
  deferral(claim: RestartClaim): Deferral | undefined {
    const { clock, warmup, breaker } = this.#shared;
    return deferralOf(claim, { warmup, breaker, history: this.#own, now: clock.now() });
  }

  /**
   * Makes all checks and writes the restart to status as Requested, so that a crash in between cannot lose it.
   *
   * @throws the store's errors; then nothing was recorded and nothing may be restarted
   */
  async request(claim: RestartClaim): Promise<RestartRequest | Deferral> {
    const deferral = this.deferral(claim);
    if (deferral !== undefined) return deferral;
    const pace = this.#shared.pacer.ask();
    if (!pace.allowed) return { result: "Limited", limit: "RestartPacer", retryAfterMs: pace.retryAfterMs };
    try {
      await this.#record(claim);
    } catch (error) {
      pace.permit.unused();
      throw error;
    }
    return { result: "Requested", end: end => this.#end(claim, pace.permit, end) };
  }

  /** Returns what defers the rollout of a changed template. */
  rolloutDeferral(): Deferral | undefined {
    const { warmup, rollouts } = this.#shared;
    return rolloutDeferral(this.#session.object, warmup, rollouts);
  }

  /** The template was written, or the answer was lost. */
  rolloutBegun(claim: RolloutClaim): void {
    this.#shared.rollouts.begun(this.#session.object, claim);
  }

  /** The fields of status that record the restarts. */
  status(): Pick<ControllerResilienceStatus, "restarts" | "restartsTotal"> {
    const { restarts, restartsTotal = 0 } = this.#session.statusRead;
    return {
      ...(this.#own.length > 0 || restarts ? { restarts: [...this.#own] } : {}),
      restartsTotal: restartsTotal + countConfirmed(restarts ?? [], this.#own),
    };
  }

  async #record(claim: RestartClaim): Promise<void> {
    const now = this.#shared.clock.now();
    const restarts = [...this.#own, requestedRestart(claim, now)];
    await this.#session.writeStatus(boundStatus({ ...this.#session.object.status, restarts }, now));
    this.#become(restarts);
  }

  #end({ podUID }: RestartClaim, permit: RestartPermit, end: RestartEnd): void {
    if (end === "Executed" || end === "Unknown") permit.used();
    else permit.unused();
    if (end === "Executed") this.#become(withOutcome(this.#own, podUID, "Restarted"));
    if (end !== "Refused") return;
    const left = withoutRequest(this.#own, podUID);
    this.#shared.refused.add(this.#own.filter(entry => !left.includes(entry)));
    this.#become(left);
  }

  #become(own: readonly RestartStatus[]): void {
    this.#own = own;
    this.#shared.breaker.note(this.#session.object, own);
  }
}
