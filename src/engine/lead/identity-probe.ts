import type { Cancel, Clock } from "../../core/clock";
import { publicMessage, UnauthorizedError } from "../../core/errors";
import type { Identity, Log } from "../../core/ports";
import { withDeadline } from "../../core/deadline";

/** Open watches are not authenticated again, so a dead identity shows only where something asks. */
const INTERVAL_MS = 30_000;

/**
 * An identity that was refused for this long, with credentials read anew each time, does not come back in this process. The kubelet
 * writes a new token every 8 minutes (expirationSeconds 600), and within seconds once the pod is replaced.
 */
const DEAD_AFTER_MS = 120_000;

/** ... and so many times: two refusals with an outage between them, as when the control plane is restarted, are no proof. */
const DEAD_AFTER_REFUSALS = 4;

/** Longest wait for one answer, credentials included: a plugin that gives them may hang. */
const DEADLINE_MS = 20_000;

/** What the identityProbe works with. */
export interface HeartbeatPorts {
  readonly identity: Identity;
  readonly clock: Clock;
  readonly log: Log;
  /** The process is of no use any more, and should end so that somebody sees it. Called once. */
  readonly onDead: () => void;
}

/**
 * Asks the API server every 30 s whether it still knows this operator, which would otherwise die of the very disease that it heals: a
 * token that is answered 401 while every watch is still open. Only a 401 is a refusal; any other failure says nothing about it.
 */
export class IdentityProbe {
  readonly #ports: HeartbeatPorts;
  #cancel: Cancel = () => undefined;
  #isStopped = false;
  /** Since when every answer that says anything was a 401; by the monotonic clock. */
  #refusedSinceMs: number | undefined;
  #backoff = 0;

  constructor(ports: HeartbeatPorts) {
    this.#ports = ports;
  }

  /** Begins to ask. */
  start(): void {
    void this.#beat();
  }

  /** Asks no more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** What is wrong, in words; null while all is well or nothing is known. For /readyz. */
  trouble(): string | null {
    if (this.#refusedSinceMs === undefined) return null;
    const seconds = Math.round((this.#ports.clock.monotonicMs() - this.#refusedSinceMs) / 1000);
    return `the API server answers 401 to the operator itself, for ${seconds} s`;
  }

  async #beat(): Promise<void> {
    try {
      const { clock, identity } = this.#ports;
      await withDeadline(clock, DEADLINE_MS, "the review of the operator's own identity", () => identity.review());
      this.#accepted();
    } catch (error) {
      if (error instanceof UnauthorizedError) this.#refused();
      else this.#ports.log.debug({ error: publicMessage(error) }, "the operator's identity could not be reviewed");
    }
    if (!this.#isStopped) this.#cancel = this.#ports.clock.after(INTERVAL_MS, () => void this.#beat());
  }

  #accepted(): void {
    if (this.#refusedSinceMs !== undefined) this.#ports.log.info({}, "the operator's identity is accepted again");
    this.#refusedSinceMs = undefined;
    this.#backoff = 0;
  }

  #refused(): void {
    const { clock, identity, log } = this.#ports;
    const nowMs = clock.monotonicMs();
    this.#refusedSinceMs ??= nowMs;
    this.#backoff += 1;
    const refusedForMs = nowMs - this.#refusedSinceMs;
    const ageMs = identity.tokenAgeMs();
    const fields = {
      refusedForSeconds: Math.round(refusedForMs / 1000),
      ...(ageMs === undefined ? {} : { tokenAgeSeconds: Math.round(ageMs / 1000) }),
    };
    log.error(fields, "the operator itself is answered 401: its token, or its ServiceAccount, is not known any more");
    if (refusedForMs < DEAD_AFTER_MS || this.#backoff < DEAD_AFTER_REFUSALS || this.#isStopped) return;
    log.error(fields, "the operator ends, so that its death is seen");
    this.stop();
    this.#ports.onDead();
  }
}
