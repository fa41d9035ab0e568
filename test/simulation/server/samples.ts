// The requests of the comparison, and one object of each kind.

/** One request. */
export interface Step {
  readonly title: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  /** Sent with the token that an earlier answer has issued. */
  readonly isLimited?: boolean;
}

/** A kind, and an object of it. */
export interface Sample {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly isCluster?: boolean;
  readonly fields: Readonly<Record<string, unknown>>;
  /** A change of a field besides metadata. */
  readonly change?: Readonly<Record<string, unknown>>;
  /** Its versions change by themselves. */
  readonly isRestless?: boolean;
}

/** Labels of workloads and their pods. */
export const labels = { app: "sample" };
/** A pod that mounts no token. */
export const podSpec = { containers: [{ name: "main", image: "none:1" }], automountServiceAccountToken: false };
const template = { metadata: { labels }, spec: podSpec };
/** Rights to read pods. */
export const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }];
const subjects = [{ kind: "ServiceAccount", name: "kai", namespace: "{ns}" }];
/** The group of roles and bindings. */
export const RBAC = "rbac.authorization.k8s.io";
/** A role that the limited user may not bind. */
export const roleRef = { apiGroup: RBAC, kind: "ClusterRole", name: "view" };
/** What our own objects protect. */
export const targets = [{ kind: "Deployment", name: "kai" }];
const flow = {
  matchingPrecedence: 9_500,
  priorityLevelConfiguration: { name: "workload-low" },
  distinguisherMethod: { type: "ByUser" },
  rules: [
    {
      subjects: [{ kind: "ServiceAccount", serviceAccount: { namespace: "{ns}", name: "kai" } }],
      nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/none"] }],
    },
  ],
};

/** One object of each kind that the operator uses. */
export const SAMPLES: readonly Sample[] = [
  {
    apiVersion: "v1",
    kind: "ServiceAccount",
    plural: "serviceaccounts",
    fields: {},
    change: { automountServiceAccountToken: false },
  },
  { apiVersion: "v1", kind: "Pod", plural: "pods", fields: { spec: podSpec } },
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    plural: "deployments",
    isRestless: true,
    fields: { spec: { selector: { matchLabels: labels }, template } },
    change: { spec: { replicas: 3 } },
  },
  {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    plural: "statefulsets",
    isRestless: true,
    fields: { spec: { selector: { matchLabels: labels }, serviceName: "x", template } },
    change: { spec: { replicas: 3 } },
  },
  {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    plural: "daemonsets",
    isRestless: true,
    fields: { spec: { selector: { matchLabels: labels }, template } },
    change: { spec: { template: { spec: { terminationGracePeriodSeconds: 5 } } } },
  },
  { apiVersion: `${RBAC}/v1`, kind: "Role", plural: "roles", fields: { rules }, change: { rules: [] } },
  {
    apiVersion: `${RBAC}/v1`,
    kind: "RoleBinding",
    plural: "rolebindings",
    fields: { roleRef, subjects },
    change: { subjects: [] },
  },
  {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRole",
    plural: "clusterroles",
    isCluster: true,
    fields: { rules },
    change: { rules: [] },
  },
  {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRoleBinding",
    plural: "clusterrolebindings",
    isCluster: true,
    fields: { roleRef, subjects },
    change: { subjects: [] },
  },
  {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    plural: "leases",
    fields: { spec: { holderIdentity: "a", leaseDurationSeconds: 15 } },
    change: { spec: { holderIdentity: "b" } },
  },
  {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    plural: "poddisruptionbudgets",
    isRestless: true,
    fields: { spec: { minAvailable: 1, selector: { matchLabels: { app: "none" } } } },
    change: { spec: { minAvailable: 2 } },
  },
  {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    plural: "endpointslices",
    fields: {
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.1.1.1"] }],
      ports: [{ name: "https", port: 443, protocol: "TCP" }],
    },
    change: { endpoints: [] },
  },
  {
    apiVersion: "flowcontrol.apiserver.k8s.io/v1",
    kind: "FlowSchema",
    plural: "flowschemas",
    isCluster: true,
    fields: { spec: flow },
    change: { spec: { matchingPrecedence: 9_600 } },
    isRestless: true,
  },
  {
    apiVersion: "flowcontrol.apiserver.k8s.io/v1",
    kind: "PriorityLevelConfiguration",
    plural: "prioritylevelconfigurations",
    isCluster: true,
    fields: { spec: { type: "Limited", limited: { nominalConcurrencyShares: 1, limitResponse: { type: "Reject" } } } },
    change: { spec: { limited: { nominalConcurrencyShares: 2 } } },
    isRestless: true,
  },
  {
    apiVersion: "controller-resilience.io/v1alpha1",
    kind: "ControllerResilience",
    plural: "controllerresiliences",
    fields: { spec: { targets, tokenRestart: {} } },
    change: { spec: { mode: "Observe" } },
  },
  {
    apiVersion: "controller-resilience.io/v1alpha1",
    kind: "ClusterControllerResilience",
    plural: "clustercontrollerresiliences",
    isCluster: true,
    fields: { spec: { namespaces: { selector: { matchLabels: { a: "b" } } }, template: { tokenRestart: {} } } },
    change: { spec: { mode: "Observe" } },
  },
];

/** A merge patch. */
export const MERGE = "application/merge-patch+json";
/** A server-side apply. */
export const APPLY = "application/apply-patch+yaml";

/** The collection of a kind. */
export function collectionOf({
  apiVersion,
  plural,
  isCluster,
}: Pick<Sample, "apiVersion" | "plural" | "isCluster">): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return isCluster === true ? `${root}/${plural}` : `${root}/namespaces/{ns}/${plural}`;
}
