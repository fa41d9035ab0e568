import type { ClusterClient } from "./client";

/** Short-lived kinds: records of the past, and objects that the controller-manager creates and deletes by itself. */
const PASSING = /^(events|pods|endpoints|endpointslices|replicasets|controllerrevisions)\b/;

/** Kind, namespace and name of every long-lived object of a cluster. */
export async function inventory(client: ClusterClient): Promise<string[]> {
  const kinds = (await client.output(["api-resources", "--verbs=list", "-o", "name"])).trim().split("\n");
  const lasting = kinds.filter(kind => !PASSING.test(kind)).join(",");
  const columns = "custom-columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name";
  const text = await client.output(["get", lasting, "-A", "--no-headers", "-o", columns]);
  return text
    .trim()
    .split("\n")
    .map(line => line.replace(/\s+/g, " ").trim());
}
