import { parseDuration } from "../../../src/core/time";
import type { CauseName } from "../programs/causes";
import { blockOf } from "./objects";
import { conditionsOf, isClockOff, isStalled } from "./conditions";
import { keyOf, Obstacles } from "./obstacles";
import type { Report, Sight, Truth } from "./sight";
import { LEADERLESS_MS } from "./writes";

// Promises 9, 10 and 11: what can heal heals in time, whatever else is broken, and what cannot is Stalled and says why.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const LOOK_MS = 30 * SECOND;

/** How long a cause may take from the first own 401 on, without other limits; each time with its source. */
const NOTICED_WITHIN: Partial<Readonly<Record<CauseName, number>>> = {
  // One 401; a log is read every 30 s (DEFAULT_READS_PER_SECOND), and a new leader knows the objects after a minute (docs/reliability.md).
  "service-account-recreated": 2 * MINUTE,
  // The keys are looked at every 70 s, must last for two minutes (docs/adr/0025), and the 401 must be fresh.
  "key-rotated": 5 * MINUTE,
  // Three occasions over minDuration (docs/adr/0006), in the rhythm of the program; then the counters of the API servers (docs/adr/0024).
  "token-expired": 10 * MINUTE,
  // Five minutes without a renewal, or four times the longest pause of the last hour (docs/remedies/stall-detection.md).
  hangs: 12 * MINUTE,
  // Fifteen minutes without an item done, once two changes of specs have filled the queue, and as long since a request was refused
  // (docs/remedies/stall-detection.md, docs/why-not-restarted.md).
  "workers-blocked": 30 * MINUTE,
};

/** The start of a pod, and until it has proven itself: 90 s (SETTLED_MS); the slowest client logs every 60 s. */
const NEXT_MS = 3 * MINUTE;

/** An open restart without proof delays the next for half an hour, and two of pods that had worked for less for an hour (docs/adr/0024). */
const OPEN_MS = 30 * MINUTE;
const TWO_IN_DOUBT_MS = 60 * MINUTE;

/** At most one eviction per 10 s over all objects; of pods whose token is proven dead one per 2 s, of few objects one per pass. */
const PACE_MS = 10 * SECOND;
const PROVEN_PACE_MS = 5 * SECOND;

/** What cannot be healed is Stalled after an hour (docs/remedies/token-restart.md) and a pass. */
const STALLED_WITHIN_MS = 62 * MINUTE;

/** Looks at every pod during the whole world, while nothing that concerns it happens. */
export function checkHealing(sight: Sight, report: Report): void {
  const checks = new HealingChecks(sight, report);
  sight.clock.every(LOOK_MS, () => checks.look());
}

class HealingChecks {
  readonly #obstacles: Obstacles;
  /** Since when a pod waits, by uid, container and what it waits for. */
  readonly #waits = new Map<string, number>();
  readonly #told = new Set<string>();

  constructor(
    private readonly sight: Sight,
    private readonly report: Report,
  ) {
    this.#obstacles = new Obstacles(sight);
  }

  look(): void {
    const dead = this.sight.truths().filter(truth => truth.healedByRestart && this.#isCovered(truth));
    const waiting = new Set<string>();
    for (const truth of dead) this.#healed(truth, dead, waiting);
    for (const truth of this.sight.truths()) this.#stalled(truth, waiting);
    for (const key of this.#waits.keys()) if (!waiting.has(key)) this.#waits.delete(key);
  }

  #isCovered(truth: Truth): boolean {
    // By a clock that is off nothing is restarted without proof (docs/adr/0024).
    const isHeld = !truth.isTokenDead && isClockOff(this.sight.plan);
    return NOTICED_WITHIN[truth.cause] !== undefined && !isHeld && this.#obstacles.healerOf(truth) !== undefined;
  }

  /** Promises 9 and 11. */
  #healed(truth: Truth, dead: readonly Truth[], waiting: Set<string>): void {
    if (this.#obstacles.isRefused(truth) || this.#obstacles.isShort(truth)) return;
    const waitedMs = this.#waitedMs(`${truth.uid} ${truth.container}`, truth, waiting);
    const allowedMs = this.#allowedMs(truth, dead);
    // Work that is due is Stalled from the first sight on; a person must reset the breaker.
    const isTripped = conditionsOf(this.sight, truth).some(({ reason }) => reason === "BreakerTripped");
    const isTold = (truth.state !== "stuck" || isTripped) && isStalled(this.sight, truth);
    if (waitedMs <= allowedMs || isTold) return;
    const isAlone = this.sight.calmSinceMs() >= waitedMs;
    const minutes = `${Math.round(waitedMs / MINUTE)} minutes (allowed: ${Math.round(allowedMs / MINUTE)})`;
    this.#tell(
      isAlone ? 9 : 11,
      truth,
      `waits for a restart for ${minutes}, ${truth.cause}${isAlone ? "" : "; only what is elsewhere is disturbed"}`,
    );
  }

