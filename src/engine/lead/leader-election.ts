import type { Cancel, Clock, Random } from "../../core/clock";
import { ConflictError, describeError, framesOf, GoneError, publicMessage, WaitError } from "../../core/errors";
import type { EngineMetrics, LeaseRecord, LeaseStore, Log } from "../../core/ports";
import { withDeadline } from "../../core/deadline";
import { expiresAfterMs, fingerprint, isReleased, isSameHold, released, renewed, takenOver } from "./lease-record";

/** The times of an election, in milliseconds. */
export interface ElectionTiming {
  /** Others leave a Lease alone until they have seen it unchanged for this long. */
  readonly leaseDurationMs: number;
  /** A leader that has not renewed for this long is none. Shorter than the lease by what a last write may take. */
  readonly renewDeadlineMs: number;
  /** Between two attempts. */
  readonly retryPeriodMs: number;
  /** Candidates wait up to this many retry periods longer, at random, so that they don't come all at once. */
  readonly jitterFactor: number;
  /**
   * A Lease that is not there may have been deleted under a living leader: it is created after it was seen missing for
   * this long, by when that leader has made it again or has stopped. Costs this once, at the first start of all.
   */
  readonly absentLeaseWaitMs: number;
}

/** Lease, deadline, retry and jitter as in client-go. */
export const DEFAULT_TIMING: ElectionTiming = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
  jitterFactor: 1.2,
  absentLeaseWaitMs: 10_000,
};

/** What an election needs and whom it tells. */
export interface ElectionPorts {
  readonly store: Omit<LeaseStore, "ref">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: EngineMetrics;
  readonly onStartedLeading: () => void;
  /** Called in the very moment of the loss, before anything else happens, with what people are told of it. */
  readonly onStoppedLeading: (why: string) => void;
}

/** No server is asked for patience longer than this by one answer. */
const MAX_WAIT_MS = 60_000;
/** A write without an answer may have been carried out; so many of them are remembered. */
const WRITES_REMEMBERED = 16;
/** Tries to step down properly; whoever waits for it is about to exit. */
const RELEASE_TRIES = 3;

/**
 * Competes for a Lease for ever: after a loss it goes on, the process does not exit.
 *
 * Safe as long as monotonic clocks run at about the same rate: a leader counts its deadline from *before* it sends the
 * renewal, others count the longer lease from *after* they have seen it. It is still no fence for a write that is under
 * way, so writes carry preconditions. An identity proves nothing: a Lease is ours if this process has written it.
 */
export class LeaderElector {
  readonly #ports: ElectionPorts;
  readonly #timing: ElectionTiming;
  readonly #identity: string;
  #running = false;
  #leadingUntilMs: number | undefined;
  #cancelDeadline: Cancel = () => undefined;
  #cancelRetry: Cancel = () => undefined;
  #attempt: Promise<void> = Promise.resolve();
  #failures = 0;
  /** Why the last attempt failed; null when it did not. */
  #failure: string | null = "it was not asked for yet";
  /** Whether the Lease was ever there, whoever held it. */
  #isKnown = false;
  /** Last known to be ours, with its resourceVersion. */
  #held: LeaseRecord | undefined;
  /** What we wrote last and, without an answer, since. */
  #written: LeaseRecord[] = [];
  #seen: { readonly fingerprint: string; readonly atMs: number } | undefined;

  constructor(identity: string, ports: ElectionPorts, timing: Partial<ElectionTiming> = {}) {
    this.#identity = identity;
    this.#ports = ports;
    this.#timing = { ...DEFAULT_TIMING, ...timing };
  }

  /** Whether this process leads now. Asks the monotonic clock, so a process that was stopped says no as soon as it wakes up. */
  isLeader(): boolean {
    return this.#leadingUntilMs !== undefined && this.#ports.clock.monotonicMs() < this.#leadingUntilMs;
  }

  /**
   * Why this process can't compete for a Lease that it has never seen; null otherwise. For /readyz: one that has been installed without its rights, or
   * for a namespace that is not there, has to be seen, while one that loses its Lease later stays Ready, or a moment of overload would end a rollout.
   */
  trouble(): string | null {
    return this.#isKnown || this.#failure === null ? null : `the Lease can't be had: ${this.#failure}`;
  }

