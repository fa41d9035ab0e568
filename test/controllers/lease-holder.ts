import { LEASES, rightsOf, roleBinding, serviceAccount, workload } from "../cluster/objects";

/** A program of the Kubernetes project in its own Deployment, with its own ServiceAccount and a Lease of the same name. */
interface LeaseHolderOptions {
  readonly namespace: string;
  readonly name: string;
  readonly image: string;
  /** The arguments besides those of leader election. */
  readonly command: readonly string[];
  /** A ClusterRole that exists, or the rules of one that is made. */
  readonly clusterRole: string | readonly object[];
  /** Files below /etc/program. */
  readonly files?: Readonly<Record<string, string>>;
}

/** All its objects except the namespace. The RoleBinding of the same name allows its Lease. */
export function leaseHolder({ clusterRole, files = {}, command, ...place }: LeaseHolderOptions): object[] {
  const { namespace, name, image } = place;
  const account = { namespace, name };
  const election = ["--leader-elect", `--leader-elect-resource-namespace=${namespace}`, "--leader-elect-resource-name"];
  const container = {
    name,
    image,
    imagePullPolicy: "IfNotPresent",
    command: [...command, ...election, name],
    volumeMounts: [{ name: "files", mountPath: "/etc/program", readOnly: true }],
  };
  const metadata = { name: `${namespace}-${name}` };
  const isMade = typeof clusterRole !== "string";
  const made = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata, rules: clusterRole };
  return [
    serviceAccount(account),
    { apiVersion: "v1", kind: "ConfigMap", metadata: account, data: files },
    ...(isMade ? [made] : []),
    roleBinding(metadata, { kind: "ClusterRole", name: isMade ? metadata.name : clusterRole }, account),
    ...rightsOf(account, account, LEASES),
    workload("Deployment", account, { containers: [container], volumes: [{ name: "files", configMap: { name } }] }),
  ];
}

type Place = Pick<LeaseHolderOptions, "namespace" | "name" | "image">;

/**
 * kube-controller-manager as a second one of the cluster, with one of its controllers: by default it may do nothing but delete Jobs whose
 * time is over. Without the certificate of the cluster it would empty the ConfigMap kube-root-ca.crt in every namespace, if it ran that
 * controller.
 */
export function kubeControllerManager(
  place: Place,
  { controller = "ttl-after-finished", flags = ["--secure-port=0"] as readonly string[] } = {},
): object[] {
  const command = [
    "kube-controller-manager",
    `--controllers=${controller}-controller`,
    "--root-ca-file=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
    ...flags,
  ];
  return leaseHolder({ ...place, command, clusterRole: "system:kube-controller-manager" });
}

const POLICY = {
  apiVersion: "descheduler/v1alpha2",
  kind: "DeschedulerPolicy",
  profiles: [
    {
      name: "restarts",
      pluginConfig: [
        { name: "DefaultEvictor" },
        { name: "RemovePodsHavingTooManyRestarts", args: { podRestartThreshold: 100_000 } },
      ],
      plugins: { deschedule: { enabled: ["RemovePodsHavingTooManyRestarts"] } },
    },
  ],
};

const READS = ["get", "list", "watch"];
const DESCHEDULER_RULES = [
  { apiGroups: [""], resources: ["nodes", "namespaces", "pods", "persistentvolumeclaims"], verbs: READS },
  { apiGroups: ["scheduling.k8s.io"], resources: ["priorityclasses"], verbs: READS },
  { apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: READS },
];

/** The descheduler, which looks at all pods every ten seconds and finds none to evict, nor may it. */
export function descheduler(place: Place): object[] {
  const command = ["descheduler", "--policy-config-file=/etc/program/policy.json", "--descheduling-interval=10s"];
  const files = { "policy.json": JSON.stringify(POLICY) };
  return leaseHolder({ ...place, command, files, clusterRole: DESCHEDULER_RULES });
}
