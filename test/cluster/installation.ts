import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { ClusterClient } from "./client";

/** Text of a file of this repository. */
const manifest = (path: string): string => readFileSync(join(__dirname, "..", "..", path), "utf8");

/** Namespace and name of the operator's own ServiceAccount. */
export const OPERATOR = { namespace: "controller-resilience-system", serviceAccount: "controller-resilience" } as const;

/** What an operator outside of the cluster needs on it, in order: its API; its rights, its own flows and Pepr's store. */
export const installation = ["crds/controllerresilience.yaml", "deploy/host-process.yaml"];

/** Installs what an operator outside of the cluster needs on it. */
export async function install(client: ClusterClient): Promise<void> {
  for (const path of installation) await client.apply(manifest(path));
  await client.untilServed(["crd/controllerresiliences.controller-resilience.io", "crd/peprstores.pepr.dev"]);
}

/** One object of what is shipped. */
export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules?: readonly object[];
}

/** The rules of the shipped ClusterRoles: no more than what an installer gives. */
export function shippedRules(): object[] {
  return shipped("ClusterRole").flatMap(({ rules = [] }) => rules);
}

/** What of that kind an operator outside of the cluster needs on it. */
export function shipped(kind: string): Manifest[] {
  return parseAllDocuments(manifest("deploy/host-process.yaml"))
    .map(document => document.toJS() as Manifest | null)
    .flatMap(object => (object?.kind === kind ? [object] : []));
}
