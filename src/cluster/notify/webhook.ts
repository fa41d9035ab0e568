import { readdir, readFile } from "node:fs/promises";
import { request as requestHttp, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import { join } from "node:path";
import { backoffMs, type Clock, type Random } from "../../core/time";
import { TerminalError } from "../../core/errors";
import type { EventRecord, EventSink, Log, NotificationMetrics } from "../../core/ports";
import { cutMessage } from "../../core/status";
import { oneLine } from "../../core/text";
import { pause } from "../http/retry";
import { retryAfterMs } from "../http/status-errors";

/** Longest queue; further Events are lost and counted. */
const MAX_WAITING = 200;

const MAX_NOTE = 1_024;

/** A request without an answer fails after this long, and an Event is given up after this long. In milliseconds. */
const DEADLINE_MS = 10_000;
const GIVE_UP_AFTER_MS = 3_600_000;

const STOPPING = "the queue is full, or the operator is stopping";

/** Refusals that a person or another Secret may end soon, unlike the other 3xx and 4xx. */
const PASSING = [401, 403, 408, 425, 429];

export interface WebhookSettings {
  /** Folder with `url`, `header.*` and `ca.crt`. */
  readonly folder: string;
  readonly format: NotifyFormat;
  readonly cluster: string;
}

export interface WebhookContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: NotificationMetrics;
}

/** Posts Warnings, and the Events that end one, to one receiver: in the background, one after the other. */
export class Webhook implements EventSink {
  readonly #settings: WebhookSettings;
  readonly #context: WebhookContext;
  readonly #queue: (Posted & { readonly queuedMs: number })[] = [];
  readonly #stopped = new AbortController();
  #working: Promise<void> | undefined;
  #sequence = 0;

  constructor(settings: WebhookSettings, context: WebhookContext) {
    this.#settings = settings;
    this.#context = context;
  }

  record(event: EventRecord): void {
    if (event.type === "Normal" && event.isEnd !== true) return;
    const { clock } = this.#context;
    const time = clock.now().toISOString();
    const { uid, name } = event.regarding;
    const id = oneLine([uid ?? name, event.reason, time, this.#sequence++].join("/"));
    if (this.#stopped.signal.aborted || this.#queue.length >= MAX_WAITING) {
      this.#lose("dropped", event, STOPPING);
      return;
    }
    const note = cutMessage(oneLine(event.note), MAX_NOTE);
    this.#queue.push({ id, time, event: { ...event, note }, queuedMs: clock.monotonicMs() });
    this.#working ??= this.#work();
  }

  /** Waits at most `timeoutMs` for the queue to empty; the rest is dropped. */
  async stop(timeoutMs: number): Promise<void> {
    const cancel = this.#context.clock.after(timeoutMs, () => this.#stopped.abort());
    await this.#working;
    cancel();
    this.#stopped.abort();
  }

  async #work(): Promise<void> {
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      await this.#deliver(next, next.queuedMs + GIVE_UP_AFTER_MS);
    }
    this.#working = undefined;
  }

  async #deliver(posted: Posted, untilMs: number): Promise<void> {
    const { clock, log, metrics, random } = this.#context;
    for (let failures = 0; ; failures++) {
      const problem = await this.#post(posted);
      const isFinal = problem?.isFinal === true || clock.monotonicMs() >= untilMs;
      if (problem === undefined) metrics.notified("sent");
      else if (isFinal) this.#lose("failed", posted.event, problem.why);
      else if (this.#stopped.signal.aborted) this.#lose("dropped", posted.event, STOPPING);
      if (problem === undefined || isFinal || this.#stopped.signal.aborted) return;
      log.warn({ reason: posted.event.reason, error: problem.why }, "failed to send notification, retrying");
      await pause(clock, backoffMs(failures, random, problem.afterMs), this.#stopped.signal);
    }
  }

  /** Returns why it was not delivered. */
  async #post(posted: Posted): Promise<Problem | undefined> {
    const { folder, format, cluster } = this.#settings;
    const late = new AbortController();
    const cancel = this.#context.clock.after(DEADLINE_MS, () => late.abort());
    try {
      const signal = AbortSignal.any([late.signal, this.#stopped.signal]);
      const { code, afterMs } = await post(await readReceiver(folder), bodyOf(posted, format, cluster), signal);
      if (code >= 200 && code < 300) return undefined;
      const isFinal = code >= 300 && code < 500 && !PASSING.includes(code);
      return { why: `the receiver answered ${code}`, isFinal, afterMs };
    } catch (error) {
      return { why: late.signal.aborted ? "the receiver did not answer in time" : describe(error), isFinal: false };
    } finally {
      cancel();
    }
  }

  #lose(result: "failed" | "dropped", { reason, regarding: { kind, name } }: EventRecord, error: string): void {
    this.#context.metrics.notified(result);
    this.#context.log.warn({ reason, regarding: `${kind}/${name}`, error }, "notification lost");
  }
}

interface Problem {
  readonly why: string;
  /** The receiver will never take this Event. */
  readonly isFinal: boolean;
  /** How long it asked to wait. */
  readonly afterMs?: number | undefined;
}

interface Reply {
  readonly code: number;
  readonly afterMs: number | undefined;
}

/** Where to send. Everything here may be secret. */
interface Receiver {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Certificates to trust instead of the system's. */
  readonly ca: string | undefined;
}

/** Reads the receiver from a folder, such as a mounted Secret, for each request: a rotated Secret counts at once. */
async function readReceiver(folder: string): Promise<Receiver> {
  const names = await readdir(folder).catch((): string[] => []);
  const read = async (name: string): Promise<string> => (await readFile(join(folder, name), "utf8")).trim();
  const text = names.includes("url") ? await read("url") : "";
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new TerminalError(EXPECTED);
  const headers = names.filter(name => name.startsWith("header."));
  const values = await Promise.all(
    headers.map(async name => [name.slice("header.".length), await read(name)] as const),
  );
  return { url, headers: Object.fromEntries(values), ca: names.includes("ca.crt") ? await read("ca.crt") : undefined };
}

const EXPECTED = "the file url in the folder of --notify-dir: expected one http or https address";

/** Sends one body. Redirects are not followed, since headers may be secret. */
function post({ url, headers, ca }: Receiver, { contentType, text }: Body, signal: AbortSignal): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const own = { "content-type": contentType, "content-length": Buffer.byteLength(text) };
    const all = { ...headers, ...own, "user-agent": "controller-resilience" };
    const options: RequestOptions & { ca?: string | undefined } = {
      method: "POST",
      headers: all,
      signal,
      agent: false,
      ca,
    };
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const request = send(url, options, response => {
      resolve({ code: response.statusCode ?? 0, afterMs: retryAfterMs(response.headers) });
      response.destroy();
    });
    request.on("error", reject);
    request.end(text);
  });
}

