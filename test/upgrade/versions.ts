import { join } from "node:path";
import { CHART, RELEASE } from "../cluster/chart";
import type { Version } from "../rig/rig";
import { ClusterClient } from "../cluster/client";
import { OPERATOR } from "../cluster/installation";
import type { Lab } from "../lab";
import { must } from "../lab/commands";
import { bundleProgram } from "../operator/bundle";
import { ENTRY } from "../operator/process";
import type { Earlier } from "./earlier";

const CRDS = ["crd/controllerresiliences.controller-resilience.io", "crd/peprstores.pepr.dev"];
/** Downloads of some hundred packages, in milliseconds. */
const INSTALL_MS = 600_000;
/** The operator runs as a process, and its pods could not. */
const VALUES = ["--set", "operator.enabled=false"];

/** An earlier version with its own libraries, installed with its own chart. */
export function versionOf({ folder }: Earlier, lab: Lab): Version {
  return {
    bundle: async into => {
      const options = ["--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"];
      await must(["npm", "ci", "--prefix", folder, ...options], { timeoutMs: INSTALL_MS });
      return bundleProgram(join(folder, ENTRY), join(into, "earlier.cjs"));
    },
    install: async () => {
      await helm(lab, ["install", RELEASE, join(folder, "deploy", "chart"), "--create-namespace", ...VALUES]);
      await ClusterClient.of(lab).untilServed(CRDS);
    },
  };
}

/** Upgrades definitions and rights as docs/install.md says, without the pods. */
export const upgrade = (lab: Lab): Promise<void> => helm(lab, ["upgrade", RELEASE, CHART, "--reset-then-reuse-values"]);

/** Reverts that. */
export const rollback = (lab: Lab): Promise<void> => helm(lab, ["rollback", RELEASE]);

async function helm(lab: Lab, args: readonly string[]): Promise<void> {
  const { code, stderr } = await lab.helm([...args, "--namespace", OPERATOR.namespace]);
  if (code !== 0) throw new Error(`\`helm ${args.join(" ")}\` failed: ${stderr.trim()}`);
}
