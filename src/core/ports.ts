import type {
  ControllerResilience,
  ControllerResilienceSpec,
  ControllerResilienceStatus,
  ObjectMetadata,
  StatusCondition,
} from "../api/controller-resilience";
import type { Intent, LimitReason, ObjectRef } from "./intent";

// What the engine needs from the outside; src/cluster and src/telemetry implement it, src/assemble.ts joins the two.

/** `namespace/name` of a ControllerResilience: the unit of work. */
export type Key = string;

/** All objects. */
export interface ObjectList {
  /** Of the watched namespaces. */
  readonly keys: readonly Key[];
  /** Of all namespaces, also of those that are not watched. */
  readonly uids: ReadonlySet<string>;
}

/** Reads and reports ControllerResiliences. */
export interface ObjectStore {
  /** Read live; null when it is gone. */
  get(key: Key): Promise<ControllerResilience | null>;
  /**
   * From a watch cache, never a request; callers must not change it, nor write from it. Undefined if the cache is not filled or stale, does
   * not have the object, or has it in an older version than this process has read or written.
   */
  cached(key: Key): ControllerResilience | undefined;
  /** Keys of all objects, from the same cache; undefined if the cache may lack one. */
  cachedKeys(): readonly Key[] | undefined;
  /** Read live: the safety net under every watch. @throws any error of the client */
  list(): Promise<ObjectList>;
  /**
   * Replaces status, if the object still has that resourceVersion. Returns the new resourceVersion.
   *
   * @throws ConflictError when it has another, GoneError when it is gone
   */
  writeStatus(object: ControllerResilience, status: ControllerResilienceStatus): Promise<string>;
  /**
   * Puts this operator's finalizer on the object or takes it off, if the object still has that resourceVersion; other finalizers stay.
   * Returns the metadata as it is then; of an object whose last finalizer was taken off, as it last was.
   *
   * @throws ConflictError when it has another, GoneError when it is gone
   */
  setFinalizer(object: ControllerResilience, present: boolean): Promise<ObjectMetadata>;
}

/** Carries out one intent. Only the executor holds one. */
export interface Writer {
  /**
   * Writes with the intent's uid and resourceVersion as preconditions and the project's field manager. Returns the API server's answer: the
   * object as it stores it.
   *
   * @throws WaitError (429), UnavailableError (5xx that asks for patience), ForbiddenError, ConflictError, GoneError, TransientError
   */
  write(intent: Intent): Promise<unknown>;
}

/** An Event (events.k8s.io/v1) to be recorded. */
export interface EventRecord {
  readonly regarding: ObjectRef;
  readonly related?: ObjectRef;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  /** What was done, in UpperCamelCase, such as `Evict`. */
  readonly action: string;
  /** Bounded to 1 kB by the adapter, as the API demands. */
  readonly note: string;
}

/** Records Events. Never throws and never blocks the loop: a lost Event is logged and counted. */
export interface EventSink {
  record(event: EventRecord): void;
}

/** Counts the Events that are posted to a receiver. */
export interface NotificationMetrics {
  /** Failed: the receiver refused it, or did not take it for an hour. Dropped: the queue was full, or the operator stopped. */
  notified(result: "sent" | "failed" | "dropped"): void;
}

/** The spec of a coordination.k8s.io/v1 Lease, with times in milliseconds. */
export interface LeaseRecord {
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  readonly acquireTimeMs: number;
  readonly renewTimeMs: number;
  readonly leaseTransitions: number;
  /** The annotation of the restart breaker, see BREAKER_ANNOTATION. Absent: the breaker is not tripped. */
  readonly breaker?: string;
  /** The annotation with the time of its last reset, see BREAKER_RESET_ANNOTATION. */
  readonly breakerReset?: string;
  /** The annotation with the history of the signing keys, see KEYS_ANNOTATION. */
  readonly signingKeys?: string;
  /** Present on what was read; the precondition of what is written. */
  readonly resourceVersion?: string;
}

/** One Lease object. Every call is bounded in time. */
export interface LeaseStore {
  /** What Events about the lead regard. */
  readonly ref: ObjectRef;
  /** Null when there is none. */
  get(): Promise<LeaseRecord | null>;
  /** @throws ConflictError when it exists already. */
  create(record: LeaseRecord): Promise<LeaseRecord>;
  /** @throws ConflictError when it has another resourceVersion. */
  update(record: LeaseRecord): Promise<LeaseRecord>;
}

/** A structured logger with pino's signature. Log text of watched pods, tokens and secrets never go in. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Log;
}

/** A condition as metrics show it. */
export type ConditionState = Pick<StatusCondition, "type" | "status" | "reason">;

/** What a work queue is asked for at each export of the metrics. */
export interface QueueState {
  /** Keys that wait. */
  readonly depth: number;
  /** Seconds that each key in work has been worked on. */
  readonly workingSeconds: readonly number[];
}

/** What a work queue measures, as client-go's workqueue does. */
export interface QueueMetrics {
  /** A key that did not wait yet was added. */
  added(): void;
  /** A worker took a key that had waited for this long. */
  taken(waitedSeconds: number): void;
  /** A worker has worked on a key for this long. */
  done(workedSeconds: number): void;
  /** A failed key is tried again, with backoff. */
  retried(): void;
  /** Says where to ask for the state of the queue. */
  ofQueue(state: () => QueueState): void;
}

/** What one reconcile loop measures. */
export interface LoopMetrics extends QueueMetrics {
  reconciled(result: "success" | "requeue" | "error" | "panic", seconds: number): void;
}

/** What the engine counts; docs/metrics.md lists the metrics. */
export interface EngineMetrics {
  /** Metrics of a loop, by the kind of its objects in lower case. */
  loop(controller: string): LoopMetrics;
  intent(remedy: string, verb: string, result: string): void;
  /** Replaces the conditions of a ControllerResilience, or of a ClusterControllerResilience, whose key has no namespace. */
  conditions(key: Key, conditions: readonly ConditionState[]): void;
  /** Replaces the series of an object in all gauges of the remedies. null removes them. */
  status(key: Key, object: StatusOwner | null): void;
  leader(leading: boolean): void;
  leaseTransition(what: "acquired" | "lost" | "renew-failed"): void;
  restartDeferred(limit: LimitReason): void;
  breakerTripped(tripped: boolean): void;
}

/** An object as its gauges see it. */
export interface StatusOwner {
  readonly spec: ControllerResilienceSpec;
  readonly status: ControllerResilienceStatus;
}

/** What is measured of the operator's own identity. */
export interface IdentityMetrics {
  /** Whether the API server rejects the operator's own credentials, as of the last answer. */
  identityRejected(rejected: boolean): void;
}

/** What the clients of the API server count. */
export interface RequestMetrics {
  /** A request was answered with this code, or `<error>` if there was no answer. */
  requested(method: string, code: string): void;
}

/** What the reading of logs measures. */
export interface LogMetrics {
  logReadInterval(seconds: number): void;
  /** Whether an API server has refused a token lately. If none has, healthy logs rest. */
  logRounds(state: "quiet" | "refused" | "unknown"): void;
}

/** Time since the API server last confirmed one cache of a resource. */
export interface CacheAge {
  readonly resource: string;
  readonly ageMs: number;
}

/** What the adapters count. */
export interface ClusterMetrics {
  watchEnded(resource: string, reason: string): void;
  relisted(resource: string): void;
  /** Takes what is asked for at each export: the oldest cache of each resource counts. */
  watchAges(read: () => readonly CacheAge[]): void;
  logRead(result: "ok" | "truncated" | "absent" | "error" | "timeout", bytes: number): void;
  eventLost(): void;
}
