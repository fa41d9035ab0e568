import { MANAGER } from "../../api/names";
import { type Clock, microTime, type Random } from "../../core/time";
import { ConflictError, describeError, TerminatingError } from "../../core/errors";
import { KINDS } from "../../core/kinds";
import type { Measures } from "../../core/metrics";
import type { EventRecord, EventSink, Log } from "../../core/ports";
import { cutText } from "../../core/text";
import type { Api } from "../http/api";
import { Outbox } from "../http/outbox";
import { callOf } from "../http/resources";

/** The last Event of an object is not written again within this time, in milliseconds. */
const REPEATED_AFTER_MS = 300_000;

/** Objects whose last Event is remembered for that; beyond this number the oldest is forgotten. */
const MAX_REMEMBERED = 1_000;

/** Longest queue of a namespace, and of all together; further Events are lost and counted. */
const MAX_WAITING = 200;
const MAX_WAITING_IN_ALL = 5_000;

/** An Event that cannot be written is given up after this time, in milliseconds. */
const GIVE_UP_AFTER_MS = 30_000;

const DEADLINE_MS = 10_000;

/** An Event to write. */
interface Pending {
  readonly record: EventRecord;
  /** What it is about, see {@link subjectOf}. */
  readonly object: string;
  /** The same for each attempt, so that none is written twice. */
  readonly name: string;
  readonly timeMs: number;
  /** On the monotonic clock. */
  readonly recordedMs: number;
}

export interface EventSinkContext {
  readonly api: Pick<Api, "json">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Pick<Measures, "count">;
  /** `reportingInstance` of each Event. */
  readonly instance: string;
}

/**
 * Writes Events in the background. An Event that repeats the last one of its object within five minutes is not written, so the last Event of
 * an object says what is true of it.
 */
export class ApiEventSink implements EventSink {
  readonly #context: EventSinkContext;
  readonly #outbox: Outbox<Pending>;
  /** The last Event of each object, the oldest first. */
  readonly #last = new Map<string, Pending>();
  #sequence = 0;

  constructor(context: EventSinkContext) {
    this.#context = context;
    this.#outbox = new Outbox({
      ...{ clock: context.clock, random: context.random, giveUpAfterMs: GIVE_UP_AFTER_MS },
      ...{ maxOfPart: MAX_WAITING, maxInAll: MAX_WAITING_IN_ALL },
      send: (pending, signal) => this.#create(pending, signal),
      onLost: (pending, _result, error) => this.#lost(pending, error),
    });
  }

  record(record: EventRecord): void {
    const { clock } = this.#context;
    const [timeMs, recordedMs] = [clock.now().getTime(), clock.monotonicMs()];
    const object = subjectOf(record);
    const last = this.#last.get(object);
    if (last !== undefined && isSame(last.record, record) && recordedMs - last.recordedMs < REPEATED_AFTER_MS) return;
    const name = eventName(record, `${timeMs.toString(16)}${(this.#sequence++).toString(16)}`);
    const pending = { record, object, name, timeMs, recordedMs };
    this.#last.delete(object);
    this.#last.set(object, pending);
    const [oldest] = this.#last.keys();
    if (this.#last.size > MAX_REMEMBERED && oldest !== undefined) this.#last.delete(oldest);
    this.#outbox.add(pending, eventNamespace(record));
  }

  /** Waits at most `timeoutMs` for the queue to empty; the remaining Events are lost. */
  stop(timeoutMs: number): Promise<void> {
    return this.#outbox.stop(timeoutMs);
  }

  async #create({ record, name, timeMs }: Pending, signal: AbortSignal): Promise<void> {
    const { api, instance } = this.#context;
    const call = callOf("create", KINDS.Event, { namespace: eventNamespace(record) });
    const body = buildEvent(record, { name, timeMs, instance });
    try {
      await api.json({ ...call, body, deadlineMs: DEADLINE_MS }, signal);
    } catch (error) {
      // An earlier attempt has created it.
      if (!(error instanceof ConflictError)) throw error;
    }
  }

  /** An Event that is lost is written when it is repeated. */
  #lost(pending: Pending, error: unknown): void {
    const { log, metrics } = this.#context;
    const { reason, regarding } = pending.record;
    const fields = { reason, regarding: `${regarding.kind}/${regarding.name}` };
    if (this.#last.get(pending.object) === pending) this.#last.delete(pending.object);
    // The namespace disappears with its Events.
    if (error instanceof TerminatingError) {
      log.debug(fields, "skipped Event in terminating namespace");
      return;
    }
    metrics.count("events_lost_total", {});
    log.warn({ ...fields, error: describeError(error) }, "Event lost");
  }
}

/** Limit of events.k8s.io/v1. */
const MAX_NOTE_BYTES = 1024;

/** The API server requires this namespace for Events about cluster-scoped objects. */
const CLUSTER_EVENTS_NAMESPACE = "default";

/** Identifies what an Event is about: the object, and the one that is related. */
function subjectOf({ regarding, related }: EventRecord): string {
  const { kind, namespace, name, uid } = regarding;
  return JSON.stringify([kind, namespace, name, uid, related]);
}

/** Reports whether two Events of one object say the same. */
function isSame(event: EventRecord, other: EventRecord): boolean {
  return (["type", "reason", "action", "note"] as const).every(field => event[field] === other[field]);
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
    note: cutText(record.note, MAX_NOTE_BYTES),
    regarding: record.regarding,
    related: record.related,
  };
}
