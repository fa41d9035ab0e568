import type { Cancel, Clock } from "../core/clock";
import type { Log } from "../core/ports";

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
  #measurements: readonly Measurement[] = [];
  #offsetMs = 0;

  constructor(machine: Clock, report: ServerClockReport) {
    this.#machine = machine;
    this.#report = report;
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
    const atMs = this.#machine.monotonicMs();
    const halfTripMs = (atMs - sentAtMs) / 2;
    const offsetMs = serverMs + HALF_SECOND_MS - (this.#machine.now().getTime() - halfTripMs);
    this.#remember({ offsetMs, uncertaintyMs: HALF_SECOND_MS + halfTripMs, atMs });
  }

  #remember(latest: Measurement): void {
    const { atMs } = latest;
    // One that contradicts the latest was made before a clock was set.
    const agreeing = this.#measurements.filter(
      one => atMs - one.atMs < REMEMBERED_MS && distance(one, latest) <= one.uncertaintyMs + latest.uncertaintyMs,
    );
    const byCertainty = [...agreeing, latest].sort((a, b) => a.uncertaintyMs - b.uncertaintyMs || b.atMs - a.atMs);
    this.#measurements = byCertainty.slice(0, MAX_MEASUREMENTS);
    const bestMs = Math.round(byCertainty[0]?.offsetMs ?? 0);
    this.#report.clockOffset(bestMs / 1000);
    this.#apply(Math.abs(bestMs) > APPLIED_FROM_MS ? bestMs : 0);
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

function distance(a: Measurement, b: Measurement): number {
  return Math.abs(a.offsetMs - b.offsetMs);
}
