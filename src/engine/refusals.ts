import type { Clock } from "../core/clock";
import type { Intent, Outcome } from "../core/intent";

/** Wait after the first refusal; doubles with each further one. */
const BASE_MS = 5_000;
/** No wait that the server has not asked for is longer than this. */
const MAX_MS = 60_000;
/** Refusals that lie further back than this are forgotten, such as those of pods that are long gone. */
const REMEMBERED_MS = 600_000;

interface Refusal {
  readonly outcome: Outcome;
  readonly untilMs: number;
  readonly count: number;
}

/**
 * What the API server has refused is not asked for again before its time, even if events wake the object meanwhile. A
 * restart is written into status before it is asked for, so asking at every event would be a loop that wakes itself.
 */
export class Refusals {
  readonly #clock: Clock;
  readonly #refusals = new Map<string, Refusal>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The outcome that still stands, with the time that is left; undefined when the intent may be tried. */
  standing(intent: Intent): Outcome | undefined {
    const refusal = this.#refusals.get(idOf(intent));
    const leftMs = (refusal?.untilMs ?? 0) - this.#clock.monotonicMs();
    if (refusal === undefined || leftMs <= 0) return undefined;
    return refusal.outcome.result === "Blocked" ? { ...refusal.outcome, retryAfterMs: leftMs } : refusal.outcome;
  }

  /** Notes a refusal. Returns the outcome with the time to wait: what the server asked for, or longer after several in a row. */
  note(intent: Intent, outcome: Outcome): Outcome {
    this.#forgetOld();
    const count = this.#refusals.get(idOf(intent))?.count ?? 0;
    const askedMs = "retryAfterMs" in outcome ? outcome.retryAfterMs : 0;
    const waitMs = Math.max(askedMs, Math.min(BASE_MS * 2 ** count, MAX_MS));
    this.#refusals.set(idOf(intent), { outcome, untilMs: this.#clock.monotonicMs() + waitMs, count: count + 1 });
    return this.standing(intent) ?? outcome;
  }

  /** The intent was carried out. */
  clear(intent: Intent): void {
    this.#refusals.delete(idOf(intent));
  }

  #forgetOld(): void {
    const oldestMs = this.#clock.monotonicMs() - REMEMBERED_MS;
    for (const [id, { untilMs }] of this.#refusals) if (untilMs < oldestMs) this.#refusals.delete(id);
  }
}

function idOf({ verb, target }: Intent): string {
  return [verb, target.apiVersion, target.kind, target.namespace, target.name, target.uid].join(" ");
}
