import { readDefinition } from "./bootstrap";
import { apiVersionOf, BUILT_IN, kindOfDefinition, type KindInfo } from "./kinds";

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

/** An object of a kind. */
export interface Sample {
  readonly plural: string;
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
  { plural: "serviceaccounts", fields: {}, change: { automountServiceAccountToken: false } },
  { plural: "pods", fields: { spec: podSpec } },
  {
    plural: "deployments",
    isRestless: true,
    fields: { spec: { selector: { matchLabels: labels }, template } },
    change: { spec: { replicas: 3 } },
  },
  {
    plural: "statefulsets",
    isRestless: true,
    fields: { spec: { selector: { matchLabels: labels }, serviceName: "x", template } },
    change: { spec: { replicas: 3 } },
  },
  {
    plural: "daemonsets",
    isRestless: true,
    fields: { spec: { selector: { matchLabels: labels }, template } },
    change: { spec: { template: { spec: { terminationGracePeriodSeconds: 5 } } } },
  },
  { plural: "roles", fields: { rules }, change: { rules: [] } },
  { plural: "rolebindings", fields: { roleRef, subjects }, change: { subjects: [] } },
  { plural: "clusterroles", fields: { rules }, change: { rules: [] } },
  { plural: "clusterrolebindings", fields: { roleRef, subjects }, change: { subjects: [] } },
  {
    plural: "leases",
    fields: { spec: { holderIdentity: "a", leaseDurationSeconds: 15 } },
    change: { spec: { holderIdentity: "b" } },
  },
  {
    plural: "poddisruptionbudgets",
    isRestless: true,
    fields: { spec: { minAvailable: 1, selector: { matchLabels: { app: "none" } } } },
    change: { spec: { minAvailable: 2 } },
  },
  {
    plural: "endpointslices",
    fields: {
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.1.1.1"] }],
      ports: [{ name: "https", port: 443, protocol: "TCP" }],
    },
    change: { endpoints: [] },
  },
  { plural: "flowschemas", fields: { spec: flow }, change: { spec: { matchingPrecedence: 9_600 } }, isRestless: true },
  {
    plural: "prioritylevelconfigurations",
    fields: { spec: { type: "Limited", limited: { nominalConcurrencyShares: 1, limitResponse: { type: "Reject" } } } },
    change: { spec: { limited: { nominalConcurrencyShares: 2 } } },
    isRestless: true,
  },
  {
    plural: "controllerresiliences",
    fields: { spec: { targets, tokenRestart: {} } },
    change: { spec: { mode: "Observe" } },
  },
  {
    plural: "clustercontrollerresiliences",
    fields: { spec: { namespaces: { selector: { matchLabels: { a: "b" } } }, template: { tokenRestart: {} } } },
    change: { spec: { mode: "Observe" } },
  },
];

/** A merge patch. */
export const MERGE = "application/merge-patch+json";
/** A server-side apply. */
export const APPLY = "application/apply-patch+yaml";

const OURS = ["controllerresilience.yaml", "clustercontrollerresilience.yaml"].map(
  file => kindOfDefinition(readDefinition(file))!,
);

/** The kind of a sample. */
export function kindOf({ plural }: Sample): KindInfo {
  return BUILT_IN.get(plural) ?? OURS.find(info => info.plural === plural)!;
}

/** The collection of its kind. */
export function collectionOf(sample: Sample): string {
  const info = kindOf(sample);
  const root = `${info.group === "" ? "/api" : "/apis"}/${apiVersionOf(info)}`;
  return info.isNamespaced ? `${root}/namespaces/{ns}/${info.plural}` : `${root}/${info.plural}`;
}
