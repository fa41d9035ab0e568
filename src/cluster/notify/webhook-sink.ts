import type { Clock, Random } from "../../core/clock";
import { TerminalError, TransientError, WaitError, publicMessage } from "../../core/errors";
import type { Notification, NotificationMetrics, NotificationSink } from "../../core/notifications";
import type { Log } from "../../core/ports";
import { TokenBucket } from "../../core/token-bucket";
import { Backoff, pause } from "../http/retry";
import { type Body, bodyOf, type NotifyFormat } from "./bodies";
import { type Answer, post } from "./post";
import { readReceiver, type Receiver } from "./receiver";

/** Longest queue, and how much of it one object may take; further notifications are lost and counted. */
const MAX_WAITING = 200;
const MAX_OF_ONE = 50;

/** Requests in a burst, and per second in the long run. */
const RATE = { burst: 20, ratePerSecond: 1 };

/** A request without an answer fails after this long, in milliseconds. */
const DEADLINE_MS = 10_000;

/** A notification that could not be delivered for this long is given up, in milliseconds. */
const GIVE_UP_AFTER_MS = 3_600_000;

/** Longest wait that a receiver may ask for, in milliseconds. */
const MAX_ASKED_MS = 300_000;

/** Refusals that a person or another Secret may end soon, unlike the other 4xx. */
const PASSING = [401, 403, 408, 425, 429];

export interface WebhookSettings {
  /** Folder with `url`, `header.*`, `ca.crt` and `template`. */
  readonly folder: string;
  readonly format: NotifyFormat;
  readonly cluster: string;
}

export interface WebhookContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: NotificationMetrics;
  /** For tests: instead of the folder and the network. */
  readonly read?: (folder: string) => Promise<Receiver>;
  readonly send?: (receiver: Receiver, body: Body, signal: AbortSignal) => Promise<Answer>;
}

interface Waiting {
  readonly notification: Notification;
  /** The object that it is about. */
  readonly about: string;
  readonly queuedMs: number;
  hasFailed: boolean;
}

/**
 * Sends notifications to one receiver in the background, those about one object in order. After a failure no request follows for a while,
 * and then those about other objects go first: a receiver may fail on one alone. What a leader has queued is sent even if it stops leading.
 */
export class WebhookSink implements NotificationSink {
  readonly #settings: WebhookSettings;
  readonly #context: WebhookContext;
  readonly #bucket: TokenBucket;
  readonly #backoff: Backoff;
  #queue: Waiting[] = [];
  /** After a failure no request is made before this, on the monotonic clock. */
  #resumeMs = -Infinity;
  #lastSentMs = -Infinity;
  readonly #stopping = new AbortController();
  readonly #stopped = new AbortController();
  #working: Promise<void> | null = null;

  constructor(settings: WebhookSettings, context: WebhookContext) {
    this.#settings = settings;
    this.#context = context;
    this.#bucket = new TokenBucket(context.clock, RATE);
    this.#backoff = new Backoff(context.random);
  }

  send(notification: Notification): void {
    this.#giveUpLate();
    const about = aboutOf(notification);
    const own = this.#queue.filter(waiting => waiting.about === about).length;
    if (this.#stopped.signal.aborted || this.#queue.length >= MAX_WAITING || own >= MAX_OF_ONE) {
      this.#drop(notification);
      return;
    }
    this.#queue.push({ notification, about, queuedMs: this.#context.clock.monotonicMs(), hasFailed: false });
    this.#working ??= this.#work();
  }

  /** Waits at most `timeoutMs` for the queue to empty, with one more attempt each; the rest is dropped. */
  async stop(timeoutMs: number): Promise<void> {
    const cancel = this.#context.clock.after(timeoutMs, () => this.#stopped.abort());
    this.#stopping.abort();
    await this.#working;
    cancel();
    this.#stopped.abort();
  }

