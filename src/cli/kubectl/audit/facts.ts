import type { ClusterControllerResilience } from "../../../api/cluster-controller-resilience";
import type { ControllerResilience } from "../../../api/controller-resilience";
import {
  groupBy,
  type BindingView,
  type NamespaceView,
  type PodView,
  type ServiceAccountView,
  type WorkloadView,
} from "../../../core/views";
import { BoundAccounts, type Facts, factsOf } from "../../../engine/cluster-wide/facts";
import { OPERATOR_NAMESPACE } from "../reader";
import type { Finding } from "./finding";

/** A volume that the kubelet could not mount, because it got no token for the pod. */
export interface TokenFailure {
  readonly podUID: string;
  readonly lastMs: number;
  /** The API server, or something that it asks, denied the token. */
  readonly isDenied: boolean;
}

/** What the log of a container says about the API server now. No text of the log is kept. */
export interface LogFacts {
  readonly pod: PodView;
  readonly container: string;
  readonly unauthorized: "persistent" | "some" | "none";
  readonly occasions: number;
  /** The default of `occasions` of tokenRestart: fewer are never persistent. */
  readonly needed: number;
  readonly forbidden: number;
  readonly lastForbiddenMs?: number;
}

/** Requests that the API server refused while the logs were read. */
export interface RefusedFacts {
  /** Of the API server. */
  readonly host: string;
  readonly durationMs: number;
  readonly counts: Readonly<Record<"401" | "403", number>>;
}

/** Everything that an audit judges by. A list is undefined if it could not be read. */
export interface AuditFacts {
  /** By the API server's clock. */
  readonly nowMs: number;
  readonly namespaces?: readonly NamespaceView[];
  readonly pods?: readonly PodView[];
  readonly accounts?: readonly ServiceAccountView[];
  readonly workloads?: readonly WorkloadView[];
  readonly bindings?: readonly BindingView[];
  /** RoleBindings of the scope and ClusterRoleBindings could be read. */
  readonly hasAllBindings?: boolean;
  /** All that a plan needs of a namespace could be read. */
  readonly isWhole?: boolean;
  /** Leases that their running holder did not renew while they were watched. */
  readonly staleLeases?: readonly Finding[];
  readonly tokenFailures?: readonly TokenFailure[];
  readonly objects?: readonly ControllerResilience[];
  /** A replica of the operator leads, so what status promises is done. Absent: not known. */
  readonly leads?: boolean | undefined;
  readonly clusterObjects?: readonly ClusterControllerResilience[];
  /** What the operator would know of each namespace. Needs workloads, accounts and bindings. */
  readonly coverage?: readonly Facts[];
  readonly logs?: readonly LogFacts[];
  /** Absent: not known, such as behind one address for several API servers. */
  readonly refused?: RefusedFacts | undefined;
  /** Objects of well-known kinds with work that is overdue while none of their kind moves. */
  readonly overdue?: readonly Finding[];
}

/** Returns a function which reports whether a role is bound to the ServiceAccount of a pod; undefined: not known. */
export function boundOf({ bindings = [], hasAllBindings }: AuditFacts): (pod: PodView) => boolean | undefined {
  const bound = new BoundAccounts();
  bound.replace("all", bindings);
  return pod => bound.has(pod.namespace, pod.serviceAccountName) || (hasAllBindings === true ? false : undefined);
}

/** Reports whether a pod still runs or will. */
export function isActive({ phase, deletedAtMs }: PodView): boolean {
  return deletedAtMs === undefined && phase !== "Succeeded" && phase !== "Failed";
}

/** What the operator decides by which workloads to protect. */
export type Lists = Pick<
  AuditFacts,
  "namespaces" | "workloads" | "isWhole" | "accounts" | "bindings" | "objects" | "clusterObjects"
>;

/**
 * Puts together what the operator would know of each namespace; undefined if a list that this needs could not be read. Pure.
 *
 * @param only the namespace of `-n`
 * @param ownNamespace that of the operator
 */
export function coverageIn(
  lists: Lists,
  only?: string,
  ownNamespace = OPERATOR_NAMESPACE,
): readonly Facts[] | undefined {
  const { workloads, accounts, bindings, objects = [], clusterObjects = [] } = lists;
  // Who may not read Namespaces still knows the name of the one that was asked for.
  const namespaces = lists.namespaces ?? (only === undefined ? undefined : [bareNamespace(only)]);
  if (workloads === undefined || accounts === undefined || bindings === undefined) return undefined;
  const bound = new BoundAccounts();
  bound.replace("all", bindings);
  const workloadsIn = groupBy(workloads, ({ namespace }) => namespace);
  const accountsIn = groupBy(accounts, ({ namespace }) => namespace);
  const objectsIn = groupBy(objects, ({ metadata }) => metadata.namespace);
  return namespaces?.map(namespace => {
    const { name } = namespace;
    const found = {
      ...{ namespace, clusterObjects, ownNamespace, observes: false },
      workloads: workloadsIn.get(name) ?? [],
      ...{ accounts: accountsIn.get(name) ?? [], objects: objectsIn.get(name) ?? [] },
    };
    return factsOf(found, bound);
  });
}

function bareNamespace(name: string): NamespaceView {
  const labels = { "kubernetes.io/metadata.name": name };
  return { namespace: "", name, uid: "", labels, annotations: {}, skip: false };
}
