import type { ControllerResilience, MetricsSpec } from "../api/controller-resilience";
import type { PodMetricsReading } from "./pod-metrics";
import type { Clock } from "./time";
import type { LeaseReading } from "./leases";
import type { KindQuestion, KindReading, KindWriters } from "./progress";
import type { KeyRotation } from "./signing-keys";
import type {
  BindingKind,
  BindingView,
  ClusterKind,
  ClusterObjectView,
  DaemonSetView,
  NamespaceView,
  PodView,
  RoleView,
  SandboxEventView,
  ServiceAccountView,
  WorkloadView,
} from "./views";

// How often logs are read. The rounds themselves are in src/logs/reading/rounds.ts.

/** Time between two reads of a log without 401s, in milliseconds, while the budget of reads allows it. */
export const HEALTHY_INTERVAL_MS = 30_000;

/**
 * The same while no API server refuses anyone:
 * - `dozing`: the log may tell what no counter has, such as a lost Lease.
 * - `asleep`: only a 401 counts. One that no API server of the cluster counts, such as a proxy's, is found within an hour: this time, and half
 *   of it for the spread; with more than 1,440 such logs later, as one in 2.5 s is read.
 */
export const RESTS_MS = { dozing: 300_000, asleep: 2_400_000 } as const;

/** Shortest time between two reads of a log: while 401s are suspected or a restarted pod's successor is observed. */
export const SUSPICIOUS_INTERVAL_MS = 5_000;

/**
 * How soon a log is wanted:
 * - `first`: it was never read.
 * - `suspect`: after {@link SUSPICIOUS_INTERVAL_MS}.
 * - `healthy`: after {@link HEALTHY_INTERVAL_MS}.
 * - `failing`: the last read failed, and it is no suspect; as `suspect`, apart from them, so that a dead node delays no other log.
 * - `unreadable`: several reads have failed, or for a minute; as `healthy`, apart from them.
 */
export type Urgency = "first" | "suspect" | "healthy" | "failing" | "unreadable";

/** The time between the starts of two reads, in milliseconds. */
export const INTERVALS_MS: Readonly<Record<Urgency, number>> = {
  first: 0,
  suspect: SUSPICIOUS_INTERVAL_MS,
  healthy: HEALTHY_INTERVAL_MS,
  failing: SUSPICIOUS_INTERVAL_MS,
  unreadable: HEALTHY_INTERVAL_MS,
};

/** What one read of a log came to. */
export interface LogRead {
  /** A pass of the object should look at it. */
  readonly hasNews: boolean;
  /** Requests that it took; the budget counts each. */
  readonly requests: number;
}

/** How an API server refuses a request. */
export type Refusal = "401" | "403" | "429";

/** A refusal that may count is kept for this time, in milliseconds: a minute more than the 401s of a log count. */
export const COUNTED_MS = 960_000;

/** A time, in milliseconds. */
export interface TimeSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What all API servers together say of the requests that they answered 401 in a time, which they cover without a gap. */
export interface Refusals extends TimeSpan {
  /** The parts of it in which they counted some. */
  readonly refused: readonly TimeSpan[];
}

/** Follows whether the API servers refuse requests, by their own counters. */
export interface RefusalWatch {
  /** Reads the counters if it is time to. Never throws. */
  read(): Promise<void>;
  /** Until when a request may have been refused so, on the monotonic clock. Infinity: until now, as not every API server can be read. */
  refusedUntilMs(refusals: readonly Refusal[]): number;
}

/** How a healthy log rests, while there is none of these refusals. */
export interface Rest {
  readonly as: keyof typeof RESTS_MS;
  readonly wokenBy: readonly Refusal[];
}

/** A log that is read again and again. */
export interface RoundsLog {
  /** Whose log it is. Those of one container are read at the same time, so that one request answers them all. */
  readonly container: string;
  /** May change with time, with each read, and with each {@link LogRounds.keep}. */
  urgency(): Urgency;
  /** Undefined: it may not rest. */
  rest(): Rest | undefined;
  /** Reads what is new. Never throws. */
  read(): Promise<LogRead>;
}

/** Reads the logs of all objects in turn, under one budget, and requests a pass where one has news. */
export interface LogRounds {
  /**
   * Sets the logs that one owner wants to be read for an object; others of this owner are no longer read. Does not wait for a read, but
   * in tests.
   */
  keep(owner: object, key: string, logs: readonly RoundsLog[]): Promise<void>;
  /** Ends the reads for an owner. */
  drop(owner: object): void;
}

