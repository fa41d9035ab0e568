import type { Clock } from "../../core/clock";

/** Even a standby reads the Lease every few seconds. */
const UNREACHABLE_AFTER_MS = 60_000;

/** Tracks whether the API server responds to this operator and accepts its identity. */
export class Reachability {
  readonly #clock: Clock;
  #succeededAtMs: number | null = null;
  /** Last 401, or end of an outage. */
  #troubleAtMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes the status code of a response. */
  answered(code: number): void {
    const nowMs = this.#clock.monotonicMs();
    if (code === 401 || (this.#succeededAtMs !== null && this.trouble() !== null)) this.#troubleAtMs = nowMs;
    if (code < 400) this.#succeededAtMs = nowMs;
  }

  /** Time since the API server last answered 401 to the operator, or was lost, in milliseconds; Infinity if it never did. */
  sinceTroubleMs(): number {
    return this.#clock.monotonicMs() - this.#troubleAtMs;
  }

  /** Reports whether the API server accepted a request within this time and answered none with 401. An invalid token gets 401 for any path. */
  hasAcceptedWithin(ms: number): boolean {
    if (this.#succeededAtMs === null) return false;
    return this.#clock.monotonicMs() - this.#succeededAtMs < ms && this.sinceTroubleMs() >= ms;
  }

  /** Returns the problem, or null. One forbidden or slow namespace is not a problem here. */
  trouble(): string | null {
    if (this.#succeededAtMs === null) return "no response from the API server yet";
    const sinceMs = this.#clock.monotonicMs() - this.#succeededAtMs;
    if (sinceMs <= UNREACHABLE_AFTER_MS) return null;
    return `no successful response from the API server for ${Math.round(sinceMs / 1000)} s`;
  }
}
