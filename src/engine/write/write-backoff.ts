import { type BackoffBounds, doubled, type Clock } from "../../core/time";
import type { Intent, Outcome } from "../../core/intent";
import type { PendingWrite } from "../../core/remedy";

/** After a refusal, and of a restart: a PodDisruptionBudget may be exhausted for hours. */
const REFUSED: BackoffBounds = { firstMs: 10_000, lastMs: 300_000 };
/**
 * After a failure of a write that is no restart and was not refused. A write that fails slowly must not use up every pass, but a binding must
 * be renewed before it expires, and a runaway throttled.
 */
const PLAIN: BackoffBounds = { firstMs: 2_000, lastMs: 60_000 };
/** Failures are forgotten this long after their backoff ended, such as those of pods that are gone. */
const REMEMBERED_MS = 900_000;
/** They are looked through for that so often, in milliseconds. */
const FORGET_MS = 60_000;

/** What fails for this long hardly succeeds by itself, and what is unknown hardly becomes known. In milliseconds. */
export const LASTING_MS = 3_600_000;

/**
 * What is told of an obstacle stays for so long after a try last met just that, in milliseconds. The next try may fail at another request or in
 * another way, and each new message is a write of status.
 */
export const TOLD_MS = 600_000;

/** A message about an obstacle, and when a try last met that. */
export interface Told {
  readonly message: string;
  readonly metMs: number;
}

/** Returns what to tell of an obstacle after a try that failed with this message. Pure. */
export function retell(told: Told | undefined, message: string, nowMs: number): Told {
  const stays = told !== undefined && told.message !== message && nowMs - told.metMs < TOLD_MS;
  return stays ? told : { message, metMs: nowMs };
}

interface Failure {
  readonly intent: Intent;
  /** Tells the writes to one target apart. */
  readonly body: string;
  readonly outcome: Outcome;
  readonly told?: Told | undefined;
  readonly untilMs: number;
  /** The same on the wall clock, fixed once: a time in a message that drifts would write status again. */
  readonly untilWallMs: number;
  readonly count: number;
  /** Since when such writes to the target have failed, whatever their bodies; on the monotonic clock. */
  readonly sinceMs: number;
}

/**
 * Keeps failed writes in backoff, even if events wake the object meanwhile. A restart is written to status before it is requested, so a retry with
 * each event would be a loop that wakes itself. Another body is another write and is not in backoff.
 */
export class WriteBackoff {
  readonly #clock: Clock;
  /** By target, one of each body: thousands of writes may fail, as with a broken webhook. */
  readonly #failures = new Map<string, readonly Failure[]>();
  #forgottenMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The outcome of a write that is in backoff, with the time left; undefined when the write may be tried. */
  pending(intent: Intent): Outcome | undefined {
    const failure = this.#find(intent);
    const leftMs = (failure?.untilMs ?? 0) - this.#clock.monotonicMs();
    if (failure === undefined || leftMs <= 0) return undefined;
    const { outcome } = failure;
    return outcome.result === "Blocked" || outcome.result === "Failed" ? { ...outcome, retryAfterMs: leftMs } : outcome;
  }

  /** Records a failure. Returns the outcome with the backoff: what the server asked for, or longer after several in a row. */
  note(intent: Intent, noted: Outcome): Outcome {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#forgottenMs >= FORGET_MS) this.#forgetOld(nowMs);
    const known = this.#failures.get(targetOf(intent)) ?? [];
    const failures = known.filter(failure => isRemembered(failure, nowMs));
    const body = bodyOf(intent);
    const before = failures.find(failure => failure.body === body);
    const { outcome, told } = asTold(noted, before?.told, nowMs);
    const count = before?.count ?? 0;
    const sinceMs = Math.min(nowMs, ...failures.map(failure => failure.sinceMs));
    const askedMs = "retryAfterMs" in outcome ? outcome.retryAfterMs : 0;
    const bounds = isPlainFailure(intent, outcome) ? PLAIN : REFUSED;
    // The next pass reads the object anew, so a conflict waits for nothing.
    const waitMs = outcome.result === "Conflict" ? 0 : Math.max(askedMs, doubled(bounds, count));
    const failure = {
      ...{ intent, body, outcome, told },
      untilMs: nowMs + waitMs,
      untilWallMs: this.#clock.now().getTime() + waitMs,
      count: count + 1,
      sinceMs,
    };
    this.#failures.set(targetOf(intent), [...failures.filter(one => one !== before), failure]);
    return this.pending(intent) ?? outcome;
  }

  /** As {@link note}, of the last write to its target: earlier ones with another body count no longer. */
  noteLast(intent: Intent, noted: Outcome): void {
    if (this.#find(intent) === undefined) this.clear(intent);
    this.note(intent, noted);
  }

  /** Reports whether a write has failed for an hour, and lately. */
  isLasting(intent: Intent): boolean {
    const failure = this.#find(intent);
    const nowMs = this.#clock.monotonicMs();
    return failure !== undefined && nowMs - failure.sinceMs >= LASTING_MS && isRemembered(failure, nowMs);
  }

  /** The writes of a namespace, and those outside of namespaces, that are in backoff. */
  pendingIn(namespace: string): PendingWrite[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#failures.values()].flat().flatMap(({ intent, outcome, untilMs, untilWallMs }) => {
      const { verb, target, restart } = intent;
      if (untilMs <= nowMs || (target.namespace ?? namespace) !== namespace) return [];
      return [{ verb, target, outcome, untilMs: untilWallMs, ...(restart && { restart }) }];
    });
  }

  /** Forgets the failures of an intent that was executed, those with other bodies included. */
  clear(intent: Intent): void {
    this.#failures.delete(targetOf(intent));
  }

  #find(intent: Intent): Failure | undefined {
    return this.#failures.get(targetOf(intent))?.find(({ body }) => body === bodyOf(intent));
  }

  #forgetOld(nowMs: number): void {
    this.#forgottenMs = nowMs;
    for (const [target, failures] of this.#failures)
      if (!failures.some(failure => isRemembered(failure, nowMs))) this.#failures.delete(target);
  }
}

function isRemembered({ untilMs }: Failure, nowMs: number): boolean {
  return nowMs - untilMs <= REMEMBERED_MS;
}

/** What else than a failure the API server says may be a person's word, and is told at once. */
function asTold(outcome: Outcome, before: Told | undefined, nowMs: number): Pick<Failure, "outcome" | "told"> {
  if (outcome.result !== "Failed") return { outcome };
  const { message: cause } = outcome;
  const told = retell(before, cause, nowMs);
  return { told, outcome: told.message === cause ? outcome : { ...outcome, message: told.message, cause } };
}

function isPlainFailure({ restart }: Intent, { result }: Outcome): boolean {
  return restart === undefined && result === "Failed";
}

function bodyOf({ restart, body }: Intent): string {
  return restart === undefined ? JSON.stringify(body) : "";
}

function targetOf({ verb, target }: Intent): string {
  const { apiVersion, kind, namespace, name, uid } = target;
  return [verb, apiVersion, kind, namespace, name, uid].join(" ");
}