/** Requests of one FlowSchema, at all API servers that were read, between two readings. Times in milliseconds since the epoch. */
export interface RequestSpan extends TimeSpan {
  /** Executed or rejected. A lower bound: counts that a server has not reported yet, or reports for the first time, are missing. */
  readonly requests: number;
}

/** Key in {@link RequestRates.spans} of the requests that were answered 401, which no FlowSchema matches. */
export const UNAUTHENTICATED = "401";

/** What is known of the requests of the operator's FlowSchemas. */
export interface RequestRates {
  /**
   * By name of the FlowSchema, oldest first, of the last 16 minutes or of countedMs, and bounded in number. A schema that is absent had no
   * requests. Spans of one schema are contiguous and don't overlap. A later answer may describe two spans as one: what a server
   * has missed to tell in between is known of both together.
   */
  readonly spans: Readonly<Record<string, readonly RequestSpan[]>>;
  /** When the last successful reading was made; absent: there was none yet. */
  readonly readMs?: number;
  /** What all API servers have answered 401, in milliseconds since the epoch. Absent: they can prove nothing. */
  readonly refusals?: Refusals | undefined;
  /** Why the rates are not known, or not any more: a sentence for people. Absent: they are known. */
  readonly unknown?: string;
  /**
   * An API server has started, appeared or left. Until then, in milliseconds since the epoch, clients may list everything again, so that a high
   * rate proves nothing. Absent: there was no such change.
   */
  readonly settlingUntilMs?: number;
  /**
   * API servers that there are, as far as is known, and how many of them the last attempt could read: with fewer the rates are lower bounds.
   * Behind one address, the servers that answered there lately.
   */
  readonly servers: { readonly found: number; readonly read: number };
}

/** Which part of a container's log to read. */
export interface LogRequest {
  readonly namespace: string;
  readonly pod: string;
  /** Where the pod runs: reads from one node share its kubelet. Absent: unknown. */
  readonly node?: string;
  readonly container: string;
  /** Read the life before the current one. */
  readonly previous: boolean;
  /** From this moment on; the API server rounds it down to whole seconds. Absent: from the beginning. */
  readonly sinceMs?: number;
  /** At most this many bytes, counted from the oldest line on. */
  readonly limitBytes: number;
  /** Only this many last lines. */
  readonly tailLines?: number;
}

/** A piece of log, with a timestamp before each line (`timestamps=true`). */
export interface LogChunk {
  readonly bytes: Uint8Array;
  /** The byte limit was reached, so the last line may be cut and more may follow. */
  readonly truncated: boolean;
}

/** Reads logs, bounded in bytes and time. A read that hangs hurts no other. */
export interface LogReader {
  /**
   * Hands over what was read, and waits until it was used: until then it counts as being read, so that few chunks are in memory at once,
   * however long it takes to look through them. Null when there is no such pod, container or previous life (any more, or yet).
   *
   * @throws ForbiddenError without the right `get pods/log`
   * @throws TransientError on a timeout or any other failure, and whatever `use` throws
   */
  read<T>(request: LogRequest, use: (chunk: LogChunk | null) => Promise<T>): Promise<T>;
}

/** A right that the operator may or may not have. */
export interface Right {
  readonly apiGroup: string;
  readonly resource: string;
  readonly verb: string;
  /** Absent: every object of that resource. */
  readonly name?: string;
  /** Absent: cluster-scoped, or in all namespaces. */
  readonly namespace?: string;
}

/**
 * Everything a remedy's `observe` may read. Absence is null; any other failure is thrown. Namespaces, workloads, ServiceAccounts, single bindings
 * and cluster-scoped objects are read live before a write; a pass on caches has them from watches.
 */