/** Only the code of the error: its text may have the address. */
function describe(error: unknown): string {
  if (error instanceof TerminalError) return error.message;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return `the receiver cannot be reached${typeof code === "string" ? ` (${code})` : ""}`;
}

/** The formats that a receiver may want. */
export const NOTIFY_FORMATS = ["cloudevents", "slack", "alertmanager"] as const;

/** One of the formats. */
export type NotifyFormat = (typeof NOTIFY_FORMATS)[number];

/** An Event to post. */
export interface Posted {
  /** The same for each attempt, so that receivers can drop duplicates. */
  readonly id: string;
  /** When it was recorded; RFC 3339. */
  readonly time: string;
  readonly event: EventRecord;
}

/** A request body and its type. */
export interface Body {
  readonly contentType: string;
  readonly text: string;
}

/** Alertmanager ends an alert without an end after five minutes, and a Warning is posted only once. */
const ALERT_LASTS_MS = 86_400_000;

/** Returns the body of one Event. `cluster` tells the clusters of one receiver apart. Pure. */
export function bodyOf(posted: Posted, format: NotifyFormat, cluster: string): Body {
  switch (format) {
    case "cloudevents":
      return json(cloudEvent(posted, cluster), "application/cloudevents+json; charset=utf-8");
    case "slack":
      return json({ text: slackText(posted, cluster) });
    case "alertmanager":
      return json([alert(posted, cluster)]);
  }
}

/** CloudEvents 1.0 in structured mode. */
function cloudEvent({ id, time, event }: Posted, cluster: string): object {
  const { regarding, related, type, reason, note, problem, isEnd = false } = event;
  const { kind, namespace, name } = regarding;
  const place = namespace === undefined ? [] : ["namespaces", namespace];
  return {
    specversion: "1.0",
    id,
    source: ["", "clusters", cluster, ...place, kind.toLowerCase(), name].map(encodeURIComponent).join("/"),
    type: `io.controller-resilience.event.${type.toLowerCase()}`,
    subject: reason,
    time,
    datacontenttype: "application/json",
    data: { cluster, type, reason, note, regarding, related, problem, isEnd },
  };
}

function slackText({ event: { regarding, reason, note, isEnd = false } }: Posted, cluster: string): string {
  const { kind, namespace, name } = regarding;
  const id = [cluster, namespace, name].filter(Boolean).join("/");
  // Slack's own escapes; without them a message could mention a whole channel.
  const [what, why] = [`${isEnd ? "Resolved: " : ""}${reason}: ${kind} ${id}`, note].map(text =>
    text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
  );
  return `*${what ?? ""}*\n${why ?? ""}`;
}

/** An alert of Alertmanager's API v2. A problem and its end have the same labels. */
function alert({ time, event: { regarding, reason, note, problem = reason, isEnd = false } }: Posted, cluster: string) {
  const { kind, namespace = "", name } = regarding;
  return {
    labels: { alertname: `ControllerResilience${problem}`, cluster, kind, namespace, name },
    annotations: { summary: `${kind} ${namespace}/${name}: ${reason}`, description: note },
    startsAt: time,
    endsAt: isEnd ? time : new Date(Date.parse(time) + ALERT_LASTS_MS).toISOString(),
  };
}

function json(value: unknown, contentType = "application/json"): Body {
  return { contentType, text: JSON.stringify(value) };
}
