import { type Cancel, type Clock, type Random, withDeadline, askedMs, doubled } from "../../core/time";
import { ConflictError, describeError, framesOf, GoneError, publicMessage } from "../../core/errors";
import type { Measures } from "../../core/metrics";
import type { LeaseRecord, LeaseStore, Log } from "../../core/ports";
import {
  expiresAfterMs,
  fingerprint,
  isReleased,
  isSameHold,
  type LeaseAnnotation,
  released,
  renewed,
  takenOver,
} from "./lease-record";

// Retry period and jitter are those of client-go, which renews each retry period. Lease duration and renew deadline are 5 s longer than there, so
// that a leader may renew six times a minute (docs/adr/0008). All in milliseconds.

/** Candidates wait until they have seen the Lease unchanged for this long. */
const LEASE_DURATION_MS = 20_000;

/** A leader steps down if it has not renewed for this long. Shorter than the lease duration by the time a last write may take. */
const RENEW_DEADLINE_MS = 15_000;

/** A leader renews so often. Less than the renew deadline by the time of an attempt that hangs, and of another one. */
const RENEW_PERIOD_MS = 10_000;

/** Time after a renewal that has failed. */
const RETRY_PERIOD_MS = 2_000;

/** Time between two looks of a candidate at the Lease of another. */
const CANDIDATE_PERIOD_MS = 5_000;

/** Candidates wait up to this many retry periods longer, at random, so that they do not all try at the same time. */
const JITTER_FACTOR = 1.2;

/** How a candidate treats a missing Lease. Tests do not wait. */
const ABSENT_LEASE = {
  /** It creates it only after this time, in which a live leader whose Lease was deleted creates it again. */
  waitMs: 12_000,
  /**
   * It holds a Lease that it has created for this long before it leads. At least the renew deadline: a leader whose Lease was deleted steps down
   * within it. With the wait above this delays only the first start after installation.
   */
  holdMs: 15_000,
};

/** How a missing Lease is remembered. */
const ABSENT = fingerprint(null);

/** Dependencies and callbacks of the election. */
export interface ElectionPorts {
  readonly store: Omit<LeaseStore, "ref">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Measures;
  /** What this election reads and writes with the Lease. */
  readonly annotations: readonly LeaseAnnotation[];
  readonly onStartedLeading: () => void;
  /** Called synchronously when the lead is lost, with the reason for the Event. */
  readonly onStoppedLeading: (why: string) => void;
}

/** Maximum wait that one answer of the API server can ask for. */
const MAX_WAIT_MS = 60_000;
/** A process that does not reach the Lease for so long is not ready: longer than one such wait. */
const UNREACHED_MS = 120_000;
/** Number of unanswered writes to remember, since the API server may have applied them. */
const WRITES_REMEMBERED = 16;
/** Attempts to release the Lease; few, because the process is about to exit. */
const RELEASE_TRIES = 3;

/**
 * Competes for a Lease until it is stopped. Losing the lead does not end the process.
 *
 * There is at most one leader as long as monotonic clocks run at about the same rate: a leader counts its deadline from *before*
 * it sends the renewal, and candidates count the longer lease duration from *after* they have seen it. A missing Lease proves nothing,
 * since it has no version: it may have been created and deleted between two reads. So its creator renews it until each leader
 * from before has stopped, and leads only then. The election does not fence a write in flight, so writes have preconditions. An
 * identity proves nothing: the Lease is ours only if this process has written it.
 */
export class LeaderElector {
  readonly #ports: ElectionPorts;
  readonly #absent: typeof ABSENT_LEASE;
  readonly #identity: string;
  #running = false;
  #leadingUntilMs: number | undefined;
  #cancelDeadline: Cancel = () => undefined;
  #cancelRetry: Cancel = () => undefined;
  #attempt: Promise<void> = Promise.resolve();
  #stopped: Promise<void> = Promise.resolve();
  #failures = 0;
  /** Why the last attempt failed; null if it succeeded. */
  #failure: string | null = "not requested yet";
  /** When an attempt last succeeded. */
  #reachedMs = -Infinity;
  /** The last record of the Lease known to be ours, with its resourceVersion. */
  #held: LeaseRecord | undefined;
  /** The Lease that this process has created, and since when it is known to exist. */
  #created: { readonly acquireTimeMs: number; readonly sinceMs: number } | undefined;
  /** The last confirmed write, and the unanswered writes after it. */
  #written: LeaseRecord[] = [];
  #seen: { readonly fingerprint: string; readonly atMs: number } | undefined;

  constructor(identity: string, ports: ElectionPorts, absent = ABSENT_LEASE) {
    this.#identity = identity;
    this.#ports = ports;
    this.#absent = absent;
  }

