import type { ClusterClient } from "./client";

/** Objects that describe the past, and what the controller-manager keeps for others and takes away in its own time. */
const PASSING = /^(events|pods|endpoints|endpointslices|replicasets|controllerrevisions)\b/;

/** Kind, namespace and name of every object of a cluster that lasts. */
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