  /** How long a pod may wait, with all that may be before it. */
  #allowedMs(truth: Truth, dead: readonly Truth[]): number {
    const siblings = dead.filter(one => keyOf(one) === keyOf(truth)).length;
    // Where the kubelet has renewed the token, or may have, nothing proves that the program goes on with the old one.
    const lacksProof = (one: Truth): boolean =>
      !one.isTokenDead || this.#obstacles.mayBeRenewed(one) || this.#obstacles.isKeyUndated(one);
    const isUnproven = lacksProof(truth);
    const rivals = isUnproven ? dead.filter(lacksProof).length : siblings;
    const others = isUnproven ? rivals - 1 + this.#obstacles.unproven() : 0;
    const seen = isUnproven && truth.state === "token-dead" ? "token-expired" : truth.cause;
    return (
      Math.max(NOTICED_WITHIN[seen]!, seen === "hangs" ? this.#standsMs(truth) : 0) +
      this.#cooldownMs(truth) +
      Math.min(LEADERLESS_MS, this.#obstacles.leaderlessMs(truth)) +
      (others === 1 ? OPEN_MS : TWO_IN_DOUBT_MS * Math.ceil(others / 2)) +
      Math.max(siblings, rivals) * NEXT_MS +
      dead.length * (isUnproven ? PACE_MS : PROVEN_PACE_MS)
    );
  }

  /** A Lease must miss four of its durations (docs/remedies/stall-detection.md). */
  #standsMs(truth: Truth): number {
    return 5_000 * (this.#obstacles.planOf(truth)?.leaseSeconds ?? 0);
  }

  /** Without a restart before there is none. It doubles while restarts do not help. */
  #cooldownMs(truth: Truth): number {
    const before = this.#obstacles.recent(truth).length;
    const healer = this.#obstacles.healerOf(truth);
    const { cooldown = "10m" } = healer === undefined ? {} : blockOf(healer, "tokenRestart");
    const { operators } = this.sight.plan;
    // A restart that a leader with another clock recorded is later, or earlier, for the next.
    const clocksMs = Math.max(...operators) - Math.min(...operators);
    return before === 0 ? 0 : clocksMs + parseDuration(cooldown) * 2 ** Math.min(2, before - 1);
  }

  /** Promise 10: by an hour it is Stalled, whatever it waits for, and the message names what refuses. */
  #stalled(truth: Truth, waiting: Set<string>): void {
    const isBlocked = this.#isBlocked(truth);
    if (!(isHopeless(truth) || isBlocked) || this.#obstacles.actorOf(truth) === undefined) return;
    const waitedMs = this.#waitedMs(`${truth.uid} ${truth.container} blocked`, truth, waiting);
    if (waitedMs <= STALLED_WITHIN_MS) return;
    const isNamed = conditionsOf(this.sight, truth).some(({ message }) => OBSTACLE.test(message));
    const unnamed = isBlocked && !isNamed ? "no condition names who refuses" : undefined;
    const why = isStalled(this.sight, truth) ? unnamed : "nothing is Stalled";
    if (why !== undefined) this.#tell(10, truth, `cannot be healed for an hour (${truth.cause}), and ${why}`);
  }

  #isBlocked(truth: Truth): boolean {
    return truth.healedByRestart && this.#isCovered(truth) && this.#obstacles.isRefused(truth);
  }

  #waitedMs(key: string, { namespace }: Truth, waiting: Set<string>): number {
    const nowMs = this.sight.clock.monotonicMs();
    waiting.add(key);
    if (this.sight.calmSinceMs(namespace) < LOOK_MS) this.#waits.delete(key);
    const sinceMs = this.#waits.get(key) ?? nowMs;
    this.#waits.set(key, sinceMs);
    return nowMs - sinceMs;
  }

  #tell(promise: number, { uid, namespace, name }: Truth, sentence: string): void {
    if (this.#told.has(`${promise} ${uid}`)) return;
    this.#told.add(`${promise} ${uid}`);
    this.report(promise, `${namespace}/${name} ${sentence}`);
  }
}

function isHopeless({ state, healedByRestart, logged401Ms }: Truth): boolean {
  return state === "token-dead" && !healedByRestart && logged401Ms !== undefined;
}

const OBSTACLE = /PodDisruptionBudget|webhook/;
