import type { Cancel, Clock, ClockDoubt } from "../../core/clock";
import type { Log } from "../../core/ports";

/** Older measurements are dropped, since clocks drift and people set them. */
const REMEMBERED_MS = 300_000;

/** Beyond this number, the least certain measurements are dropped. */
const MAX_MEASUREMENTS = 32;

/** The Date header has whole seconds: the server's time is within half a second of their middle. */
const HALF_SECOND_MS = 500;

/** Smaller offsets are not applied: timestamps in whole seconds do not show them. */
const APPLIED_FROM_MS = 1_500;

/** Larger offsets are logged. API servers that differ by more are in doubt: none of them is followed at once, and nothing rests on the time. */
const ALARMING_MS = 30_000;

/**
 * New measurements that contradict the old ones are accepted only after this time without an agreeing one. The clocks of the API
 * servers of one control plane may differ by seconds, and a load balancer picks one per request: now() must not jump between them.
 */
const CONTRADICTED_MS = 60_000;

/**
 * After this time without an answer within {@link ALARMING_MS} of the offset, another clock is followed, and two clocks that differed count as
 * one. Only time decides: connections are kept, so hundreds of answers in a row may come from one server. In ten minutes full passes and
 * readings of each API server's metrics reach the others, too, if they still answer.
 */
const FAR_MS = 600_000;

/** And after so many answers: a process that was stopped has heard nobody for longer, and one answer does not tell which server is right. */
const FAR_ANSWERS = 10;

/** If the local wall clock moves this far from the monotonic clock between two responses, it was set. */
const SET_BY_MS = 1_000;

/** The same header again within this time says nothing new. */
const MEASURED_EVERY_MS = 100;

interface Measurement {
  readonly offsetMs: number;
  readonly uncertaintyMs: number;
  readonly atMs: number;
}

/** Answers that are far from the offset in use, without one that is near it. */
interface FarRun {
  readonly sinceMs: number;
  readonly answers: number;
}

/** Two API servers whose clocks are far from each other. */
interface Difference {
  /** When the one that is not followed answered last. */
  readonly atMs: number;
  readonly differenceMs: number;
  /** How far it is behind the one that is followed; 0 if it is ahead. */
  readonly behindMs: number;
}

export interface ServerClockReport {
  readonly log: () => Pick<Log, "warn">;
  readonly clockOffset: (seconds: number) => void;
  /** How far the clocks of API servers differ; 0: not by more than 30 s. */
  readonly clockDifference: (seconds: number) => void;
}

/**
 * The API server's clock. Timestamps of the cluster are only comparable with the clock that wrote them, and the local clock may be
 * wrong. The offset is estimated from the Date header of responses; an offset below 1.5 s is ignored. Durations and timers use the
 * local clock. While API servers differ by more than 30 s, the time stays that of the one that was followed, and is in doubt.
 */
export class ServerClock implements Clock {
  readonly #machine: Clock;
  readonly #report: ServerClockReport;
  /** Most certain first. */
  #measurements: readonly Measurement[] = [];
  #contradictedSinceMs: number | undefined;
  #far: FarRun | undefined;
  #difference: Difference | undefined;
  #heard: { readonly date: string | undefined; readonly atMs: number } | undefined;
  /** Wall clock minus monotonic clock. */
  #aheadOfMonotonicMs: number;
  #offsetMs = 0;

  constructor(machine: Clock, report: ServerClockReport) {
    this.#machine = machine;
    this.#report = report;
    this.#aheadOfMonotonicMs = machine.now().getTime() - machine.monotonicMs();
  }

