import { MANAGER } from "../../api/names";
import { askedMs, type BackoffBounds, doubled, type Clock, microTime } from "../../core/time";
import { ConflictError, describeError, GoneError, TerminalError, TerminatingError } from "../../core/errors";
import type { ObjectRef } from "../../core/intent";
import { KINDS } from "../../core/kinds";
import type { ClusterMetrics, EventRecord, EventSink, Log } from "../../core/ports";
import { oneLine } from "../../core/text";
import type { Api } from "../http/api";
import { describeCall, pathOf } from "../http/resources";
import { pause } from "../http/retry";

/** A repetition within this time becomes part of the Event's series. */
const SERIES_MS = 300_000;

/** Longest queue of a namespace, and of all together; further Events are lost and counted. */
const MAX_WAITING = 200;
const MAX_WAITING_IN_ALL = 5_000;

const MAX_REMEMBERED = 1_000;

/** Attempts per Event, and the delay between them. */
const MAX_TRIES = 3;
const RETRIES: BackoffBounds = { firstMs: 1_000, lastMs: 2_000 };

const DEADLINE_MS = 10_000;

interface Remembered {
  readonly record: EventRecord;
  readonly name: string;
  readonly firstMs: number;
  lastMs: number;
  count: number;
  created: boolean;
  queued: boolean;
}

export interface EventSinkContext {
  readonly api: Pick<Api, "json">;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: ClusterMetrics;
  /** `reportingInstance` of each Event. */
  readonly instance: string;
}

/** Writes Events in the background, one at a time, and one of each namespace in turn. A repetition increases the count of the existing Event. */
export class ApiEventSink implements EventSink {
  readonly #context: EventSinkContext;
  readonly #remembered = new Map<string, Remembered>();
  /** What waits, by namespace. */
  readonly #waiting = new Map<string, Remembered[]>();
  #size = 0;
  readonly #stopped = new AbortController();
  /** Rejected since nothing was waiting. */
  #rejected = 0;
  #working: Promise<void> | null = null;
  #sequence = 0;

  constructor(context: EventSinkContext) {
    this.#context = context;
  }

  record(event: EventRecord): void {
    const entry = this.#remember(event);
    if (entry.queued) return;
    const namespace = eventNamespace(event);
    const queue = this.#waiting.get(namespace) ?? [];
    const isFull = queue.length >= MAX_WAITING || this.#size >= MAX_WAITING_IN_ALL;
    if (this.#stopped.signal.aborted || isFull) {
      this.#reject();
      return;
    }
    entry.queued = true;
    queue.push(entry);
    this.#size++;
    this.#waiting.set(namespace, queue);
    this.#working ??= this.#work();
  }

  /** Waits at most `timeoutMs` for the queue to empty; the remaining Events are lost. */
  async stop(timeoutMs: number): Promise<void> {
    const cancel = this.#context.clock.after(timeoutMs, () => this.#stopped.abort());
    await this.#working;
    cancel();
    this.#stopped.abort();
  }

