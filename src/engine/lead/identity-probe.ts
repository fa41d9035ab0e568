import { type Cancel, type Clock, withDeadline } from "../../core/time";
import { publicMessage, UnauthorizedError } from "../../core/errors";
import type { Identity, IdentityMetrics, Log } from "../../core/ports";

/** The API server does not authenticate open watches again, so only new requests show that the identity is rejected. */
const INTERVAL_MS = 30_000;

/**
 * An identity that is rejected for this long, although each request reads the credentials again, does not recover in this process.
 * The kubelet writes each of its tokens anew after 8 to 12 minutes, usually one of them within two, and a replaced pod gets some within seconds.
 */
const DEAD_AFTER_MS = 120_000;

/** Minimum number of rejections: two of them before and after an outage, such as a control plane restart, are not enough. */
const DEAD_AFTER_REJECTIONS = 4;

/** Timeout of one request, including the credential plugin, which may hang. */
const DEADLINE_MS = 20_000;

/** Dependencies of the probe. */
export interface IdentityProbePorts {
  readonly identity: Identity;
  /** Whether the API server accepted another request of the operator within this time, in milliseconds, and rejected none. */
  readonly hasAcceptedWithin: (ms: number) => boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: IdentityMetrics;
  /** Called once, when the identity is permanently rejected. The process should exit, so that the failure is visible. */
  readonly onDead: () => void;
}

/**
 * Finds out every 30 s whether the API server still accepts the operator's identity: from its answers to other requests, such as
 * renewals of the Lease, or by a request of its own. Without the probe, the operator itself could run with a rejected token while its
 * watches stay open. Only a 401 is a rejection; other failures prove nothing.
 */
export class IdentityProbe {
  readonly #ports: IdentityProbePorts;
  #cancel: Cancel = () => undefined;
  #isStopped = false;
  /** Monotonic time of the first 401 since the last success. */
  #rejectedSinceMs: number | undefined;
  #rejections = 0;

  constructor(ports: IdentityProbePorts) {
    this.#ports = ports;
  }

  /** Starts the probe. */
  start(): void {
    void this.#probe();
  }

  /** Stops the probe. */
  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** Describes the rejection for /readyz; null if the identity is accepted or its state is unknown. */
  failure(): string | null {
    if (this.#rejectedSinceMs === undefined) return null;
    const seconds = Math.round((this.#ports.clock.monotonicMs() - this.#rejectedSinceMs) / 1000);
    return `the API server has rejected the operator's credentials (401) for ${seconds} s`;
  }

  async #probe(): Promise<void> {
    try {
      const { clock, identity, hasAcceptedWithin } = this.#ports;
      if (!hasAcceptedWithin(INTERVAL_MS))
        await withDeadline(clock, DEADLINE_MS, "reviewing the operator's identity", () => identity.review());
      this.#accepted();
    } catch (error) {
      if (error instanceof UnauthorizedError) this.#rejected();
      else this.#ports.log.debug({ error: publicMessage(error) }, "failed to review the operator's identity");
    }
    if (!this.#isStopped) this.#cancel = this.#ports.clock.after(INTERVAL_MS, () => void this.#probe());
  }

  #accepted(): void {
    this.#ports.metrics.identityRejected(false);
    if (this.#rejectedSinceMs !== undefined) this.#ports.log.info({}, "the operator's identity is accepted again");
    this.#rejectedSinceMs = undefined;
    this.#rejections = 0;
  }

  #rejected(): void {
    const { clock, identity, log, metrics } = this.#ports;
    metrics.identityRejected(true);
    const nowMs = clock.monotonicMs();
    this.#rejectedSinceMs ??= nowMs;
    this.#rejections += 1;
    const rejectedForMs = nowMs - this.#rejectedSinceMs;
    const ageMs = identity.tokenAgeMs();
    const fields = {
      rejectedForSeconds: Math.round(rejectedForMs / 1000),
      ...(ageMs === undefined ? {} : { tokenAgeSeconds: Math.round(ageMs / 1000) }),
    };
    log.error(fields, "API server rejected the operator's credentials (401): token or ServiceAccount is invalid");
    if (rejectedForMs < DEAD_AFTER_MS || this.#rejections < DEAD_AFTER_REJECTIONS || this.#isStopped) return;
    log.error(fields, "exiting: the operator's credentials are permanently rejected");
    this.stop();
    this.#ports.onDead();
  }
}
