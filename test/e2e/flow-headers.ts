import { readFileSync } from "node:fs";
import { get } from "node:https";
import { parse } from "yaml";
import type { ClusterClient } from "../cluster/client";

/** Which FlowSchema and priority level the API server says that it has put a request on, by uid. */
export interface FlowHeaders {
  readonly schema: string | undefined;
  readonly level: string | undefined;
}

interface Kubeconfig {
  readonly clusters: readonly [{ cluster: { server: string; "certificate-authority-data": string } }];
  readonly users: readonly [{ user: { token: string } }];
}

/** Asks once, with the token of a kubeconfig; whatever the answer is, it says so. */
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

/** Of a FlowSchema. */
export function schemaUID(client: ClusterClient, name: string): Promise<string> {
  return client.output(["get", "flowschema", name, "-o", "jsonpath={.metadata.uid}"]);
}

/** Of a PriorityLevelConfiguration. */
export function levelUID(client: ClusterClient, name: string): Promise<string> {
  return client.output(["get", "prioritylevelconfiguration", name, "-o", "jsonpath={.metadata.uid}"]);
}