export interface Readers {
  readonly clock: Clock;
  /** Now by the clock of an API server that is ahead of the operator's, else by the operator's, in milliseconds since 1970: what has ended by either has ended. */
  latestMs(): number;
  readonly logs: LogReader;
  /** Reads logs in turn, apart from passes. */
  readonly rounds: LogRounds;
  /** From the watch cache. @throws TransientError until that cache has been filled once, or when it is too old to be trusted */
  pods(namespace: string): Promise<readonly PodView[]>;
  /**
   * From the watch cache: the Events `FailedCreatePodSandBox` and `FailedKillPod` of all namespaces. Asking begins to watch them; the namespace is that of
   * any client that asks, and is told when one comes.
   *
   * @throws ForbiddenError without the right `list events`, TransientError as {@link pods}
   */
  sandboxEvents(namespace: string): Promise<readonly SandboxEventView[]>;
  /** Read live: the ControllerResiliences of the namespace. */
  objects(namespace: string): Promise<readonly ControllerResilience[]>;
  /** Read live: the pods of all namespaces on that node. */
  podsOnNode(node: string): Promise<readonly PodView[]>;
  /**
   * Live or cached: the Namespace object.
   *
   * @throws ForbiddenError without the right `get` on it
   */
  namespace(name: string): Promise<NamespaceView | null>;
  /** Live or cached, as the interface says. */
  workload(kind: WorkloadView["kind"], namespace: string, name: string): Promise<WorkloadView | null>;
  /** Live or cached: all of that kind in the namespace; the caller applies selectors. */
  workloads(kind: WorkloadView["kind"], namespace: string): Promise<readonly WorkloadView[]>;
  /** Live or cached. */
  daemonSet(namespace: string, name: string): Promise<DaemonSetView | null>;
  /** Live or cached. */
  serviceAccount(namespace: string, name: string): Promise<ServiceAccountView | null>;
  /**
   * From the watch cache: the RoleBindings of the namespace, or all ClusterRoleBindings.
   *
   * @throws TransientError until that cache has been filled once, or when it is too old to be trusted
   */
  bindings(kind: BindingKind, namespace: string): Promise<readonly BindingView[]>;
  /** Live or cached; the namespace is that of a RoleBinding, and of no meaning otherwise. */
  binding(kind: BindingKind, namespace: string, name: string): Promise<BindingView | null>;
  /**
   * Read live; the namespace is that of a Role, and of no meaning otherwise.
   *
   * @throws ForbiddenError without the right `get` on it
   */
  role(kind: "Role" | "ClusterRole", namespace: string, name: string): Promise<RoleView | null>;
  /** Live or cached: all of that kind. Null where the API server does not serve that kind in v1. */
  clusterObjects(kind: ClusterKind): Promise<readonly ClusterObjectView[] | null>;
  /** Where the operator's Lease is, and its ServiceAccount, also if the process is elsewhere. */
  readonly ownNamespace: string;
  /** The operator's own user name, if its credentials show it, as those of a ServiceAccount do. */
  ownUser(): Promise<string | undefined>;
  /** The audiences of the API server, as the operator's own token names them; none if it does not show. */
  apiAudiences(): Promise<readonly string[]>;
  /** Whether the operator has that right now; an answer may be up to half a minute old. */
  may(right: Right): Promise<boolean>;
  /**
   * The rotation of the signing keys, if one made tokens invalid: undefined if there was none, or if the keys could not be followed. A
   * reading that is younger than maxAgeMs is reused, also one that has failed; without maxAgeMs, one that is recent enough for the pass:
   * almost a minute old for one that writes nothing, half a minute for one that may write. Never throws.
   */
  keyRotation(maxAgeMs?: number): Promise<KeyRotation | undefined>;
  /**
   * The address of an API server that lacks a key that another one publishes, so that it may refuse valid tokens; undefined: none, or not known.
   * Shares the readings of {@link keyRotation}. Never throws.
   */
  serverWithoutKey(maxAgeMs: number): Promise<string | undefined>;
  /**
   * Requests per FlowSchema of this operator (names that begin with FLOW_PREFIX). A reading that is younger than maxAgeMs, or than a
   * second, is reused, also one that has failed; readings are shared by all objects and never overlap. Requests of the last countedMs,
   * 16 minutes at least, are kept while they are asked for again within five minutes. Never throws.
   */
  requestRates(maxAgeMs: number, countedMs?: number): Promise<RequestRates>;
  /**
   * The Leases of a namespace, and how they have changed since the operator began to read them. Asking begins to read them every ten seconds, for
   * all objects together; they are read as long as they are asked for every three minutes. With maxAgeMs an older reading is repeated at once,
   * but not more often than every two seconds. Never throws.
   */
  leases(namespace: string, maxAgeMs?: number): Promise<LeaseReading>;
  /**
   * The objects of a kind in the whole cluster for which the question finds work, and when one last moved. Asking begins to read them every
   * minute, for all who ask together; they are read as long as they are asked for every three minutes. The first question waits for the first
   * reading, but not longer than five seconds. Never throws.
   */
  kind(question: KindQuestion): Promise<KindReading>;
  /** Who writes the status of the kinds that the operator may list, as read in the last hours; undefined: nothing was read yet. */
  kindWriters(): readonly KindWriters[] | undefined;
  /**
   * What a pod of a target says of itself. Asking begins to read it every 30 s, as long as it is asked for every three minutes. Never waits and
   * never throws.
   */
  podMetrics(pod: PodView, metrics: MetricsSpec): PodMetricsReading;
}
