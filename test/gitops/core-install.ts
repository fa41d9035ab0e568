import { randomBytes } from "node:crypto";
import { parseAllDocuments } from "yaml";
import type { ClusterClient } from "../cluster/client";
import { ARGO_NAMESPACE } from "./core";

/** What this machine's processes replace, or a lab needs not. */
const OMITTED = new Set(["Deployment", "StatefulSet", "Service", "NetworkPolicy"]);

/** Definitions, rights and configuration of the core installation, and the project that Argo CD's other installations create themselves. */
export async function installCore(client: ClusterClient, manifest: string): Promise<void> {
  await client.createNamespace(ARGO_NAMESPACE);
  const objects = parseAllDocuments(manifest).map(document => document.toJS() as { kind: string } | null);
  const kept = objects.flatMap(object => (object === null || OMITTED.has(object.kind) ? [] : [inNamespace(object)]));
  await client.apply(kept);
  await client.untilServed(["applications", "appprojects"].map(name => `crd/${name}.argoproj.io`));
  // Argo CD's API server, which this installation lacks, creates this key; without it the controller refuses every Application.
  const stringData = { "server.secretkey": randomBytes(32).toString("base64") };
  const metadata = { name: "argocd-secret", namespace: ARGO_NAMESPACE };
  await client.apply([{ apiVersion: "v1", kind: "Secret", metadata, stringData }]);
  const everything = { group: "*", kind: "*" };
  await client.apply([
    {
      ...{ apiVersion: "argoproj.io/v1alpha1", kind: "AppProject" },
      metadata: { name: "default", namespace: ARGO_NAMESPACE },
      spec: {
        sourceRepos: ["*"],
        destinations: [{ server: "*", namespace: "*" }],
        clusterResourceWhitelist: [everything],
      },
    },
  ]);
}

const CLUSTER_WIDE = new Set(["CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"]);

/** The manifest names no namespaces: it is for `kubectl apply -n`. */
function inNamespace(object: { kind: string; metadata?: object }): object {
  if (CLUSTER_WIDE.has(object.kind)) return object;
  return { ...object, metadata: { ...object.metadata, namespace: ARGO_NAMESPACE } };
}
