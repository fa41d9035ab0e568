// The ServiceAccounts of the flooding and of the measured clients.

const RBAC = "rbac.authorization.k8s.io";

/** The path that a client without rights requests: every answer is a 403. */
export const FORBIDDEN_PATH = "/api/v1/pods?limit=1";

/** ServiceAccount without rights. */
export function withoutRights(namespace: string, name: string): object[] {
  return [{ apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name } }];
}

/** ServiceAccount that may read one ConfigMap of its namespace, and that ConfigMap. */
export function reader(namespace: string, name: string): object[] {
  const metadata = { namespace, name };
  const configMaps = { apiGroups: [""], resources: ["configmaps"], verbs: ["get"], resourceNames: [name] };
  return [
    ...withoutRights(namespace, name),
    { apiVersion: "v1", kind: "ConfigMap", metadata, data: { key: "value" } },
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules: [configMaps] },
    binding(namespace, name),
  ];
}

/** The path that the reader requests. */
export function readablePath(namespace: string, name: string): string {
  return `/api/v1/namespaces/${namespace}/configmaps/${name}`;
}

function binding(namespace: string, name: string): object {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "RoleBinding",
    metadata: { namespace, name },
    roleRef: { apiGroup: RBAC, kind: "Role", name },
    subjects: [{ kind: "ServiceAccount", namespace, name }],
  };
}
