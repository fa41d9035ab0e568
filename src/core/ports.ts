import type {
  ClusterControllerResilience,
  ClusterControllerResilienceStatus,
} from "../api/cluster-controller-resilience";
import type { ControllerResilience, ControllerResilienceStatus, ObjectMetadata } from "../api/controller-resilience";
import type { Intent, ObjectRef } from "./intent";
import type { JsonObject } from "./json";
import type { BindingView, NamespaceView, ServiceAccountView, WorkloadView } from "./views";

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

/** The spec of a coordination.k8s.io/v1 Lease, with times in milliseconds. */
export interface LeaseRecord {
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  readonly acquireTimeMs: number;
  readonly renewTimeMs: number;
  readonly leaseTransitions: number;
  /** Those of src/api/names.ts, and of other writers. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Other metadata of other writers, which a write has to repeat. Absent on what was not read. */
  readonly others?: JsonObject;
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

/** Reads what a namespace is judged by, from watch caches. Each read throws ForbiddenError or TransientError while its cache cannot be trusted. */
export interface ClusterWideCaches {
  namespaces(): Promise<readonly NamespaceView[]>;
  namespace(name: string): Promise<NamespaceView | undefined>;
  /** Deployments, StatefulSets and DaemonSets of a namespace. */
  workloads(namespace: string): Promise<readonly WorkloadView[]>;
  serviceAccounts(namespace: string): Promise<readonly ServiceAccountView[]>;
  /** RoleBindings of a namespace; without one, all ClusterRoleBindings. */
  bindings(namespace?: string): Promise<readonly BindingView[]>;
  /** Resolves when the objects of both kinds have been listed once, or could not be. Never rejects. */
  attempted(): Promise<void>;
  /** ControllerResiliences of a namespace. */
  objects(namespace: string): readonly ControllerResilience[];
  clusterObjects(): readonly ClusterControllerResilience[];
}

/** Reads and reports ClusterControllerResiliences. */
export interface ClusterObjectStore {
  /** Read live; null when it is gone. */
  get(name: string): Promise<ClusterControllerResilience | null>;
  /**
   * Replaces status, if the object still has that resourceVersion.
   *
   * @throws ConflictError when it has another, GoneError when it is gone
   */
  writeStatus(object: ClusterControllerResilience, status: ClusterControllerResilienceStatus): Promise<void>;
}
