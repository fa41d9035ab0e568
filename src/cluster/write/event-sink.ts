import type { Clock } from "../../core/clock";
import { ConflictError, describeError, GoneError, TerminalError, WaitError } from "../../core/errors";
import type { ClusterMetrics, EventRecord, EventSink, Log } from "../../core/ports";
import type { Api } from "../http/api";
import { buildEvent, buildSeries, eventKey, eventName, eventNamespace } from "./event-body";
import { pause } from "../http/pause";
import { describeCall, pathOf } from "../http/resources";
import { KINDS } from "../../core/kinds";
import { TerminatingError } from "../http/status-errors";

/** An Event that is repeated within this time becomes a series of the first one. */
const SERIES_MS = 300_000;

/** Events that wait to be written; beyond it they are lost, and counted. */
const MAX_WAITING = 200;

/** Events that are remembered for their series. */
const MAX_REMEMBERED = 1_000;

/** How often one Event is tried, and the pause in between, in milliseconds. */
const MAX_TRIES = 3;
const RETRY_MS = 1_000;

/** How long a write may take. */
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

/** What the sink needs. */
export interface EventSinkContext {
  readonly api: Pick<Api, "json">;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: ClusterMetrics;
  /** Which process reports; `reportingInstance` of each Event. */
  readonly instance: string;
}

/** Writes Events one after the other in the background. A repetition only raises the count of the Event that is there. */
export class ApiEventSink implements EventSink {
  readonly #context: EventSinkContext;
  readonly #remembered = new Map<string, Remembered>();
  readonly #queue: Remembered[] = [];
  readonly #stopped = new AbortController();
  /** Turned away since none was waiting for the last time. */
  #turnedAway = 0;
  #working: Promise<void> | null = null;
  #sequence = 0;

  constructor(context: EventSinkContext) {
    this.#context = context;
  }

  /** See {@link EventSink.record}. */
  record(event: EventRecord): void {
    const entry = this.#remember(event);
    if (entry.queued) return;
    if (this.#stopped.signal.aborted || this.#queue.length >= MAX_WAITING) {
      this.#turnAway();
      return;
    }
    entry.queued = true;
    this.#queue.push(entry);
    this.#working ??= this.#work();
  }

  /** Waits until all that was recorded is written or lost, at most `patienceMs`; loses the rest. */
  async stop(patienceMs: number): Promise<void> {
    const cancel = this.#context.clock.after(patienceMs, () => this.#stopped.abort());
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

  async #work(): Promise<void> {
    for (let entry = this.#queue.shift(); entry !== undefined; entry = this.#queue.shift()) {
      entry.queued = false;
      await this.#deliver(entry);
    }
    this.#working = null;
    this.#tellTurnedAway();
  }

  async #deliver(entry: Remembered): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#write(entry);
        return;
      } catch (error) {
        if (tries >= MAX_TRIES || isFinal(error) || this.#stopped.signal.aborted) {
          this.#lose(entry, error);
          return;
        }
        const askedMs = error instanceof WaitError ? error.afterMs : 0;
        await pause(this.#context.clock, Math.max(askedMs, RETRY_MS * tries), this.#stopped.signal);
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
      await this.#context.api.json({
        what: describeCall("patch", KINDS.Event, place),
        method: "PATCH",
        path: pathOf(KINDS.Event, place),
        contentType: "application/merge-patch+json",
        body: buildSeries(entry.count, entry.lastMs),
        deadlineMs: DEADLINE_MS,
      });
    } catch (error) {
      // The API server forgets Events after an hour, or somebody has deleted it.
      if (!(error instanceof GoneError)) throw error;
      await this.#create(entry);
    }
  }

  async #create(entry: Remembered): Promise<void> {
    const { api, instance } = this.#context;
    const place = { namespace: eventNamespace(entry.record) };
    try {
      await api.json({
        what: describeCall("create", KINDS.Event, place),
        method: "POST",
        path: pathOf(KINDS.Event, place),
        body: buildEvent(entry.record, { name: entry.name, timeMs: entry.firstMs, instance }),
        deadlineMs: DEADLINE_MS,
      });
    } catch (error) {
      // The first try got through after all.
      if (!(error instanceof ConflictError)) throw error;
    }
    entry.created = true;
  }

  /** One line when it begins, and one when it is over: there may be thousands. */
  #turnAway(): void {
    const { log, metrics } = this.#context;
    metrics.eventLost();
    this.#turnedAway++;
    if (this.#turnedAway === 1) log.warn({}, "Events are lost: too many are waiting, or the operator is stopping");
  }

  #tellTurnedAway(): void {
    if (this.#turnedAway === 0) return;
    this.#context.log.warn({ events: this.#turnedAway }, "no more Events are lost");
    this.#turnedAway = 0;
  }

  #lose(entry: Remembered, error: unknown): void {
    const { log, metrics } = this.#context;
    const { reason, regarding } = entry.record;
    const what = { reason, regarding: `${regarding.kind}/${regarding.name}` };
    // It goes with all that is in it: nobody is going to look for an Event there.
    if (error instanceof TerminatingError) {
      log.debug(what, "no Event in a namespace that is going");
      return;
    }
    metrics.eventLost();
    log.warn({ ...what, error: describeError(error) }, "Event lost");
  }
}

/** A 403 is terminal too: that is also how a namespace that is being terminated refuses Events. */
function isFinal(error: unknown): boolean {
  return error instanceof TerminalError;
}
