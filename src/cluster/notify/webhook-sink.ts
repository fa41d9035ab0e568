import type { Clock, Random } from "../../core/clock";
import { TerminalError, TransientError, WaitError, publicMessage } from "../../core/errors";
import type { Notification, NotificationMetrics, NotificationSink } from "../../core/notifications";
import type { Log } from "../../core/ports";
import { TokenBucket } from "../../core/token-bucket";
import { Backoff } from "../http/backoff";
import { pause } from "../http/pause";
import { type Body, bodyOf, type NotifyFormat } from "./bodies";
import { type Answer, post } from "./post";
import { readReceiver, type Receiver } from "./receiver";

/** Longest queue; further notifications are lost and counted. */
const MAX_WAITING = 200;

/** Requests in a burst, and per second in the long run. */
const RATE = { burst: 20, ratePerSecond: 1 };

/** A request without an answer fails after this long, in milliseconds. */
const DEADLINE_MS = 10_000;

/** A notification that could not be delivered for this long is given up, in milliseconds. */
const GIVE_UP_AFTER_MS = 3_600_000;

/** Longest wait that a receiver may ask for, in milliseconds. */
const MAX_ASKED_MS = 600_000;

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
  readonly queuedMs: number;
}

/** Sends notifications to one receiver, in order, in the background. What a leader has queued is sent even if it stops leading. */
export class WebhookSink implements NotificationSink {
  readonly #settings: WebhookSettings;
  readonly #context: WebhookContext;
  readonly #bucket: TokenBucket;
  readonly #queue: Waiting[] = [];
  readonly #stopping = new AbortController();
  readonly #stopped = new AbortController();
  #working: Promise<void> | null = null;

  constructor(settings: WebhookSettings, context: WebhookContext) {
    this.#settings = settings;
    this.#context = context;
    this.#bucket = new TokenBucket(context.clock, RATE);
  }

  send(notification: Notification): void {
    if (this.#stopped.signal.aborted || this.#queue.length >= MAX_WAITING) {
      this.#drop(notification);
      return;
    }
    this.#queue.push({ notification, queuedMs: this.#context.clock.monotonicMs() });
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
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      await pause(this.#context.clock, this.#bucket.reserve(), this.#stopping.signal);
      await this.#deliver(next);
    }
    this.#working = null;
  }

  async #deliver({ notification, queuedMs }: Waiting): Promise<void> {
    const { clock, random, log, metrics } = this.#context;
    const backoff = new Backoff(random);
    while (!this.#stopped.signal.aborted) {
      const wasStopping = this.#stopping.signal.aborted;
      const error = await this.#try(notification);
      if (error === undefined) {
        metrics.notified("sent");
        return;
      }
      const isLate = clock.monotonicMs() - queuedMs >= GIVE_UP_AFTER_MS;
      const fields = { topic: notification.topic, id: notification.id, error: publicMessage(error) };
      if (error instanceof RefusedError || isLate) {
        metrics.notified("failed");
        log.warn(fields, "notification lost");
        return;
      }
      if (wasStopping) break;
      log.warn(fields, "failed to send notification, retrying");
      const askedMs = error instanceof WaitError ? error.afterMs : 0;
      await pause(clock, Math.max(askedMs, backoff.next()), this.#stopping.signal);
    }
    this.#drop(notification);
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
