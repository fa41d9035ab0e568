import type {
  ClusterControllerResilience,
  ClusterControllerResilienceStatus,
  KindSuggestion,
} from "../api/cluster-controller-resilience";
import type { ControllerResilience } from "../api/controller-resilience";
import type { KindWriters } from "./progress";
import { type BindingView, groupBy, type NamespaceView, type ServiceAccountView, type WorkloadView } from "./views";

// What is known of one namespace when the operator decides which of its workloads to protect.

/** A namespace. */
export interface NamespaceFacts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Value of the label or annotation `controller-resilience.io/protect`; absent: neither true nor false. */
  readonly protect?: boolean;
  /** The skip annotation is set on it. */
  readonly skip: boolean;
  readonly isTerminating: boolean;
}

/** A workload that may be protected. */
export interface Candidate {
  readonly kind: WorkloadView["kind"];
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** As on {@link NamespaceFacts}. */
  readonly protect?: boolean;
  readonly skip: boolean;
  /** Its pods mount a token of the API server. */
  readonly mountsToken: boolean;
  /** It mounts such a token, and some role is bound to its ServiceAccount. */
  readonly usesApi: boolean;
}

/** A spec as the API server stores it: with the defaults of a definition that may be of another version. */
export interface Stored {
  /** The state that was written, in short. */
  readonly state: string;
  readonly spec: unknown;
}

/** Everything that one namespace is judged by. */
export interface Facts {
  readonly namespace: NamespaceFacts;
  readonly candidates: readonly Candidate[];
  /** All ControllerResiliences of the namespace. */
  readonly objects: readonly ControllerResilience[];
  /** Those that are not being deleted; the first one wins where several select one workload. */
  readonly clusterObjects: readonly ClusterControllerResilience[];
  /** Workloads that are listed and that have gone a moment ago, as `Deployment/web`: they may be replaced just now. Absent: none. */
  readonly vanishing?: ReadonlySet<string>;
  /** What the API server has made of the spec of the last write for each ClusterControllerResilience, by its uid. Absent: nothing is known. */
  readonly stored?: ReadonlyMap<string, Stored>;
  /** The operator's own namespace. */
  readonly ownNamespace: string;
  /** The operator runs with `--mode=Observe`. Absent: it acts. */
  readonly observes?: boolean;
}

/** Sorts them by age, then by name, so that the winner stays the same. */
export function oldestFirst(objects: readonly ClusterControllerResilience[]): ClusterControllerResilience[] {
  const rank = ({ metadata }: ClusterControllerResilience): string => `${metadata.creationTimestamp}/${metadata.name}`;
  return objects.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

/** Returns a workload as a target names it: `Deployment/web`. */
export function workloadName({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `${kind}/${name}`;
}

/** What a namespace says of who handles which kinds. */
export interface HandlerFacts {
  /** Workloads that use the API, as `namespace/Deployment/web`. */
  readonly users: readonly string[];
  /** Kinds that a `stallDetection` follows. */
  readonly followed: readonly string[];
}

/** Returns what the facts of a namespace say of who handles which kinds. */
export function handlerFacts({ namespace, candidates, objects }: Facts): HandlerFacts {
  const users = candidates.filter(({ usesApi }) => usesApi);
  return {
    users: users.map(candidate => `${namespace.name}/${workloadName(candidate)}`),
    followed: objects.flatMap(({ spec }) => spec.stallDetection?.progress ?? []).map(({ kind }) => kind),
  };
}

/**
 * Returns the kinds whose status a workload writes and that no `stallDetection` follows: if that workload hangs, it stays Running, Ready and the
 * holder of its Lease. The names of field managers only suggest who it is, so nothing but a suggestion may rest on it. Sorted. Pure.
 */
export function unfollowedKinds(
  kinds: readonly KindWriters[],
  facts: readonly HandlerFacts[],
): Required<KindSuggestion>[] {
  if (kinds.length === 0) return [];
  const followed = new Set(facts.flatMap(one => one.followed));
  const users = groupBy(
    facts.flatMap(one => one.users),
    user => user.slice(user.lastIndexOf("/") + 1),
  );
  const found = kinds
    .filter(({ kind }) => !followed.has(kind))
    .flatMap(({ apiVersion, kind, writers }) => {
      const workloads = new Set(writers.flatMap(writer => handlerOf(writer, users) ?? []));
      return Array.from(workloads, workload => ({ workload, apiVersion, kind }));
    });
  const rank = ({ workload, apiVersion, kind }: KindSuggestion): string => `${workload} ${kind} ${apiVersion}`;
  return found.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

/**
 * The workload whose name the name of a field manager contains as whole words, the longest one: programs use their own name by default, often with
 * a part of themselves, such as `cert-manager-certificates-readiness`. Undefined: none, or several.
 */
function handlerOf(writer: string, users: ReadonlyMap<string, readonly string[]>): string | undefined {
  const words = writer.split("-");
  const parts = words.flatMap((_, from) => words.slice(from).map((__, i) => words.slice(from, from + i + 1).join("-")));
  const names = [...new Set(parts)].filter(name => users.has(name));
  const longest = Math.max(...names.map(({ length }) => length));
  const [best, ...more] = names.filter(({ length }) => length === longest).flatMap(name => users.get(name) ?? []);
  return more.length === 0 ? best : undefined;
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

/** Whether a workload that uses the API is protected, excluded on purpose, or neither. */
export type Protection = "protected" | "excluded" | "unprotected";