  #remember(event: EventRecord): Remembered {
    const nowMs = this.#context.clock.now().getTime();
    const key = eventKey(event);
    const known = this.#remembered.get(key);
    if (known !== undefined && nowMs - known.lastMs < SERIES_MS) {
      known.count++;
      known.lastMs = nowMs;
      return known;
    }
    const name = eventName(event, `${nowMs.toString(16)}${(this.#sequence++).toString(16)}`);
    const entry = { record: event, name, firstMs: nowMs, lastMs: nowMs, count: 1, created: false, queued: false };
    this.#remembered.delete(key);
    this.#remembered.set(key, entry);
    this.#forgetOldest();
    return entry;
  }

  #forgetOldest(): void {
    for (const key of this.#remembered.keys()) {
      if (this.#remembered.size <= MAX_REMEMBERED) return;
      this.#remembered.delete(key);
    }
  }

  /** The first of the namespace whose turn it is, which is the last in turn afterwards. */
  #next(): Remembered | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [namespace, queue] = first;
    const entry = queue.shift();
    this.#waiting.delete(namespace);
    if (queue.length > 0) this.#waiting.set(namespace, queue);
    this.#size--;
    return entry;
  }

  async #work(): Promise<void> {
    for (let entry = this.#next(); entry !== undefined; entry = this.#next()) {
      entry.queued = false;
      if (this.#stopped.signal.aborted) this.#reject();
      else await this.#deliver(entry);
    }
    this.#working = null;
    this.#logRejected();
  }

  async #deliver(entry: Remembered): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#write(entry);
        return;
      } catch (error) {
        // A TerminalError may be a 403, which is also the status for Events in a terminating namespace.
        if (tries >= MAX_TRIES || error instanceof TerminalError || this.#stopped.signal.aborted) {
          this.#drop(entry, error);
          return;
        }
        await pause(this.#context.clock, Math.max(askedMs(error), doubled(RETRIES, tries - 1)), this.#stopped.signal);
      }
    }
  }

  async #write(entry: Remembered): Promise<void> {
    if (!entry.created) await this.#create(entry);
    if (entry.count > 1) await this.#repeat(entry);
  }

  async #repeat(entry: Remembered): Promise<void> {
    const place = { namespace: eventNamespace(entry.record), name: entry.name };
    try {
      await this.#context.api.json(
        {
          what: describeCall("patch", KINDS.Event, place),
          method: "PATCH",
          path: pathOf(KINDS.Event, place),
          contentType: "application/merge-patch+json",
          body: buildSeries(entry.count, entry.lastMs),
          deadlineMs: DEADLINE_MS,
        },
        this.#stopped.signal,
      );
    } catch (error) {
      // The Event has expired (after an hour) or was deleted.
      if (!(error instanceof GoneError)) throw error;
      await this.#create(entry);
    }
  }

  async #create(entry: Remembered): Promise<void> {
    const { api, instance } = this.#context;
    const place = { namespace: eventNamespace(entry.record) };
    try {
      await api.json(
        {
          what: describeCall("create", KINDS.Event, place),
          method: "POST",
          path: pathOf(KINDS.Event, place),
          body: buildEvent(entry.record, { name: entry.name, timeMs: entry.firstMs, instance }),
          deadlineMs: DEADLINE_MS,
        },
        this.#stopped.signal,
      );
    } catch (error) {
      // An earlier attempt has created it.
      if (!(error instanceof ConflictError)) throw error;
    }
    entry.created = true;
  }

  /** Logs one line when losses start and one when they end, since there may be thousands. */
  #reject(): void {
    const { log, metrics } = this.#context;
    metrics.eventLost();
    this.#rejected++;
    if (this.#rejected === 1) log.warn({}, "losing Events: queue is full or operator is stopping");
  }

  #logRejected(): void {
    if (this.#rejected === 0) return;
    this.#context.log.warn({ events: this.#rejected }, "stopped losing Events");
    this.#rejected = 0;
  }

  #drop(entry: Remembered, error: unknown): void {
    const { log, metrics } = this.#context;
    const { reason, regarding } = entry.record;
    const fields = { reason, regarding: `${regarding.kind}/${regarding.name}` };
    // The namespace disappears with its Events.
    if (error instanceof TerminatingError) {
      log.debug(fields, "skipped Event in terminating namespace");
      return;
    }
    metrics.eventLost();
    log.warn({ ...fields, error: describeError(error) }, "Event lost");
  }
}

/** Limit of events.k8s.io/v1. */
const MAX_NOTE_BYTES = 1024;

const ELLIPSIS = "…";

/** The API server requires this namespace for Events about cluster-scoped objects. */
const CLUSTER_EVENTS_NAMESPACE = "default";

/** Records with the same key belong to one Event series. */
export function eventKey(record: EventRecord): string {
  const { regarding, related, type, reason, action, note } = record;
  return JSON.stringify([
    regarding.kind,
    regarding.namespace,
    regarding.name,
    regarding.uid,
    related,
    type,
    reason,
    action,
    note,
  ]);
}

/** Longest part of the object's name in the Event's name, which has at most 253 characters. */
const MAX_ABOUT = 200;

/**
 * Returns the name of an Event: the object's name, as kubectl users expect, and a unique suffix. It has to be a DNS subdomain (RFC 1123);
 * names of RBAC objects, such as `system:node`, need not be.
 */
export function eventName({ regarding }: EventRecord, unique: string): string {
  const about = regarding.name
    .toLowerCase()
    .slice(0, MAX_ABOUT)
    .split(".")
    .map(label => label.replaceAll(/[^a-z0-9]+/g, "-").replaceAll(/^-|-$/g, ""))
    .filter(label => label !== "");
  return [...about, unique].join(".");
}

export function eventNamespace(record: EventRecord): string {
  return record.regarding.namespace ?? CLUSTER_EVENTS_NAMESPACE;
}

export function buildEvent(
  record: EventRecord,
  as: { readonly name: string; readonly timeMs: number; readonly instance: string },
): object {
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { namespace: eventNamespace(record), name: as.name },
    eventTime: microTime(as.timeMs),
    reportingController: MANAGER,
    reportingInstance: as.instance.slice(0, 128),
    type: record.type,
    reason: record.reason,
    action: record.action,
    note: cutNote(record.note),
    regarding: referenceOf(record.regarding),
    ...(record.related === undefined ? {} : { related: referenceOf(record.related) }),
  };
}

/** Returns the merge patch for a repeated Event. */
export function buildSeries(count: number, lastMs: number): object {
  return { series: { count, lastObservedTime: microTime(lastMs) } };
}

/** Puts a note on one line without characters that a terminal may obey, and cuts it to 1 kB of UTF-8, between characters. */
export function cutNote(note: string): string {
  const line = oneLine(note);
  const bytes = Buffer.from(line, "utf8");
  if (bytes.length <= MAX_NOTE_BYTES) return line;
  let end = MAX_NOTE_BYTES - Buffer.byteLength(ELLIPSIS);
  // Bytes 10xxxxxx continue a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString("utf8") + ELLIPSIS;
}

function referenceOf(ref: ObjectRef): object {
  const { apiVersion, kind, namespace, name, uid, resourceVersion } = ref;
  return { apiVersion, kind, namespace, name, uid, resourceVersion };
}