  async #work(): Promise<void> {
    const { clock } = this.#context;
    while (this.#queue.length > 0) {
      const waitMs = Math.max(this.#bucket.reserve(), this.#resumeMs - clock.monotonicMs());
      await pause(clock, waitMs, this.#stopping.signal);
      this.#giveUpLate();
      const next = this.#take();
      if (next !== undefined) await this.#deliver(next);
    }
    this.#working = null;
  }

  /** Those that can't be delivered make room: one that was not tried goes as well while the receiver takes none at all. */
  #giveUpLate(): void {
    const lateMs = this.#context.clock.monotonicMs() - GIVE_UP_AFTER_MS;
    const isLate = ({ queuedMs, hasFailed }: Waiting): boolean =>
      queuedMs <= lateMs && (hasFailed || queuedMs > this.#lastSentMs);
    const late = this.#queue.filter(isLate);
    if (late.length === 0) return;
    this.#queue = this.#queue.filter(waiting => !isLate(waiting));
    for (const { notification } of late) this.#lose(notification, { error: "could not be sent for an hour" });
  }

  /** Takes the first notification about an object that has not failed yet, or else the first of all. */
  #take(): Waiting | undefined {
    const firsts = new Map(this.#queue.toReversed().map(waiting => [waiting.about, waiting]));
    const heads = this.#queue.filter(waiting => firsts.get(waiting.about) === waiting);
    const next = heads.find(({ hasFailed }) => !hasFailed) ?? heads[0];
    this.#queue = this.#queue.filter(waiting => waiting !== next);
    return next;
  }

  async #deliver(waiting: Waiting): Promise<void> {
    const { notification } = waiting;
    const wasStopping = this.#stopping.signal.aborted;
    const error = this.#stopped.signal.aborted ? "stopped" : await this.#try(notification);
    if (error === "stopped") this.#drop(notification);
    else if (error !== undefined) this.#failed(waiting, error, wasStopping);
    else {
      this.#backoff.reset();
      this.#lastSentMs = this.#context.clock.monotonicMs();
      this.#context.metrics.notified("sent");
    }
  }

  /** A refusal is about the notification alone: the receiver works. */
  #failed(waiting: Waiting, error: Error, wasStopping: boolean): void {
    const { clock, log } = this.#context;
    const { notification, queuedMs } = waiting;
    const isRefused = error instanceof RefusedError;
    if (isRefused) this.#backoff.reset();
    else this.#backOff(error);
    const about = { error: publicMessage(error) };
    if (isRefused || clock.monotonicMs() - queuedMs >= GIVE_UP_AFTER_MS) {
      this.#lose(notification, about);
    } else if (wasStopping) {
      this.#drop(notification);
    } else {
      const { topic, id } = notification;
      log.warn({ topic, id, ...about }, "failed to send notification, retrying");
      this.#putBack(waiting);
    }
  }

  #lose({ topic, id }: Notification, about: { readonly error: string }): void {
    this.#context.metrics.notified("failed");
    this.#context.log.warn({ topic, id, ...about }, "notification lost");
  }

  #backOff(error: Error): void {
    this.#resumeMs = this.#context.clock.monotonicMs() + this.#backoff.next(error);
  }

  /** Behind those about other objects, before the later ones about its own. */
  #putBack(waiting: Waiting): void {
    const isOwn = ({ about }: Waiting): boolean => about === waiting.about;
    waiting.hasFailed = true;
    this.#queue = [...this.#queue.filter(one => !isOwn(one)), waiting, ...this.#queue.filter(isOwn)];
  }

  /** Returns why it was not delivered. */
  async #try(notification: Notification): Promise<Error | undefined> {
    const { clock, read = readReceiver, send = post } = this.#context;
    const { folder, format, cluster } = this.#settings;
    const late = new AbortController();
    const cancel = clock.after(DEADLINE_MS, () => late.abort());
    try {
      const receiver = await read(folder);
      const signal = AbortSignal.any([late.signal, this.#stopped.signal]);
      const answer = await send(
        receiver,
        bodyOf(notification, { format, cluster, template: receiver.template }),
        signal,
      );
      return problemOf(answer, clock.now().getTime());
    } catch (error) {
      if (error instanceof TerminalError) return error;
      return new TransientError(late.signal.aborted ? "the receiver did not answer in time" : describe(error));
    } finally {
      cancel();
    }
  }

  #drop({ topic, id }: Notification): void {
    this.#context.metrics.notified("dropped");
    this.#context.log.warn({ topic, id }, "notification dropped: queue is full or operator is stopping");
  }
}

function aboutOf({ subject: { kind, namespace = "", name } }: Notification): string {
  return [kind, namespace, name].join("/");
}

/** The receiver will never take this notification. */
class RefusedError extends TerminalError {}

function problemOf({ code, retryAfter }: Answer, nowMs: number): Error | undefined {
  if (code >= 200 && code < 300) return undefined;
  const message = `the receiver answered ${code}`;
  const isFinal = code >= 300 && code < 500 && !PASSING.includes(code);
  if (isFinal) return new RefusedError(message);
  return new WaitError(message, askedMs(retryAfter, nowMs));
}

/** Retry-After is in seconds, or a date. */
function askedMs(retryAfter: string | undefined, nowMs: number): number {
  if (retryAfter === undefined) return 0;
  const ms = /^\d+$/.test(retryAfter) ? 1000 * Number(retryAfter) : Date.parse(retryAfter) - nowMs;
  return Number.isNaN(ms) ? 0 : Math.min(MAX_ASKED_MS, Math.max(0, ms));
}

/** Only the code of the error: its text may have the address. */
function describe(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return `the receiver cannot be reached${typeof code === "string" ? ` (${code})` : ""}`;
}
