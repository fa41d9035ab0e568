import { readdir, readFile } from "node:fs/promises";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { join } from "node:path";
import type { Clock, Random } from "../../core/time";
import { publicMessage, TerminalError, TransientError, WaitError } from "../../core/errors";
import type { Measures } from "../../core/metrics";
import type { EventRecord, EventSink, Log } from "../../core/ports";
import { cutText, oneLine } from "../../core/text";
import { Outbox } from "../http/outbox";
import { retryAfterMs } from "../http/status-errors";

/** Longest queue; further Events are lost and counted. */
const MAX_WAITING = 200;

/** Objects that had a Warning; beyond that all are forgotten. */
const MAX_WARNED = 1_000;
/** In bytes, as of an Event. */
const MAX_NOTE = 1_024;
/** A request without an answer fails after this long, and an Event is given up after this long. In milliseconds. */
const DEADLINE_MS = 10_000;
const GIVE_UP_AFTER_MS = 3_600_000;

/** Refusals that a person or another Secret may end soon, unlike the other 3xx and 4xx. */
const PASSING = [401, 403, 408, 425, 429];

/** The formats that a receiver may want, and their types. */
const TYPES = { cloudevents: "application/cloudevents+json; charset=utf-8", slack: "application/json" } as const;
export type NotifyFormat = keyof typeof TYPES;

/** Where to post Warnings. */
export interface WebhookSettings {
  /** Has the files `url`, `header.<name>` and `ca.crt`. */
  readonly folder: string;
  readonly format: NotifyFormat;
  /** Tells the clusters of one receiver apart. */
  readonly cluster: string;
}

interface WebhookContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Pick<Measures, "count">;
}

/** Posts Warnings, and the later Events about the same object alone, to one receiver: in the background, one after the other. */
export class Webhook implements EventSink {
  readonly #settings: WebhookSettings;
  readonly #context: WebhookContext;
  readonly #outbox: Outbox<Posted>;
  /** Objects that had a Warning. */
  readonly #warned = new Set<string>();
  #sequence = 0;

  constructor(settings: WebhookSettings, context: WebhookContext) {
    this.#settings = settings;
    this.#context = context;
    this.#outbox = new Outbox({
      ...{ clock: context.clock, random: context.random, giveUpAfterMs: GIVE_UP_AFTER_MS },
      ...{ maxOfPart: MAX_WAITING, maxInAll: MAX_WAITING },
      send: (posted, signal) => this.#post(posted, signal),
      onLost: (posted, result, error) => this.#lost(posted, result, error),
      onRetry: ({ event: { reason } }, error) =>
        context.log.warn({ reason, error: publicMessage(error) }, "failed to send notification, retrying"),
    });
  }

  record(event: EventRecord): void {
    if (!this.#isTold(event)) return;
    const { uid, name } = event.regarding;
    const time = this.#context.clock.now().toISOString();
    const id = oneLine([uid ?? name, event.reason, time, this.#sequence++].join("/"));
    const note = cutText(event.note, MAX_NOTE);
    this.#outbox.add({ id, time, event: { ...event, note } });
  }

  /** Waits at most `timeoutMs` for the queue to empty; the rest is dropped. */
  stop(timeoutMs: number): Promise<void> {
    return this.#outbox.stop(timeoutMs);
  }

  /** A Normal Event that is related to another object says what was done to that one. */
  #isTold({ type, related, regarding: { kind, namespace, name } }: EventRecord): boolean {
    const object = [kind, namespace, name].join("/");
    if (type === "Normal") return related === undefined && this.#warned.has(object);
    if (this.#warned.size >= MAX_WARNED) this.#warned.clear();
    this.#warned.add(object);
    return true;
  }

  /**
   * Sends one body. Redirects are not followed, since headers may be secret.
   *
   * @throws TerminalError if the receiver will never take it; of another error only the code is named, since its text may have the address
   */
  async #post(posted: Posted, stopped: AbortSignal): Promise<void> {
    const { url, ca, headers } = await readReceiver(this.#settings.folder);
    const text = bodyOf(posted, this.#settings);
    const deadline = new AbortController();
    const tooLate = new TransientError("the receiver did not answer in time");
    const cancel = this.#context.clock.after(DEADLINE_MS, () => deadline.abort(tooLate));
    const signal = AbortSignal.any([deadline.signal, stopped]);
    const own = { "content-type": TYPES[this.#settings.format], "user-agent": "controller-resilience" };
    const all = { ...headers, ...own, "content-length": Buffer.byteLength(text) };
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      send(url, { method: "POST", headers: all, signal, agent: false, ca, rejectUnauthorized: true }, resolve)
        .on("error", ({ cause, code = "unknown error" }: NodeJS.ErrnoException) =>
          reject(cause === tooLate ? tooLate : new TransientError(`the receiver cannot be reached (${code})`)),
        )
        .end(text),
    ).finally(cancel);
    response.destroy();
    const { statusCode: code = 0 } = response;
    if (code >= 200 && code < 300) {
      this.#context.metrics.count("notifications_total", { result: "sent" });
      return;
    }
    const why = `the receiver answered ${code}`;
    if (code >= 300 && code < 500 && !PASSING.includes(code)) throw new TerminalError(why);
    throw new WaitError(why, retryAfterMs(response.headers) ?? 0);
  }

  #lost({ event: { reason, regarding } }: Posted, result: "failed" | "dropped", error: unknown): void {
    const { kind, name } = regarding;
    this.#context.metrics.count("notifications_total", { result });
    this.#context.log.warn({ reason, regarding: `${kind}/${name}`, error: publicMessage(error) }, "notification lost");
  }
}

/** Reads the receiver from a folder, such as a mounted Secret, for each request: a rotated Secret counts at once. All of it may be secret. */
async function readReceiver(folder: string) {
  const names = await readdir(folder).catch((): string[] => []);
  const read = async (name: string): Promise<string> => (await readFile(join(folder, name), "utf8")).trim();
  const url = names.includes("url") ? await read("url") : "";
  if (!/^https?:/.test(url) || !URL.canParse(url))
    throw new TransientError("the file url in the folder of --notify-dir: expected one http or https address");
  const headers: Record<string, string> = {};
  for (const name of names) if (name.startsWith("header.")) headers[name.slice("header.".length)] = await read(name);
  return { url: new URL(url), headers, ca: names.includes("ca.crt") ? await read("ca.crt") : undefined };
}

/** An Event to post. */
export interface Posted {
  /** The same for each attempt, so that receivers can drop duplicates. */
  readonly id: string;
  /** When it was recorded, in RFC 3339. */
  readonly time: string;
  readonly event: EventRecord;
}

/** Returns the body of one Event. Pure. */
export function bodyOf(posted: Posted, { format, cluster }: Omit<WebhookSettings, "folder">): string {
  return JSON.stringify(format === "slack" ? { text: slackText(posted, cluster) } : cloudEvent(posted, cluster));
}

/** CloudEvents 1.0 in structured mode. */
function cloudEvent({ id, time, event }: Posted, cluster: string): object {
  const { regarding, related, type, reason, note } = event;
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
    data: { cluster, type, reason, note, regarding, related },
  };
}

/** With Slack's own escapes, so that no message can mention a whole channel. */
function slackText({ event: { regarding, reason, note } }: Posted, cluster: string): string {
  const id = [cluster, regarding.namespace, regarding.name].filter(Boolean).join("/");
  const text = `*${reason}: ${regarding.kind} ${id}*\n${note}`;
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
