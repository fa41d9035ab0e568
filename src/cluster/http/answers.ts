import type { Clock } from "../../core/time";
import type { Log } from "../../core/ports";

// What the answers of API servers show besides what was asked for.

/** Even a standby reads the Lease every few seconds. */
const UNREACHABLE_AFTER_MS = 60_000;

/** Tracks whether the API server responds to this operator and accepts its identity. */
export class Reachability {
  readonly #clock: Clock;
  #succeededAtMs: number | null = null;
  /** Last 401, or end of an outage. */
  #troubleAtMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes the status code of a response. */
  answered(code: number): void {
    const nowMs = this.#clock.monotonicMs();
    if (code === 401 || (this.#succeededAtMs !== null && this.trouble() !== null)) this.#troubleAtMs = nowMs;
    if (code < 400) this.#succeededAtMs = nowMs;
  }

  /** Time since the API server last answered 401 to the operator, or was lost, in milliseconds; Infinity if it never did. */
  sinceTroubleMs(): number {
    return this.#clock.monotonicMs() - this.#troubleAtMs;
  }

  /** Reports whether the API server accepted a request within this time and answered none with 401. An invalid token gets 401 for any path. */
  hasAcceptedWithin(ms: number): boolean {
    if (this.#succeededAtMs === null) return false;
    return this.#clock.monotonicMs() - this.#succeededAtMs < ms && this.sinceTroubleMs() >= ms;
  }

  /** Returns the problem, or null. One forbidden or slow namespace is not a problem here. */
  trouble(): string | null {
    if (this.#succeededAtMs === null) return "no response from the API server yet";
    const sinceMs = this.#clock.monotonicMs() - this.#succeededAtMs;
    if (sinceMs <= UNREACHABLE_AFTER_MS) return null;
    return `no successful response from the API server for ${Math.round(sinceMs / 1000)} s`;
  }
}

/** Times that the operator writes and compares may be wrong by as much. */
const WARNED_ABOVE_MS = 30_000;

/** The answer that differs most counts for this long: several API servers answer in turn, and one of them may be wrong. */
const OFFSET_KEPT_MS = 300_000;

/** The Date header has whole seconds. */
const SECOND_MS = 1_000;

/** Compares the operator's own clock, which it uses for everything, with the Date header of each answer. Nothing waits for the result. */
export class ClockOffset {
  readonly #clock: Clock;
  readonly #log: Pick<Log, "warn">;
  readonly #report: (seconds: number) => void;
  #largest = { offsetMs: 0, atMs: -Infinity };

  /** @param report takes how far an API server is ahead; of the last five minutes the largest offset */
  constructor(clock: Clock, log: Pick<Log, "warn">, report: (seconds: number) => void) {
    this.#clock = clock;
    this.#log = log;
    this.#report = report;
  }

  /**
   * Takes the Date header of a response whose head has just arrived; ignores an invalid one.
   *
   * @param sentAtMs when the request was sent, on the monotonic clock
   */
  answered(date: string | undefined, sentAtMs: number): void {
    const serverMs = Date.parse(date ?? "");
    if (Number.isNaN(serverMs)) return;
    const atMs = this.#clock.monotonicMs();
    const offsetMs = this.#offset(serverMs, atMs - sentAtMs);
    const before = this.#largest;
    if (Math.abs(offsetMs) < Math.abs(before.offsetMs) && atMs - before.atMs < OFFSET_KEPT_MS) return;
    this.#largest = { offsetMs, atMs };
    const offsetSeconds = offsetMs / 1000;
    this.#report(offsetSeconds);
    if (isFar(offsetMs) === isFar(before.offsetMs)) return;
    const message = isFar(offsetMs)
      ? "clock differs from the API server's"
      : "clock agrees with the API server's again";
    this.#log.warn({ offsetSeconds }, message);
  }

  /** Says by how much the clocks differ, if it is too much; else null. */
  trouble(): string | null {
    const { offsetMs } = this.#largest;
    if (!isFar(offsetMs)) return null;
    const side = offsetMs > 0 ? "behind" : "ahead of";
    // Rounded, so that small changes are no news.
    return `the operator's clock is about ${10 * Math.round(Math.abs(offsetMs) / 10_000)} s ${side} an API server's`;
  }

  /** The least by which the clocks differ: the server wrote the header at some time between request and answer. */
  #offset(serverMs: number, tripMs: number): number {
    const nowMs = this.#clock.now().getTime();
    return Math.max(0, serverMs - nowMs) + Math.min(0, serverMs + SECOND_MS - (nowMs - tripMs));
  }
}

function isFar(offsetMs: number): boolean {
  return Math.abs(offsetMs) > WARNED_ABOVE_MS;
}
