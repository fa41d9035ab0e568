import type { Clock } from "../../core/clock";

/** Even an operator that waits for the lead asks for the Lease every few seconds, so this long without an answer is no accident. */
const UNREACHABLE_AFTER_MS = 60_000;

/** Whether the API server answers this operator, and accepts who it is. */
export class Reachability {
  readonly #clock: Clock;
  #succeededAtMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes an answer by its HTTP status code; those below 400 are successful. */
  answered(code: number): void {
    if (code < 400) this.#succeededAtMs = this.#clock.monotonicMs();
  }

  /** What is wrong, in words; null while all is well. One namespace that is forbidden or slow is nothing of that kind. */
  trouble(): string | null {
    if (this.#succeededAtMs === null) return "the API server has not answered yet";
    const sinceMs = this.#clock.monotonicMs() - this.#succeededAtMs;
    if (sinceMs <= UNREACHABLE_AFTER_MS) return null;
    return `no successful answer from the API server for ${Math.round(sinceMs / 1000)} s`;
  }
}
