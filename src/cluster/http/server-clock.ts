import type { Cancel, Clock } from "../../core/clock";
import type { Log } from "../../core/ports";

/** Older measurements are dropped, since clocks drift and people set them. */
const REMEMBERED_MS = 300_000;

/** Beyond this number, the least certain measurements are dropped. */
const MAX_MEASUREMENTS = 32;

/** The Date header has whole seconds: the server's time is within half a second of their middle. */
const HALF_SECOND_MS = 500;

/** Smaller offsets are not applied: timestamps in whole seconds do not show them. */
const APPLIED_FROM_MS = 1_500;

/** Larger offsets are logged and applied immediately. */
const ALARMING_MS = 30_000;

/**
 * New measurements that contradict the old ones are accepted only after this time without an agreeing one. The clocks of the API
 * servers of one control plane may differ by seconds, and a load balancer picks one per request: now() must not jump between them.
 */
const CONTRADICTED_MS = 60_000;

/** If the local wall clock moves this far from the monotonic clock between two responses, it was set. */
const SET_BY_MS = 1_000;

/** The same header again within this time says nothing new. */
const MEASURED_EVERY_MS = 100;

interface Measurement {
  readonly offsetMs: number;
  readonly uncertaintyMs: number;
  readonly atMs: number;
}

export interface ServerClockReport {
  readonly log: () => Pick<Log, "warn">;
  readonly clockOffset: (seconds: number) => void;
}

/**
 * The API server's clock. Timestamps of the cluster are only comparable with the clock that wrote them, and the local clock may be
 * wrong. The offset is estimated from the Date header of responses; an offset below 1.5 s is ignored. Durations and timers use the
 * local clock.
 */
export class ServerClock implements Clock {
  readonly #machine: Clock;
  readonly #report: ServerClockReport;
  /** Most certain first. */
  #measurements: readonly Measurement[] = [];
  #contradictedSinceMs: number | undefined;
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

  /** A change of the server's clock is followed: immediately if it is large, else after a while without contradiction. */
  #isCredible(latest: Measurement, best: Measurement | undefined): boolean {
    const isContradiction = best !== undefined && !agree(best, latest);
    this.#contradictedSinceMs = isContradiction ? (this.#contradictedSinceMs ?? latest.atMs) : undefined;
    const isCredible =
      !isContradiction ||
      distance(best, latest) > ALARMING_MS ||
      latest.atMs - (this.#contradictedSinceMs ?? latest.atMs) >= CONTRADICTED_MS;
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