  now(): Date {
    return new Date(this.#machine.now().getTime() + this.#offsetMs);
  }

  monotonicMs(): number {
    return this.#machine.monotonicMs();
  }

  doubt(): ClockDoubt | undefined {
    const difference = this.#difference;
    if (difference === undefined || this.monotonicMs() - difference.atMs >= FAR_MS) return undefined;
    const { differenceMs, behindMs } = difference;
    return { differenceMs, earliest: new Date(this.now().getTime() - behindMs) };
  }

  after(delayMs: number, callback: () => void): Cancel {
    return this.#machine.after(delayMs, callback);
  }

  /**
   * Takes the Date header of a response whose head has just arrived; ignores an invalid one.
   *
   * @param sentAtMs when the request was sent, on the monotonic clock
   */
  heard(date: string | undefined, sentAtMs: number): void {
    const atMs = this.#machine.monotonicMs();
    if (date === this.#heard?.date && atMs - (this.#heard?.atMs ?? 0) < MEASURED_EVERY_MS) return;
    const serverMs = Date.parse(date ?? "");
    if (Number.isNaN(serverMs)) return;
    this.#heard = { date, atMs };
    this.#forgetIfSet();
    const halfTripMs = (atMs - sentAtMs) / 2;
    const offsetMs = serverMs + HALF_SECOND_MS - (this.#machine.now().getTime() - halfTripMs);
    this.#remember({ offsetMs, uncertaintyMs: HALF_SECOND_MS + halfTripMs, atMs });
  }

  /** Measurements from before the local clock was set are worthless. */
  #forgetIfSet(): void {
    const aheadMs = this.#machine.now().getTime() - this.#machine.monotonicMs();
    if (Math.abs(aheadMs - this.#aheadOfMonotonicMs) > SET_BY_MS) this.#measurements = [];
    this.#aheadOfMonotonicMs = aheadMs;
  }

  #remember(latest: Measurement): void {
    if (!this.#isNear(latest)) return;
    const young = this.#measurements.filter(one => latest.atMs - one.atMs < REMEMBERED_MS);
    if (!this.#isCredible(latest, young[0])) return;
    // Contradicting measurements are from before a clock was set.
    const agreeing = young.filter(one => agree(one, latest));
    const byCertainty = [...agreeing, latest].sort((a, b) => a.uncertaintyMs - b.uncertaintyMs || b.atMs - a.atMs);
    this.#measurements = byCertainty.slice(0, MAX_MEASUREMENTS);
    const bestMs = Math.round(byCertainty[0]?.offsetMs ?? 0);
    this.#report.clockOffset(bestMs / 1000);
    this.#apply(Math.abs(bestMs) > APPLIED_FROM_MS ? bestMs : 0);
  }

  /** Compares with the best measurement however old it is, so that a break does not let in another clock. */
  #isNear(latest: Measurement): boolean {
    const [best] = this.#measurements;
    if (best === undefined || agree(best, latest) || distance(best, latest) <= ALARMING_MS) {
      this.#far = undefined;
      this.#endDifference(latest.atMs);
      return true;
    }
    const { sinceMs, answers } = this.#far ?? { sinceMs: latest.atMs, answers: 0 };
    this.#far = { sinceMs, answers: answers + 1 };
    if (latest.atMs - sinceMs < FAR_MS || answers < FAR_ANSWERS) {
      this.#noteDifference(best, latest);
      return false;
    }
    this.#measurements = [];
    this.#far = undefined;
    this.#endDifference(Infinity);
    return true;
  }

  /** Changes of less than a second are noise of the header, and would write status again. */
  #noteDifference(best: Measurement, latest: Measurement): void {
    const differenceMs = distance(best, latest);
    const behindMs = Math.max(0, best.offsetMs - latest.offsetMs);
    const before = this.#difference;
    const grown = (beforeMs: number, nowMs: number): number => (nowMs > beforeMs + 1_000 ? nowMs : beforeMs);
    this.#difference = {
      atMs: latest.atMs,
      differenceMs: grown(before?.differenceMs ?? 0, differenceMs),
      behindMs: grown(before?.behindMs ?? 0, behindMs),
    };
    const seconds = this.#difference.differenceMs / 1000;
    this.#report.clockDifference(seconds);
    if (before !== undefined) return;
    this.#report
      .log()
      .warn(
        { differenceSeconds: seconds },
        "clocks of API servers differ, restarting and renewing nothing until they agree",
      );
  }

  #endDifference(nowMs: number): void {
    if (this.#difference === undefined || nowMs - this.#difference.atMs < FAR_MS) return;
    this.#difference = undefined;
    this.#report.clockDifference(0);
    this.#report.log().warn({ differenceSeconds: 0 }, "clocks of API servers agree again");
  }

  /** A small change of the server's clock is followed after a while without contradiction. */
  #isCredible(latest: Measurement, best: Measurement | undefined): boolean {
    const isContradiction = best !== undefined && !agree(best, latest);
    this.#contradictedSinceMs = isContradiction ? (this.#contradictedSinceMs ?? latest.atMs) : undefined;
    const isCredible = !isContradiction || latest.atMs - (this.#contradictedSinceMs ?? latest.atMs) >= CONTRADICTED_MS;
    if (isCredible) this.#contradictedSinceMs = undefined;
    return isCredible;
  }

  #apply(offsetMs: number): void {
    const before = this.#offsetMs;
    this.#offsetMs = offsetMs;
    const turned = Math.sign(offsetMs) !== Math.sign(before);
    const grew = Math.abs(offsetMs) > ALARMING_MS && Math.abs(before) <= ALARMING_MS;
    if (!turned && !grew) return;
    const fields = { offsetSeconds: offsetMs / 1000 };
    const message =
      offsetMs === 0
        ? "local clock agrees with the API server's clock again"
        : "local clock differs from the API server's clock, using the latter";
    this.#report.log().warn(fields, message);
  }
}

function agree(a: Measurement, b: Measurement): boolean {
  return distance(a, b) <= a.uncertaintyMs + b.uncertaintyMs;
}

function distance(a: Measurement, b: Measurement): number {
  return Math.abs(a.offsetMs - b.offsetMs);
}