  /** Begins to compete. */
  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#ports.metrics.leader(false);
    this.#scheduleAttempt(0);
  }

  /** Stops leading at once, then hands the Lease back, within two call timeouts or so. */
  async stop(): Promise<void> {
    if (!this.#running) return;
    this.#running = false;
    this.#cancelRetry();
    const led = this.isLeader();
    this.#lose("the operator stops");
    await this.#attempt;
    if (led) await this.#release();
  }

  #scheduleAttempt(delayMs: number): void {
    this.#cancelRetry = this.#ports.clock.after(delayMs, () => {
      this.#attempt = this.#compete();
    });
  }

  /** One attempt; never throws. */
  async #compete(): Promise<void> {
    let patienceMs = 0;
    try {
      await this.#acquireOrRenew();
      this.#failures = 0;
      this.#failure = null;
    } catch (error) {
      this.#failures++;
      if (error instanceof WaitError) patienceMs = Math.min(error.afterMs, MAX_WAIT_MS);
      this.#reportFailure(error);
    }
    if (this.#running) this.#scheduleAttempt(this.#nextDelayMs(patienceMs));
  }

  #nextDelayMs(patienceMs: number): number {
    const { retryPeriodMs, leaseDurationMs, jitterFactor } = this.#timing;
    // While leading time is short: the steady pace is all the courtesy that the deadline allows.
    if (this.#leadingUntilMs !== undefined) return retryPeriodMs;
    const backoffMs = Math.min(retryPeriodMs * 2 ** Math.max(0, this.#failures - 1), leaseDurationMs);
    return Math.max(patienceMs, backoffMs + this.#ports.random() * jitterFactor * retryPeriodMs);
  }

  async #acquireOrRenew(): Promise<void> {
    if (this.#leadingUntilMs !== undefined && this.#held !== undefined && (await this.#renewAsKnown(this.#held)))
      return;
    const found = await this.#call("reading the Lease", () => this.#ports.store.get());
    this.#see(found);
    if (!this.#running) return;
    if (found !== null && this.#isOurs(found)) {
      await this.#write(renewed(found, this.#timing.leaseDurationMs, this.#ports.clock.now()));
      return;
    }
    if (found !== null) this.#lose(`the Lease is held by "${found.holderIdentity}"`);
    if (this.#mayTake(found)) {
      await this.#write(takenOver(found, this.#identity, this.#timing.leaseDurationMs, this.#ports.clock.now()));
    }
  }

  /** The usual way of a leader: one write without a read. False when the Lease has changed since. */
  async #renewAsKnown(held: LeaseRecord): Promise<boolean> {
    try {
      await this.#write(renewed(held, this.#timing.leaseDurationMs, this.#ports.clock.now()));
      return true;
    } catch (error) {
      if (error instanceof ConflictError || error instanceof GoneError) return false;
      throw error;
    }
  }

  #mayTake(found: LeaseRecord | null): boolean {
    const unchangedMs = this.#ports.clock.monotonicMs() - (this.#seen?.atMs ?? Infinity);
    if (found !== null) {
      return isReleased(found) || unchangedMs >= expiresAfterMs(found, this.#timing.leaseDurationMs);
    }
    // While leading, others wait for us to make it again.
    return this.isLeader() || unchangedMs >= this.#timing.absentLeaseWaitMs;
  }

  async #write(record: LeaseRecord): Promise<void> {
    const startedMs = this.#ports.clock.monotonicMs();
    this.#written = [...this.#written.slice(-WRITES_REMEMBERED), record];
    const { store } = this.#ports;
    const written = await this.#call("writing the Lease", () =>
      record.resourceVersion === undefined ? store.create(record) : store.update(record),
    );
    this.#written = [record];
    this.#held = written;
    this.#see(written);
    this.#hold(startedMs);
  }

  #isOurs(found: LeaseRecord): boolean {
    return this.#written.some(written => isSameHold(found, written));
  }

  #see(found: LeaseRecord | null): void {
    this.#isKnown ||= found !== null;
    const now = fingerprint(found);
    if (this.#seen?.fingerprint === now) return;
    this.#seen = { fingerprint: now, atMs: this.#ports.clock.monotonicMs() };
  }

  #hold(startedMs: number): void {
    const { clock, log, metrics, onStartedLeading } = this.#ports;
    const untilMs = startedMs + this.#timing.renewDeadlineMs;
    // The timer of the deadline may be late; nobody may be leader across the gap without having heard of the loss.
    if (!this.isLeader()) this.#lose("renew deadline exceeded");
    if (!this.#running || clock.monotonicMs() >= untilMs) return;
    const begins = this.#leadingUntilMs === undefined;
    this.#leadingUntilMs = untilMs;
    this.#cancelDeadline();
    this.#cancelDeadline = clock.after(untilMs - clock.monotonicMs(), () => this.#lose("renew deadline exceeded"));
    if (!begins) return;
    log.info({ identity: this.#identity, transitions: this.#held?.leaseTransitions }, "started leading");
    metrics.leader(true);
    metrics.leaseTransition("acquired");
    this.#tell(onStartedLeading);
  }

  #lose(why: string): void {
    if (this.#leadingUntilMs === undefined) return;
    this.#leadingUntilMs = undefined;
    this.#cancelDeadline();
    this.#tell(() => this.#ports.onStoppedLeading(why));
    this.#ports.metrics.leader(false);
    this.#ports.metrics.leaseTransition("lost");
    this.#ports.log.warn({ identity: this.#identity, why }, "stopped leading");
  }

  #tell(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      const fields = { error: publicMessage(error), stack: framesOf(error) };
      this.#ports.log.error(fields, "a listener of the election failed: a bug");
    }
  }

  #reportFailure(error: unknown): void {
    const leading = this.#leadingUntilMs !== undefined;
    this.#failure = publicMessage(error);
    if (leading) this.#ports.metrics.leaseTransition("renew-failed");
    this.#ports.log.warn({ leading, failures: this.#failures, error: describeError(error) }, "the Lease can't be had");
  }

  /** Half of the deadline, so that a call that hangs leaves time for another one. */
  #call<T>(what: string, work: () => Promise<T>): Promise<T> {
    return withDeadline(this.#ports.clock, this.#timing.renewDeadlineMs / 2, what, work);
  }

  async #release(): Promise<void> {
    for (let tries = 0; tries < RELEASE_TRIES && this.#held !== undefined; tries++) {
      const record = released(this.#held, this.#ports.clock.now());
      try {
        await this.#call("releasing the Lease", () => this.#ports.store.update(record));
        this.#ports.log.info({ identity: this.#identity }, "released the Lease");
        return;
      } catch (error) {
        if (!(error instanceof ConflictError)) {
          this.#ports.log.warn(
            { error: describeError(error) },
            "the Lease could not be released; others wait until it expires",
          );
          return;
        }
        this.#held = await this.#reread();
      }
    }
  }

  async #reread(): Promise<LeaseRecord | undefined> {
    const found = await this.#call("reading the Lease", () => this.#ports.store.get()).catch(() => null);
    return found !== null && this.#isOurs(found) ? found : undefined;
  }
}
