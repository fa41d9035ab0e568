import { type BackoffBounds, doubled, type Clock } from "../../core/time";
import type { Intent, Outcome } from "../../core/intent";
import type { PendingRestart } from "../../core/remedy";

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

/** What a failure is known by: the failures at one place belong together, and each state that is tried there has its own backoff. */
export interface WriteKey {
  readonly place: string;
  readonly state: string;
}

/** Returns the key of an intent: its target, and its body. */
export function keyOfIntent({ verb, target, restart, body }: Intent): WriteKey {
  const { apiVersion, kind, namespace, name, uid } = target;
  const place = [verb, apiVersion, kind, namespace, name, uid].join(" ");
  return { place, state: restart === undefined ? JSON.stringify(body) : "" };
}

interface Failure {
  readonly state: string;
  /** Absent: no intent has failed, another writer has undone one. */
  readonly intent: Intent | undefined;
  readonly outcome: Outcome;
  readonly told?: Told | undefined;
  readonly untilMs: number;
  /** The same on the wall clock, fixed once: a time in a message that drifts would write status again. */
  readonly untilWallMs: number;
  readonly count: number;
  /** Since when writes at the place have failed, whatever their states; on the monotonic clock. */
  readonly sinceMs: number;
}

/**
 * Keeps failed writes in backoff, even if events wake the object meanwhile. A restart is written to status before it is requested, so a retry with
 * each event would be a loop that wakes itself. Another body is another write and is not in backoff. Writes that another writer undoes are kept in
 * the same way.
 */
export class WriteBackoff {
  readonly #clock: Clock;
  /** By place, one of each state: thousands of writes may fail, as with a broken webhook. */
  readonly #failures = new Map<string, readonly Failure[]>();
  #forgottenMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The outcome of a write that is in backoff, with the time left; undefined when the write may be tried. */
  pending(key: WriteKey): Outcome | undefined {
    const failure = this.#find(key);
    const leftMs = (failure?.untilMs ?? 0) - this.#clock.monotonicMs();
    if (failure === undefined || leftMs <= 0) return undefined;
    const { outcome } = failure;
    return outcome.result === "Blocked" || outcome.result === "Failed" ? { ...outcome, retryAfterMs: leftMs } : outcome;
  }

  /** Records a failure. Returns the outcome with the backoff: what the server asked for, or longer after several in a row. */
  note(key: WriteKey, noted: Outcome, intent?: Intent): Outcome {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#forgottenMs >= FORGET_MS) this.#forgetOld(nowMs);
    const { place, state } = key;
    const failures = (this.#failures.get(place) ?? []).filter(failure => isRemembered(failure, nowMs));
    const before = failures.find(failure => failure.state === state);
    const { outcome, told } = asTold(noted, before?.told, nowMs);
    const count = before?.count ?? 0;
    const sinceMs = Math.min(nowMs, ...failures.map(failure => failure.sinceMs));
    const askedMs = "retryAfterMs" in outcome ? outcome.retryAfterMs : 0;
    // The next pass reads the object anew, so a conflict waits for nothing.
    const waitMs = outcome.result === "Conflict" ? 0 : Math.max(askedMs, doubled(boundsOf(outcome, intent), count));
    const failure = {
      ...{ intent, state, outcome, told },
      untilMs: nowMs + waitMs,
      untilWallMs: this.#clock.now().getTime() + waitMs,
      count: count + 1,
      sinceMs,
    };
    this.#failures.set(place, [...failures.filter(one => one !== before), failure]);
    return this.pending(key) ?? outcome;
  }

  /** As {@link note}, of the last write at its place: earlier ones with another state count no longer. */
  noteLast(key: WriteKey, noted: Outcome): void {
    if (this.#find(key) === undefined) this.clear(key);
    this.note(key, noted);
  }

  /** Reports whether a write has failed for an hour, and lately. */
  isLasting(key: WriteKey): boolean {
    const failure = this.#find(key);
    const nowMs = this.#clock.monotonicMs();
    return failure !== undefined && nowMs - failure.sinceMs >= LASTING_MS && isRemembered(failure, nowMs);
  }

  /** The restarts in a namespace that failed and are in backoff. */
  pendingRestarts(namespace: string): PendingRestart[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#failures.values()].flat().flatMap(({ intent, outcome, untilMs, untilWallMs }) => {
      const { restart, target } = intent ?? {};
      if (restart === undefined || target?.namespace !== namespace || untilMs <= nowMs) return [];
      return [{ restart, outcome, untilMs: untilWallMs }];
    });
  }

  /** Forgets the failures at the place of a write, those with other states included. */
  clear({ place }: WriteKey): void {
    this.#failures.delete(place);
  }

  #find({ place, state }: WriteKey): Failure | undefined {
    return this.#failures.get(place)?.find(failure => failure.state === state);
  }

  #forgetOld(nowMs: number): void {
    this.#forgottenMs = nowMs;
    for (const [place, failures] of this.#failures)
      if (!failures.some(failure => isRemembered(failure, nowMs))) this.#failures.delete(place);
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

function boundsOf({ result }: Outcome, intent: Intent | undefined): BackoffBounds {
  return result === "Failed" && intent?.restart === undefined ? PLAIN : REFUSED;
}
