import { CLUSTER_KIND, CLUSTER_PLURAL, GROUP, KIND, PLURAL, VERSION } from "../api/names";

/** A kind of the Kubernetes API, as URLs and RBAC rules name it. */
export interface Kind {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /** Absent: its objects are in a namespace. */
  readonly isClusterScoped?: boolean;
}

/** Every kind that the operator reads or writes: the only table from kinds to plurals, since no rule leads from one to the other. */
export const KINDS = {
  Namespace: { group: "", version: "v1", plural: "namespaces", isClusterScoped: true },
  Pod: { group: "", version: "v1", plural: "pods" },
  ServiceAccount: { group: "", version: "v1", plural: "serviceaccounts" },
  Deployment: { group: "apps", version: "v1", plural: "deployments" },
  StatefulSet: { group: "apps", version: "v1", plural: "statefulsets" },
  DaemonSet: { group: "apps", version: "v1", plural: "daemonsets" },
  Role: rbac("roles"),
  RoleBinding: rbac("rolebindings"),
  ClusterRole: { ...rbac("clusterroles"), isClusterScoped: true },
  ClusterRoleBinding: { ...rbac("clusterrolebindings"), isClusterScoped: true },
  FlowSchema: flowControl("flowschemas"),
  PriorityLevelConfiguration: flowControl("prioritylevelconfigurations"),
  Event: { group: "events.k8s.io", version: "v1", plural: "events" },
  EndpointSlice: { group: "discovery.k8s.io", version: "v1", plural: "endpointslices" },
  Lease: { group: "coordination.k8s.io", version: "v1", plural: "leases" },
  SelfSubjectAccessReview: { group: "authorization.k8s.io", version: "v1", plural: "selfsubjectaccessreviews" },
  [KIND]: { group: GROUP, version: VERSION, plural: PLURAL },
  [CLUSTER_KIND]: { group: GROUP, version: VERSION, plural: CLUSTER_PLURAL, isClusterScoped: true },
} as const satisfies Record<string, Kind>;

/** The kinds of workloads: those whose pods a target can name by their owner. */
export const WORKLOAD_KINDS = ["Deployment", "StatefulSet", "DaemonSet"] as const;

const PLURALS: ReadonlyMap<string, string> = new Map(Object.entries(KINDS).map(([kind, { plural }]) => [kind, plural]));

/** Returns the plural of a kind, as RBAC rules name it; undefined for a kind that is not in the table. */
export function pluralOf(kind: string): string | undefined {
  return PLURALS.get(kind);
}

/** Returns `group/version`, or only the version for the core group. */
export function apiVersionOf({ group, version }: Kind): string {
  return group === "" ? version : `${group}/${version}`;
}

function rbac<P extends string>(plural: P): { group: string; version: string; plural: P } {
  return { group: "rbac.authorization.k8s.io", version: "v1", plural };
}

function flowControl(plural: string): Kind {
  return { group: "flowcontrol.apiserver.k8s.io", version: "v1", plural, isClusterScoped: true };
}
