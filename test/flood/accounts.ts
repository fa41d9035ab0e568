import { rightsOf, serviceAccount } from "../cluster/objects";

// The ServiceAccounts of the flooding and of the measured clients.

/** The path that a client without rights requests: every answer is a 403. */
export const FORBIDDEN_PATH = "/api/v1/pods?limit=1";

/** ServiceAccount that may read one ConfigMap of its namespace, and that ConfigMap. */
export function reader(namespace: string, name: string): object[] {
  const metadata = { namespace, name };
  const configMaps = { apiGroups: [""], resources: ["configmaps"], verbs: ["get"], resourceNames: [name] };
  return [
    serviceAccount(metadata),
    { apiVersion: "v1", kind: "ConfigMap", metadata, data: { key: "value" } },
    ...rightsOf(metadata, metadata, configMaps),
  ];
}

/** The path that the reader requests. */
export function readablePath(namespace: string, name: string): string {
  return `/api/v1/namespaces/${namespace}/configmaps/${name}`;
}
