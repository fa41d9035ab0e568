import type { Clock } from "../../core/time";
import type { Measures } from "../../core/metrics";
import type { Log } from "../../core/ports";

// What the answers of API servers show besides what was asked for.

/** Even a standby reads the Lease every few seconds. */
const UNREACHABLE_AFTER_MS = 60_000;

/** 401s within this time, in milliseconds, count once: a client that is refused asks again with other credentials. */
const REJECTIONS_APART_MS = 30_000;

/**
 * An identity that is rejected so often, over two minutes, although each request reads the credentials again, does not recover in this process.
 * The kubelet renews each of its tokens after 8 to 12 minutes, usually one of them within two, and a replaced pod gets some within seconds. A few
 * before and after an outage, such as a control plane restart, are not enough.
 */
const DEAD_AFTER_REJECTIONS = 5;

/** What {@link Reachability} works with. */
export interface ReachabilityPorts {
  readonly clock: Clock;
  readonly log: Pick<Log, "info" | "error">;
  readonly metrics: Pick<Measures, "show">;
  /** Called when the identity is permanently rejected. The process should exit, so that the failure is visible. */
  readonly onDead: () => void;
}

/**
 * Tracks whether the API server responds to this operator and accepts its identity, by the answers to all requests. The Lease is read or
 * renewed every few seconds, so a rejected token is noticed even while all watches stay open. Only a 401 is a rejection; other failures
 * prove nothing.
 */
export class Reachability {
  readonly #ports: ReachabilityPorts;
  #succeededAtMs: number | null = null;
  /** Last 401, or end of an outage. */
  #troubleAtMs = -Infinity;
  /** The 401s since the last success. */
  #rejected: { readonly sinceMs: number; readonly countedMs: number; readonly count: number } | undefined;

  constructor(ports: ReachabilityPorts) {
    this.#ports = ports;
  }

  /** Takes the status code of a response. */
  answered(code: number): void {
    const nowMs = this.#ports.clock.monotonicMs();
    if (code === 401 || (this.#succeededAtMs !== null && this.trouble() !== null)) this.#troubleAtMs = nowMs;
    if (code === 401) this.#reject(nowMs);
    if (code >= 400) return;
    this.#succeededAtMs = nowMs;
    const wasRejected = this.#rejection !== undefined;
    this.#rejected = undefined;
    if (!wasRejected) return;
    this.#ports.metrics.show("identity_rejected", 0);
    this.#ports.log.info({}, "the operator's identity is accepted again");
  }

  #reject(nowMs: number): void {
    const { log, metrics, onDead } = this.#ports;
    const { sinceMs, countedMs, count } = this.#rejected ?? { sinceMs: nowMs, countedMs: -Infinity, count: 0 };
    if (nowMs - countedMs < REJECTIONS_APART_MS) return;
    this.#rejected = { sinceMs, countedMs: nowMs, count: count + 1 };
    if (this.#rejection === undefined) return;
    metrics.show("identity_rejected", 1);
    const fields = { rejectedForSeconds: Math.round((nowMs - sinceMs) / 1000) };
    log.error(fields, "API server rejected the operator's credentials (401): token or ServiceAccount is invalid");
    if (count + 1 < DEAD_AFTER_REJECTIONS) return;
    log.error(fields, "exiting: the operator's credentials are permanently rejected");
    onDead();
  }

  /** A single 401 may be that of one of several API servers, or of an aggregated one. */
  get #rejection(): { readonly sinceMs: number } | undefined {
    return this.#rejected !== undefined && this.#rejected.count > 1 ? this.#rejected : undefined;
  }

  /** Describes the rejection for /readyz; null if the identity is accepted or its state is unknown. */
  rejection(): string | null {
    if (this.#rejection === undefined) return null;
    const seconds = Math.round((this.#ports.clock.monotonicMs() - this.#rejection.sinceMs) / 1000);
    return `the API server has rejected the operator's credentials (401) for ${seconds} s`;
  }

  /** Time since the API server last answered 401 to the operator, or was lost, in milliseconds; Infinity if it never did. */
  sinceTroubleMs(): number {
    return this.#ports.clock.monotonicMs() - this.#troubleAtMs;
  }

  /** Returns the problem, or null. One forbidden or slow namespace is not a problem here. */
  trouble(): string | null {
    if (this.#succeededAtMs === null) return "no response from the API server yet";
    const sinceMs = this.#ports.clock.monotonicMs() - this.#succeededAtMs;
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
  /** Of those that count, each that differs more than all later ones: the first is the largest. */
  #kept: readonly { readonly offsetMs: number; readonly atMs: number }[] = [];

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
    const [before] = this.#kept;
    const kept = this.#kept.filter(
      one => atMs - one.atMs < OFFSET_KEPT_MS && Math.abs(one.offsetMs) > Math.abs(offsetMs),
    );
    const largest = kept[0] ?? { offsetMs, atMs };
    this.#kept = [...kept, { offsetMs, atMs }];
    if (largest === before) return;
    const offsetSeconds = largest.offsetMs / 1000;
    this.#report(offsetSeconds);
    if (isFar(largest.offsetMs) === isFar(before?.offsetMs ?? 0)) return;
    const message = isFar(largest.offsetMs)
      ? "clock differs from the API server's"
      : "clock agrees with the API server's again";
    this.#log.warn({ offsetSeconds }, message);
  }

  /** Says that the clocks differ too much; else null. The metric has by how much: a message that changes would be written each time. */
  trouble(): string | null {
    if (!isFar(this.#largestMs)) return null;
    const side = this.#largestMs > 0 ? "behind" : "ahead of";
    return `the operator's clock is more than ${WARNED_ABOVE_MS / 1_000} s ${side} an API server's`;
  }

  /** Returns by how much an API server's clock is ahead, at least, in milliseconds; 0 if none is. */
  behindMs(): number {
    return Math.max(0, this.#largestMs);
  }

  get #largestMs(): number {
    return this.#kept[0]?.offsetMs ?? 0;
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
