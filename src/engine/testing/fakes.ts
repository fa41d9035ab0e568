import type { Key, EventRecord, EventSink, LeaseRecord, LeaseStore, Log, ObjectStore, Writer } from "../../core/ports";
import type {
  ConditionState,
  CounterName,
  EngineMetrics,
  LoopMetrics,
  Measures,
  StatusOwner,
} from "../../core/metrics";
import type { ControllerResilience, ControllerResilienceStatus, ObjectMetadata } from "../../api/controller-resilience";
import { FINALIZER } from "../../api/names";
import { ConflictError, GoneError } from "../../core/errors";
import type { Intent } from "../../core/intent";

export { makeObject } from "../../core/testing/objects";

/** One line of a recorded log. */
export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** A log that a test can read. */
export class RecordingLog implements Log {
  constructor(
    readonly lines: LogLine[] = [],
    private readonly bound: object = {},
  ) {}
  debug = (fields: object, message: string) => this.#note("debug", fields, message);
  info = (fields: object, message: string) => this.#note("info", fields, message);
  warn = (fields: object, message: string) => this.#note("warn", fields, message);
  error = (fields: object, message: string) => this.#note("error", fields, message);
  /** Lines of the child go to the same place. */
  child(fields: object): Log {
    return new RecordingLog(this.lines, { ...this.bound, ...fields });
  }
  #note(level: LogLine["level"], fields: object, message: string): void {
    this.lines.push({ level, fields: { ...this.bound, ...fields }, message });
  }
}

/** How counters begin in {@link RecordingMetrics.seen}. */
const SHORT: Partial<Record<CounterName, string>> = {
  intents_total: "intent",
  lease_transitions_total: "lease",
  restarts_deferred_total: "deferred",
};

/** Metrics that a test can read, as `name:labels` in order. */
export class RecordingMetrics implements EngineMetrics, LoopMetrics {
  readonly seen: string[] = [];
  /** Status by object and type of its conditions. */
  readonly shown = new Map<string, string>();
  /** What each gauge shows. */
  readonly gauges = new Map<string, Parameters<Measures["show"]>[1]>();
  count: Measures["count"] = (name, labels) =>
    void this.seen.push([SHORT[name] ?? name, ...Object.values(labels)].join(":"));
  show: Measures["show"] = (name, value) => void this.gauges.set(name, value);
  readonly loops: string[] = [];
  loop = (controller: string) => {
    this.loops.push(controller);
    return this;
  };
  reconciled = (result: string) => void this.seen.push(`reconciled:${result}`);
  added = () => undefined;
  taken = () => undefined;
  done = () => undefined;
  retries = 0;
  retried = () => void this.retries++;
  ofQueue = () => undefined;
  conditions = (key: Key, conditions: readonly ConditionState[]) => {
    for (const known of [...this.shown.keys()]) if (known.startsWith(`${key}:`)) this.shown.delete(known);
    for (const { type, status } of conditions) this.shown.set(`${key}:${type}`, status);
  };
  /** Of each object whose gauges were set. */
  readonly statuses = new Map<Key, ControllerResilienceStatus>();
  status = (key: Key, object: StatusOwner | null) => void this.statuses.set(key, object?.status ?? {});
}

/** Events that a test can read. */
export class RecordingEvents implements EventSink {
  readonly records: EventRecord[] = [];
  record = (event: EventRecord) => void this.records.push(event);
}

/** A Lease with the API server's optimistic concurrency, which can be made to fail. */
export class MemoryLease implements LeaseStore {
  readonly ref = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", namespace: "system", name: "it" };
  calls = 0;
  /** While set, calls do this instead. */
  fault: (() => Promise<never>) | undefined;
  /** While set, calls take effect, and are answered after this. */
  beforeAnswer: (() => Promise<void>) | undefined;
  #record: LeaseRecord | null = null;
  #version = 0;

