import type { Cancel, Clock } from "../../core/clock";
import type { Log } from "../../core/ports";

/** Measurements older than this are forgotten: clocks drift, and are set. */
const REMEMBERED_MS = 300_000;

/** Measurements that are kept at most; the least certain of them goes first. */
const MAX_MEASUREMENTS = 32;

/** The header Date counts whole seconds: the server's time lies within half of one around their middle. */
const HALF_SECOND_MS = 500;

/** A smaller difference is nothing that timestamps in whole seconds could show. */
const APPLIED_FROM_MS = 1_500;

/** From here on somebody should set a clock right. */
const ALARMING_MS = 30_000;

/**
 * For so long answers have to contradict, and none to agree, before they are believed rather than what was heard before. The API servers of
 * one control plane differ by seconds where their clocks are not kept well, and whoever answers is chance: now() must not follow each of them.
 */
const CONTRADICTED_MS = 60_000;

/** If this machine's clock goes this far from its monotonic one between two answers, somebody has set it. */
const SET_BY_MS = 1_000;

interface Measurement {
  readonly offsetMs: number;
  readonly uncertaintyMs: number;
  readonly atMs: number;
}

/** Who is told of the offset. */
export interface ServerClockReport {
  readonly log: () => Pick<Log, "warn">;
  readonly clockOffset: (seconds: number) => void;
}

/**
 * The API server's time. Whatever is compared with timestamps of the cluster has to be measured by the clock that made them, and
 * this machine's may be off. The difference is estimated from the header Date of the answers; below 1.5 s it is none. Durations
 * and timers are this machine's own.
 */
export class ServerClock implements Clock {
  readonly #machine: Clock;
  readonly #report: ServerClockReport;
  /** The most certain first. */
  #measurements: readonly Measurement[] = [];
  #contradictedSinceMs: number | undefined;
  /** What this machine's clock shows beyond its monotonic one. */
  #aheadOfMonotonicMs: number;
  #offsetMs = 0;

  constructor(machine: Clock, report: ServerClockReport) {
    this.#machine = machine;
    this.#report = report;
    this.#aheadOfMonotonicMs = machine.now().getTime() - machine.monotonicMs();
  }

  /** See {@link Clock.now}: what the API server's clock shows. */
  now(): Date {
    return new Date(this.#machine.now().getTime() + this.#offsetMs);
  }

  /** See {@link Clock.monotonicMs}. */
  monotonicMs(): number {
    return this.#machine.monotonicMs();
  }

  /** See {@link Clock.after}. */
  after(delayMs: number, callback: () => void): Cancel {
    return this.#machine.after(delayMs, callback);
  }

  /**
   * Takes the header Date of an answer whose head has just arrived. One that can't be read says nothing.
   *
   * @param sentAtMs when the request was sent, on the monotonic clock
   */
  heard(date: string | undefined, sentAtMs: number): void {
    const serverMs = Date.parse(date ?? "");
    if (Number.isNaN(serverMs)) return;
    this.#forgetIfSet();
    const atMs = this.#machine.monotonicMs();
    const halfTripMs = (atMs - sentAtMs) / 2;
    const offsetMs = serverMs + HALF_SECOND_MS - (this.#machine.now().getTime() - halfTripMs);
    this.#remember({ offsetMs, uncertaintyMs: HALF_SECOND_MS + halfTripMs, atMs });
  }

  /** What was measured by this machine's clock before somebody has set it says nothing any more. */
  #forgetIfSet(): void {
    const aheadMs = this.#machine.now().getTime() - this.#machine.monotonicMs();
    if (Math.abs(aheadMs - this.#aheadOfMonotonicMs) > SET_BY_MS) this.#measurements = [];
    this.#aheadOfMonotonicMs = aheadMs;
  }

  #remember(latest: Measurement): void {
    const young = this.#measurements.filter(one => latest.atMs - one.atMs < REMEMBERED_MS);
    if (!this.#isToBelieve(latest, young[0])) return;
    // Whatever contradicts it was made before a clock was set.
    const agreeing = young.filter(one => agree(one, latest));
    const byCertainty = [...agreeing, latest].sort((a, b) => a.uncertaintyMs - b.uncertaintyMs || b.atMs - a.atMs);
    this.#measurements = byCertainty.slice(0, MAX_MEASUREMENTS);
    const bestMs = Math.round(byCertainty[0]?.offsetMs ?? 0);
    this.#report.clockOffset(bestMs / 1000);
    this.#apply(Math.abs(bestMs) > APPLIED_FROM_MS ? bestMs : 0);
  }

  /** A server's clock that was set is followed: at once if by much, else when no answer has agreed for a while. */
  #isToBelieve(latest: Measurement, best: Measurement | undefined): boolean {
    const isContradiction = best !== undefined && !agree(best, latest);
    this.#contradictedSinceMs = isContradiction ? (this.#contradictedSinceMs ?? latest.atMs) : undefined;
    const isBelieved =
      !isContradiction ||
      distance(best, latest) > ALARMING_MS ||
      latest.atMs - (this.#contradictedSinceMs ?? latest.atMs) >= CONTRADICTED_MS;
    if (isBelieved) this.#contradictedSinceMs = undefined;
    return isBelieved;
  }

  #apply(offsetMs: number): void {
    const before = this.#offsetMs;
    this.#offsetMs = offsetMs;
    const turned = Math.sign(offsetMs) !== Math.sign(before);
    const grew = Math.abs(offsetMs) > ALARMING_MS && Math.abs(before) <= ALARMING_MS;
    if (!turned && !grew) return;
    const fields = { offsetSeconds: offsetMs / 1000 };
    const what =
      offsetMs === 0
        ? "this machine's clock agrees with the API server's again"
        : "this machine's clock differs from the API server's; the API server's is used";
    this.#report.log().warn(fields, what);
  }
}

function agree(a: Measurement, b: Measurement): boolean {
  return distance(a, b) <= a.uncertaintyMs + b.uncertaintyMs;
}

function distance(a: Measurement, b: Measurement): number {
  return Math.abs(a.offsetMs - b.offsetMs);
}
