/** A program in its own Deployment, with its own ServiceAccount that may list and watch ConfigMaps. */
export interface SmallControllerOptions {
  readonly namespace: string;
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly replicas?: number;
  /** If false, its requests are answered 403. */
  readonly mayRead?: boolean;
  readonly kind?: "Deployment" | "StatefulSet" | "DaemonSet";
  /** It may use the Lease LEASE of the same name, by the RoleBinding `NAME-lease`. */
  readonly lease?: boolean;
}

/** All its objects except the namespace. */
export function smallController(options: SmallControllerOptions): object[] {
  const { namespace, name, mayRead = true, lease = false } = options;
  const account = { namespace, name };
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: account },
    ...(mayRead ? rightsOf(account, account, CONFIG_MAPS) : []),
    ...(lease ? rightsOf(account, { namespace, name: `${name}-lease` }, LEASES) : []),
    workload(options),
  ];
}

const CONFIG_MAPS = { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] };

/** What leader election needs. */
export const LEASES = {
  apiGroups: ["coordination.k8s.io"],
  resources: ["leases"],
  verbs: ["create", "get", "update", "patch"],
};

interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** A Role and its RoleBinding, which have the same name. */
export function rightsOf(account: Named, metadata: Named, ...rules: readonly object[]): object[] {
  const group = "rbac.authorization.k8s.io";
  const roleRef = { apiGroup: group, kind: "Role", name: metadata.name };
  return [
    { apiVersion: `${group}/v1`, kind: "Role", metadata, rules },
    {
      apiVersion: `${group}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef,
      subjects: [{ kind: "ServiceAccount", ...account }],
    },
  ];
}

function workload({
  namespace,
  name,
  image,
  command,
  replicas = 1,
  kind = "Deployment",
  lease = false,
}: SmallControllerOptions): object {
  const labels = { "app.kubernetes.io/name": name };
  const env = [{ name: "NAMESPACE", value: namespace }, ...(lease ? [{ name: "LEASE", value: name }] : [])];
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { namespace, name, labels },
    spec: {
      ...(kind === "DaemonSet" ? {} : { replicas }),
      ...(kind === "StatefulSet" ? { serviceName: name } : {}),
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: name,
          terminationGracePeriodSeconds: 1,
          containers: [{ name, image, imagePullPolicy: "IfNotPresent", command, env }],
        },
      },
    },
  };
}
