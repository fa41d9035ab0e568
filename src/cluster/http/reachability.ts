import type { Clock } from "../../core/clock";

/** Even a standby reads the Lease every few seconds. */
const UNREACHABLE_AFTER_MS = 60_000;

/** Tracks whether the API server responds to this operator and accepts its identity. */
export class Reachability {
  readonly #clock: Clock;
  #succeededAtMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes the status code of a response. */
  answered(code: number): void {
    if (code < 400) this.#succeededAtMs = this.#clock.monotonicMs();
  }

  /** Returns the problem, or null. One forbidden or slow namespace is not a problem here. */
  trouble(): string | null {
    if (this.#succeededAtMs === null) return "no response from the API server yet";
    const sinceMs = this.#clock.monotonicMs() - this.#succeededAtMs;
    if (sinceMs <= UNREACHABLE_AFTER_MS) return null;
    return `no successful response from the API server for ${Math.round(sinceMs / 1000)} s`;
  }
}
