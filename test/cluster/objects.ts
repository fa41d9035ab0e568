import type { LevelSettings } from "../../src/remedies/flow-isolation/objects";

// Objects that tests and benchmarks apply.

const GROUP = "rbac.authorization.k8s.io";

/** Namespace and name of an object. */
export interface Named {
  readonly namespace: string;
  readonly name: string;
}

export function serviceAccount({ namespace, name }: Named): object {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name } };
}

/** What a binding gives its subject. */
export interface RoleRef {
  readonly kind: "Role" | "ClusterRole";
  readonly name: string;
}

/** Binds a ServiceAccount to a role: in a namespace, or without one everywhere. */
export function roleBinding(
  metadata: { readonly name: string; readonly namespace?: string | undefined },
  role: RoleRef,
  { namespace, name }: Named,
): object {
  return {
    apiVersion: `${GROUP}/v1`,
    kind: metadata.namespace === undefined ? "ClusterRoleBinding" : "RoleBinding",
    metadata,
    roleRef: { apiGroup: GROUP, kind: role.kind, name: role.name },
    subjects: [{ kind: "ServiceAccount", namespace, name }],
  };
}

/** A Role and its RoleBinding, which have the same name. */
export function rightsOf(account: Named, metadata: Named, ...rules: readonly object[]): object[] {
  return [
    { apiVersion: `${GROUP}/v1`, kind: "Role", metadata, rules },
    roleBinding(metadata, { kind: "Role", name: metadata.name }, account),
  ];
}

/** What leader election needs. */
export const LEASES = {
  apiGroups: ["coordination.k8s.io"],
  resources: ["leases"],
  verbs: ["create", "get", "update", "patch"],
};

export type WorkloadKind = "Deployment" | "StatefulSet" | "DaemonSet";

/** A workload with a ServiceAccount of its name, whose pods end at once, so that nobody need wait for their termination. */
export function workload(kind: WorkloadKind, { namespace, name }: Named, pod: object, more: object = {}): object {
  const labels = { "app.kubernetes.io/name": name };
  const spec = { serviceAccountName: name, terminationGracePeriodSeconds: 1, ...pod };
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { namespace, name, labels },
    spec: { ...more, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

const FLOW_CONTROL = "flowcontrol.apiserver.k8s.io/v1";

/** A priority level with seats and queues of its own. */
export function priorityLevel(name: string, { queues, handSize, queueLengthLimit, ...seats }: LevelSettings): object {
  const limitResponse = { type: "Queue", queuing: { queues, handSize, queueLengthLimit } };
  const spec = { type: "Limited", limited: { ...seats, limitResponse } };
  return { apiVersion: FLOW_CONTROL, kind: "PriorityLevelConfiguration", metadata: { name }, spec };
}

/** Assigns all requests of a ServiceAccount to a level. */
export function flowSchema(name: string, level: string, serviceAccount: Named, matchingPrecedence = 1_000): object {
  const any = { verbs: ["*"] };
  const rule = {
    subjects: [{ kind: "ServiceAccount", serviceAccount }],
    resourceRules: [{ ...any, apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
    nonResourceRules: [{ ...any, nonResourceURLs: ["*"] }],
  };
  const spec = {
    matchingPrecedence,
    priorityLevelConfiguration: { name: level },
    distinguisherMethod: { type: "ByUser" },
    rules: [rule],
  };
  return { apiVersion: FLOW_CONTROL, kind: "FlowSchema", metadata: { name }, spec };
}
