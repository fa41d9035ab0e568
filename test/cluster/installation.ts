import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { ClusterClient } from "./client";

/** Text of a file of this repository. */
const manifest = (path: string): string => readFileSync(join(__dirname, "..", "..", path), "utf8");

/** Namespace and name of the operator's own ServiceAccount. */
export const OPERATOR = { namespace: "controller-resilience-system", serviceAccount: "controller-resilience" } as const;

const KINDS = ["controllerresilience", "clustercontrollerresilience"];

/** Manifests that an operator outside the cluster needs, in order: its API; its rights, its own flows and Pepr's store. */
export const installation = [...KINDS.map(kind => `crds/${kind}.yaml`), "deploy/host-process.yaml"];

/** Installs what an operator outside the cluster needs. */
export async function install(client: ClusterClient): Promise<void> {
  for (const path of installation) await client.apply(manifest(path));
  const ours = KINDS.map(kind => `${kind}s.controller-resilience.io`);
  await client.untilServed([...ours, "peprstores.pepr.dev"].map(name => `crd/${name}`));
}

/** An object of the shipped manifests. */
export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules?: readonly object[];
}

/** The rules of the shipped ClusterRoles: exactly those that an installer grants. */
export function shippedRules(): object[] {
  return shipped("ClusterRole").flatMap(({ rules = [] }) => rules);
}

/** The objects of that kind that an operator outside the cluster needs. */
export function shipped(kind: string): Manifest[] {
  return parseAllDocuments(manifest("deploy/host-process.yaml"))
    .map(document => document.toJS() as Manifest | null)
    .flatMap(object => (object?.kind === kind ? [object] : []));
}
