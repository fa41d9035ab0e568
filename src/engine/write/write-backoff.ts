import type { Clock } from "../../core/clock";
import type { Intent, Outcome } from "../../core/intent";
import type { PendingWrite } from "../../core/remedy";

/** Wait after the first failure; doubles with each further one. */
const BASE_MS = 10_000;
/**
 * The same where any other write than a restart has failed and was not refused. One that takes its time to fail must not take that of all
 * others in every pass, but a binding has to be renewed before its end, and a runaway held still.
 */
const BASE_PLAIN_MS = 2_000;
const MAX_PLAIN_MS = 60_000;
/** No wait after a refusal that the server has not asked for is longer than this: a PodDisruptionBudget may be full for hours. */
const MAX_REFUSED_MS = 300_000;
/** Nor after a failure that leaves in doubt what was done, which costs the cluster a turn of the storm brake each time. */
const MAX_DOUBTFUL_MS = 600_000;
/** Failures whose wait ended this long ago are forgotten, such as those of pods that are long gone. */
const REMEMBERED_MS = 900_000;

interface Failure {
  readonly intent: Intent;
  readonly outcome: Outcome;
  readonly untilMs: number;
  readonly count: number;
}

/**
 * What has failed is not asked for again before its time, even if events wake the object meanwhile, and however many passes
 * that want nothing lie in between. A restart is written into status before it is asked for, so asking at every event would be
 * a loop that wakes itself. Of other writes it is the very same one that waits: another body is another try.
 */
export class WriteBackoff {
  readonly #clock: Clock;
  readonly #failures = new Map<string, Failure>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The outcome that still stands, with the time that is left; undefined when the intent may be tried. */
  standing(intent: Intent): Outcome | undefined {
    const failure = this.#failures.get(idOf(intent));
    const leftMs = (failure?.untilMs ?? 0) - this.#clock.monotonicMs();
    if (failure === undefined || leftMs <= 0) return undefined;
    return failure.outcome.result === "Blocked" ? { ...failure.outcome, retryAfterMs: leftMs } : failure.outcome;
  }

  /**
   * Notes a failure. Returns the outcome with the time to wait: what the server asked for, or longer after several in a row.
   *
   * @param doubtful whether it may have been carried out all the same
   */
  note(intent: Intent, outcome: Outcome, doubtful: boolean): Outcome {
    this.#forgetOld();
    const count = this.#failures.get(idOf(intent))?.count ?? 0;
    const askedMs = "retryAfterMs" in outcome ? outcome.retryAfterMs : 0;
    const waitMs = Math.max(askedMs, isPlainFailure(intent, outcome) ? plainMs(count) : refusedMs(count, doubtful));
    this.#failures.set(idOf(intent), { intent, outcome, untilMs: this.#clock.monotonicMs() + waitMs, count: count + 1 });
    return this.standing(intent) ?? outcome;
  }

  /** The writes of a namespace, and those outside of namespaces, that are in backoff; `nowMs` is wall-clock time. */
  pendingIn(namespace: string, nowMs: number): PendingWrite[] {
    return [...this.#failures.values()].flatMap(({ intent, outcome, untilMs }) => {
      const { verb, target, restart } = intent;
      const leftMs = untilMs - this.#clock.monotonicMs();
      if (leftMs <= 0 || (target.namespace ?? namespace) !== namespace) return [];
      return [{ verb, target, outcome, untilMs: nowMs + leftMs, ...(restart && { restart }) }];
    });
  }

  /** The intent was carried out. */
  clear(intent: Intent): void {
    this.#failures.delete(idOf(intent));
  }

  #forgetOld(): void {
    const oldestMs = this.#clock.monotonicMs() - REMEMBERED_MS;
    for (const [id, { untilMs }] of this.#failures) if (untilMs < oldestMs) this.#failures.delete(id);
  }
}

function isPlainFailure({ restart }: Intent, { result }: Outcome): boolean {
  return restart === undefined && result === "Failed";
}

function plainMs(count: number): number {
  return Math.min(BASE_PLAIN_MS * 2 ** count, MAX_PLAIN_MS);
}

function refusedMs(count: number, doubtful: boolean): number {
  return Math.min(BASE_MS * 2 ** count, doubtful ? MAX_DOUBTFUL_MS : MAX_REFUSED_MS);
}

function idOf({ verb, target, body, restart }: Intent): string {
  const { apiVersion, kind, namespace, name, uid } = target;
  return [verb, apiVersion, kind, namespace, name, uid, restart === undefined ? JSON.stringify(body) : ""].join(" ");
}
