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
}

/** All its objects except the namespace. */
export function smallController(options: SmallControllerOptions): object[] {
  const { namespace, name, mayRead = true } = options;
  const group = "rbac.authorization.k8s.io";
  const rights = [
    {
      apiVersion: `${group}/v1`,
      kind: "Role",
      metadata: { namespace, name },
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] }],
    },
    {
      apiVersion: `${group}/v1`,
      kind: "RoleBinding",
      metadata: { namespace, name },
      roleRef: { apiGroup: group, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", namespace, name }],
    },
  ];
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name } },
    ...(mayRead ? rights : []),
    workload(options),
  ];
}

function workload({
  namespace,
  name,
  image,
  command,
  replicas = 1,
  kind = "Deployment",
}: SmallControllerOptions): object {
  const labels = { "app.kubernetes.io/name": name };
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
          containers: [
            { name, image, imagePullPolicy: "IfNotPresent", command, env: [{ name: "NAMESPACE", value: namespace }] },
          ],
        },
      },
    },
  };
}