  /** Reports whether this process leads. Checks the monotonic clock, so the answer is correct also after the process was frozen. */
  isLeader(): boolean {
    return this.#leadingUntilMs !== undefined && this.#ports.clock.monotonicMs() < this.#leadingUntilMs;
  }

  /**
   * Describes for /readyz why this process does not reach the Lease, such as missing rights or a missing namespace; null while it does, and for
   * {@link UNREACHED_MS} after, since a short overload must not stop a rollout.
   */
  failure(): string | null {
    const isShort = this.#ports.clock.monotonicMs() - this.#reachedMs < UNREACHED_MS;
    return this.#failure === null || isShort ? null : `failed to acquire lease: ${this.#failure}`;
  }

  /** Starts to compete. */
  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#ports.metrics.show("leader", 0);
    this.#scheduleAttempt(0);
  }

  /** Stops leading immediately, then releases the Lease. Takes about two call timeouts at most; a second call ends with the first. */
  stop(): Promise<void> {
    if (!this.#running) return this.#stopped;
    this.#running = false;
    this.#cancelRetry();
    this.#lose("the operator is stopping");
    return (this.#stopped = this.#attempt.then(() => this.#release()));
  }

  #scheduleAttempt(delayMs: number): void {
    this.#cancelRetry = this.#ports.clock.after(delayMs, () => {
      this.#attempt = this.#compete();
    });
  }

  /** One attempt; never throws. */
  async #compete(): Promise<void> {
    const startedMs = this.#ports.clock.monotonicMs();
    let waitMs = 0;
    try {
      await this.#acquireOrRenew();
      this.#failures = 0;
      this.#failure = null;
      this.#reachedMs = this.#ports.clock.monotonicMs();
    } catch (error) {
      this.#failures++;
      waitMs = Math.min(askedMs(error), MAX_WAIT_MS);
      this.#reportFailure(error);
    }
    if (this.#running) this.#scheduleAttempt(this.#nextDelayMs(waitMs, this.#ports.clock.monotonicMs() - startedMs));
  }

  #nextDelayMs(askedMs: number, tookMs: number): number {
    // A leader must renew before its deadline, so it does not back off.
    const periodMs = this.#failures === 0 ? RENEW_PERIOD_MS : RETRY_PERIOD_MS;
    if (this.#leadingUntilMs !== undefined) return Math.max(0, periodMs - tookMs);
    const isOfOther = this.#held === undefined && this.#seen !== undefined && this.#seen.fingerprint !== ABSENT;
    const firstMs = isOfOther ? CANDIDATE_PERIOD_MS : RETRY_PERIOD_MS;
    const waitsMs = doubled({ firstMs, lastMs: RENEW_DEADLINE_MS }, Math.max(0, this.#failures - 1));
    return Math.max(askedMs, waitsMs + this.#ports.random() * JITTER_FACTOR * RETRY_PERIOD_MS);
  }

  async #acquireOrRenew(): Promise<void> {
    if (this.#leadingUntilMs !== undefined && this.#held !== undefined && (await this.#renewAsKnown(this.#held)))
      return;
    const found = await this.#call("reading the Lease", () => this.#ports.store.get());
    this.#see(found);
    if (!this.#running) return;
    if (found !== null && this.#isOurs(found)) {
      await this.#write(renewed(found, LEASE_DURATION_MS, this.#ports.clock.now()));
      return;
    }
    this.#held = undefined;
    if (found !== null) this.#lose(`the Lease is held by "${found.holderIdentity}"`);
    if (this.#mayTake(found)) {
      await this.#write(takenOver(found, this.#identity, LEASE_DURATION_MS, this.#ports.clock.now()));
    }
  }

  /** Renews with one write and no read. Returns false if the Lease has changed. */
  async #renewAsKnown(held: LeaseRecord): Promise<boolean> {
    try {
      await this.#write(renewed(held, LEASE_DURATION_MS, this.#ports.clock.now()));
      return true;
    } catch (error) {
      if (error instanceof ConflictError || error instanceof GoneError) return false;
      throw error;
    }
  }

  #mayTake(found: LeaseRecord | null): boolean {
    const unchangedMs = this.#ports.clock.monotonicMs() - (this.#seen?.atMs ?? Infinity);
    if (found !== null) {
      return isReleased(found) || unchangedMs >= expiresAfterMs(found, LEASE_DURATION_MS);
    }
    // Candidates wait for a leader to create its Lease again.
    return this.isLeader() || unchangedMs >= this.#absent.waitMs;
  }

  async #write(next: LeaseRecord): Promise<void> {
    const startedMs = this.#ports.clock.monotonicMs();
    const record = this.#ports.annotations.reduce((annotated, annotation) => annotation.on(annotated), next);
    this.#written = [...this.#written.slice(-WRITES_REMEMBERED), record];
    const { store } = this.#ports;
    const written = await this.#call("writing the Lease", () =>
      record.resourceVersion === undefined ? store.create(record) : store.update(record),
    );
    this.#written = [record];
    this.#held = written;
    this.#see(written);
    this.#noteCreated(written);
    this.#hold(startedMs);
  }

  #isOurs(found: LeaseRecord): boolean {
    return this.#written.some(written => isSameHold(found, written));
  }

  #see(found: LeaseRecord | null): void {
    for (const annotation of this.#ports.annotations) annotation.seen(found);
    // A backup may bring back a hold that another one has ended, and that one may still lead.
    const transitions = found?.leaseTransitions ?? 0;
    this.#written = this.#written.filter(({ leaseTransitions }) => leaseTransitions >= transitions);
    const now = fingerprint(found);
    if (this.#seen?.fingerprint === now) return;
    this.#seen = { fingerprint: now, atMs: this.#ports.clock.monotonicMs() };
  }

  #noteCreated(written: LeaseRecord): void {
    // Each takeover counts one transition more than the hold before.
    if (written.leaseTransitions > 0) this.#created = undefined;
    else if (this.#created?.acquireTimeMs !== written.acquireTimeMs) {
      this.#created = { acquireTimeMs: written.acquireTimeMs, sinceMs: this.#ports.clock.monotonicMs() };
    }
  }

  /** Reports whether no other process can lead after a write that was sent at this time: renewals before the creation have expired. */
  #excludesOthers(startedMs: number): boolean {
    return this.#created === undefined || startedMs - this.#created.sinceMs >= this.#absent.holdMs;
  }

  #hold(startedMs: number): void {
    const { clock, log, metrics, onStartedLeading } = this.#ports;
    const untilMs = startedMs + RENEW_DEADLINE_MS;
    // The deadline timer may be late. Report the loss before the process leads again.
    if (!this.isLeader()) this.#lose("renew deadline exceeded");
    if (!this.#running || clock.monotonicMs() >= untilMs) return;
    const begins = this.#leadingUntilMs === undefined;
    if (begins && !this.#excludesOthers(startedMs)) return;
    this.#leadingUntilMs = untilMs;
    this.#cancelDeadline();
    this.#cancelDeadline = clock.after(untilMs - clock.monotonicMs(), () => this.#lose("renew deadline exceeded"));
    if (!begins) return;
    log.info({ identity: this.#identity, transitions: this.#held?.leaseTransitions }, "started leading");
    metrics.show("leader", 1);
    metrics.count("lease_transitions_total", { event: "acquired" });
    this.#notify(onStartedLeading);
  }

  #lose(why: string): void {
    if (this.#leadingUntilMs === undefined) return;
    this.#leadingUntilMs = undefined;
    this.#cancelDeadline();
    this.#notify(() => this.#ports.onStoppedLeading(why));
    this.#ports.metrics.show("leader", 0);
    this.#ports.metrics.count("lease_transitions_total", { event: "lost" });
    this.#ports.log.warn({ identity: this.#identity, why }, "stopped leading");
  }

  #notify(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      const fields = { error: publicMessage(error), stack: framesOf(error) };
      this.#ports.log.error(fields, "leader election callback threw");
    }
  }

  #reportFailure(error: unknown): void {
    const leading = this.#leadingUntilMs !== undefined;
    this.#failure = publicMessage(error);
    if (leading) this.#ports.metrics.count("lease_transitions_total", { event: "renew-failed" });
    this.#ports.log.warn({ leading, failures: this.#failures, error: describeError(error) }, "failed to acquire lease");
  }

  /** A renewal that hangs ends a second before the deadline, which leaves time for another. */
  #call<T>(what: string, work: () => Promise<T>): Promise<T> {
    return withDeadline(this.#ports.clock, RENEW_DEADLINE_MS - RENEW_PERIOD_MS - 1_000, what, work);
  }

  /** Also after a takeover whose answer came after the stop, or never. */
  async #release(): Promise<void> {
    if (this.#written.length > 0) this.#held ??= await this.#reread();
    for (let tries = 0; tries < RELEASE_TRIES && this.#held !== undefined; tries++) {
      const record = released(this.#held, this.#ports.clock.now());
      try {
        await this.#call("releasing the Lease", () => this.#ports.store.update(record));
        this.#ports.log.info({ identity: this.#identity }, "released lease");
        return;
      } catch (error) {
        if (!(error instanceof ConflictError)) {
          this.#ports.log.warn(
            { error: describeError(error) },
            "failed to release lease; candidates wait until it expires",
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
