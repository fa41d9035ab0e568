import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ClusterClient } from "./client";

const root = join(__dirname, "..", "..");

/** Namespace and name of the operator's own ServiceAccount. */
export const OPERATOR = { namespace: "controller-resilience-system", serviceAccount: "controller-resilience" } as const;

/** The manifests that the operator needs on a cluster, in order: its API, its rights, its own flows, Pepr's store. */
export const installation = [
  "crds/controllerresilience.yaml",
  "deploy/rbac.yaml",
  "deploy/flow-schema.yaml",
  "deploy/pepr-store.yaml",
];

/** Installs what the operator needs on a cluster. */
export async function install(client: ClusterClient, paths: readonly string[] = installation): Promise<void> {
  for (const path of paths) await client.apply(readFileSync(join(root, path), "utf8"));
  const crds = ["crd/controllerresiliences.controller-resilience.io", "crd/peprstores.pepr.dev"];
  await client.output(["wait", "--for=condition=Established", "--timeout=30s", ...crds]);
}