  get = () => this.#serve(() => this.#record);
  create = (record: LeaseRecord) =>
    this.#serve(() => {
      if (this.#record !== null) throw new ConflictError("the Lease exists");
      return this.put(record);
    });
  update = (record: LeaseRecord) =>
    this.#serve(() => {
      if (this.#record === null) throw new GoneError("there is no Lease");
      if (record.resourceVersion !== this.#record.resourceVersion) throw new ConflictError("the Lease has changed");
      return this.put(record);
    });

  /** The record as it is now. */
  get record(): LeaseRecord | null {
    return this.#record;
  }
  /** What a person with kubectl does. */
  put(record: LeaseRecord): LeaseRecord {
    this.#record = { ...record, resourceVersion: String(++this.#version) };
    return this.#record;
  }
  /** What a person with kubectl does. */
  remove(): void {
    this.#record = null;
  }

  async #serve<T>(work: () => T): Promise<T> {
    this.calls++;
    if (this.fault) return this.fault();
    const result = work();
    if (this.beforeAnswer) await this.beforeAnswer();
    return result;
  }
}

/** ControllerResiliences with the API server's optimistic concurrency. Every status that was ever written is kept. */
export class MemoryObjects implements ObjectStore {
  readonly objects = new Map<Key, ControllerResilience>();
  readonly writes: { readonly key: Key; readonly status: ControllerResilienceStatus }[] = [];
  #version = 100;
  get = (key: Key) => Promise.resolve(structuredClone(this.objects.get(key) ?? null));
  /** What the watch cache has; undefined while it can't be trusted. */
  cache: ReadonlyMap<Key, ControllerResilience> | undefined;
  cached = (key: Key) => this.cache?.get(key);
  cachedKeys = () => this.cache && [...this.cache.keys()];
  list = () => {
    const uids = new Set([...this.objects.values()].map(({ metadata }) => metadata.uid));
    return Promise.resolve({ keys: [...this.objects.keys()], uids });
  };
  writeStatus = (object: ControllerResilience, status: ControllerResilienceStatus): Promise<string> => {
    const key = `${object.metadata.namespace}/${object.metadata.name}`;
    const current = this.objects.get(key);
    if (current === undefined) return Promise.reject(new GoneError(`${key} is gone`));
    if (current.metadata.resourceVersion !== object.metadata.resourceVersion) return reject(`${key} has changed`);
    this.writes.push({ key, status: structuredClone(status) });
    return Promise.resolve(this.put({ ...current, status: structuredClone(status) }).metadata.resourceVersion);
  };
  setFinalizer = (object: ControllerResilience, present: boolean): Promise<ObjectMetadata> => {
    const key = `${object.metadata.namespace}/${object.metadata.name}`;
    const current = this.objects.get(key);
    if (current === undefined) return Promise.reject(new GoneError(`${key} is gone`));
    if (current.metadata.resourceVersion !== object.metadata.resourceVersion) return reject(`${key} has changed`);
    const others = (current.metadata.finalizers ?? []).filter(finalizer => finalizer !== FINALIZER);
    const finalizers = present ? [...others, FINALIZER] : others;
    const { metadata } = this.put({ ...current, metadata: { ...current.metadata, finalizers } });
    if (metadata.deletionTimestamp !== undefined && finalizers.length === 0) this.objects.delete(key);
    return Promise.resolve(metadata);
  };
  /** Stores an object with a new resourceVersion. */
  put(object: ControllerResilience): ControllerResilience {
    const { namespace, name } = object.metadata;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } };
    this.objects.set(`${namespace}/${name}`, stored);
    return stored;
  }
}

/** A writer that notes what it is asked, and answers as the test says. */
export class RecordingWriter implements Writer {
  readonly written: Intent[] = [];
  answer: (intent: Intent) => Promise<void> = () => Promise.resolve();
  write = (intent: Intent): Promise<void> => {
    this.written.push(intent);
    return this.answer(intent);
  };
}

function reject(message: string): Promise<never> {
  return Promise.reject(new ConflictError(message));
}
