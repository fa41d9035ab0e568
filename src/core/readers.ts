import type { ControllerResilience } from "../api/controller-resilience";
import type { Clock } from "./clock";
import type { LeaseReading } from "./leases";
import type { LogRounds } from "./log-rounds";
import type { RequestRates } from "./request-rates";
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

/** Which part of a container's log to read. */
export interface LogRequest {
  readonly namespace: string;
  readonly pod: string;
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
 * and cluster-scoped objects are read live before a write; a pass that writes nothing may have them from watch caches.
 */
export interface Readers {
  readonly clock: Clock;
  readonly logs: LogReader;
  /** Reads logs in turn, apart from passes. */
  readonly rounds: LogRounds;
  /** From the watch cache. @throws TransientError until that cache has been filled once, or when it is too old to be trusted */
  pods(namespace: string): Promise<readonly PodView[]>;
  /**
   * From the watch cache: the Events `FailedCreatePodSandBox` of all namespaces. Asking begins to watch them; the namespace is that of
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
  /** Live or cached: all of that kind, or those with all these labels. Null where the API server does not serve that kind in v1. */
  clusterObjects(
    kind: ClusterKind,
    labels?: Readonly<Record<string, string>>,
  ): Promise<readonly ClusterObjectView[] | null>;
  /** The operator's own user name, if its credentials show it, as those of a ServiceAccount do. */
  ownUser(): Promise<string | undefined>;
  /** The audiences of the API server, as the operator's own token names them; none if it does not show. Never throws. */
  apiAudiences(): Promise<readonly string[]>;
  /** Whether the operator has that right now; an answer may be up to half a minute old. */
  may(right: Right): Promise<boolean>;
  /**
   * How often the API server that answered has been shown a token past the life that its pod asked for, since it started
   * (`serviceaccount_stale_tokens_total`): clients that don't read theirs again. Null where that can't be read; up to ten minutes old.
   */
  staleTokens(): Promise<number | null>;
  /**
   * The rotation of the signing keys, if one made tokens invalid: undefined if there was none, or if the keys could not be followed. A
   * reading that is younger than maxAgeMs is reused, also one that has failed; without maxAgeMs, one that is recent enough for the pass:
   * almost a minute old for one that writes nothing, half a minute for one that may write. Never throws.
   */
  keyRotation(maxAgeMs?: number): Promise<KeyRotation | undefined>;
  /**
   * Requests per FlowSchema of this operator (names that begin with FLOW_PREFIX). A reading that is younger than maxAgeMs, or than a
   * second, is reused, also one that has failed; readings are shared by all objects and never overlap. Never throws.
   */
  requestRates(maxAgeMs: number): Promise<RequestRates>;
  /**
   * The Leases of a namespace, and how they have changed since the operator began to read them. Asking begins to read them every ten seconds, for
   * all objects together; they are read as long as they are asked for every three minutes. With maxAgeMs an older reading is repeated at once,
   * but not more often than every two seconds. Never throws.
   */
  leases(namespace: string, maxAgeMs?: number): Promise<LeaseReading>;
}
