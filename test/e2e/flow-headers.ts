import { readFileSync } from "node:fs";
import { get } from "node:https";
import { parse } from "yaml";
import type { ClusterClient } from "../cluster/client";

/** The UIDs of the FlowSchema and the priority level that handled a request, from the API server's response headers. */
interface FlowHeaders {
  readonly schema: string | undefined;
  readonly level: string | undefined;
}

interface Kubeconfig {
  readonly clusters: readonly [{ cluster: { server: string; "certificate-authority-data": string } }];
  readonly users: readonly [{ user: { token: string } }];
}

/** Sends one request with the token of a kubeconfig. Returns the headers of any answer, also of a refusal. */
export function flowHeaders(kubeconfig: string, path: string): Promise<FlowHeaders> {
  const { clusters, users } = parse(readFileSync(kubeconfig, "utf8")) as Kubeconfig;
  const { server, "certificate-authority-data": authority } = clusters[0].cluster;
  const headers = { authorization: `Bearer ${users[0].user.token}` };
  return new Promise((resolve, reject) => {
    const request = get(new URL(path, server), { ca: Buffer.from(authority, "base64"), headers }, answer => {
      answer.resume();
      const [schema, level] = ["flowschema", "prioritylevel"].map(
        kind => answer.headers[`x-kubernetes-pf-${kind}-uid`],
      );
      resolve({ schema: schema?.toString(), level: level?.toString() });
    });
    request.on("error", reject);
  });
}

/** UID of a FlowSchema. */
export function schemaUID(client: ClusterClient, name: string): Promise<string> {
  return client.output(["get", "flowschema", name, "-o", "jsonpath={.metadata.uid}"]);
}

/** UID of a PriorityLevelConfiguration. */
export function levelUID(client: ClusterClient, name: string): Promise<string> {
  return client.output(["get", "prioritylevelconfiguration", name, "-o", "jsonpath={.metadata.uid}"]);
}
