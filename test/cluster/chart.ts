import { join } from "node:path";
import { operatorImage } from "../controllers/operator-image";
import type { BindableRole } from "../enforcers/rights";
import type { Lab } from "../lab";
import { helm } from "../lab/helm";
import { kubernetesVersion } from "../lab/kubernetes";
import { type Progress, silent } from "../lab/progress";
import { OPERATOR } from "./installation";

/** The chart that installs the operator. */
export const CHART = join(__dirname, "..", "..", "deploy", "chart");

/** Name of the release, as in docs/install.md. */
export const RELEASE = "controller-resilience";

export interface ChartObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly annotations?: object };
  readonly [field: string]: unknown;
}

/** Renders what the chart installs with Helm, without a cluster; throws with Helm's output. */
export async function renderChart(args: readonly string[], progress: Progress = silent): Promise<string> {
  const version = ["--kube-version", kubernetesVersion()];
  const how = ["template", RELEASE, CHART, "--namespace", OPERATOR.namespace, "--skip-tests", ...version];
  const { code, stdout, stderr } = await helm([...how, ...args], { progress });
  if (code !== 0) throw new Error(stderr.trim());
  return stdout;
}

/** Values for a lab, which has no registry. */
export const LAB_VALUES = ["--set", "image.tag=lab,image.pullPolicy=Never"] as const;

/** The value that lets the operator renew bindings of these roles. */
export function bindValue(roles: readonly BindableRole[]): string[] {
  return ["--set-json", `bindingRenewal.bind=${JSON.stringify(roles)}`];
}

/** Loads the operator's image into a lab with a node, and installs or upgrades the chart; its pods are ready when this returns. `bundle`: see operatorImage. */
export async function installChart(
  lab: Lab,
  args: readonly string[] = [],
  progress: Progress = silent,
  bundle?: string,
): Promise<void> {
  if (!lab.hasNode) throw new Error(`the lab "${lab.name}" has no node, so no pod can run in it`);
  await lab.loadImage((await operatorImage(progress, bundle)).tar);
  progress("installing the chart");
  await upgradeChart(lab, args);
}

/** The same with the already loaded image. */
async function upgradeChart(lab: Lab, args: readonly string[]): Promise<void> {
  const namespace = ["--namespace", OPERATOR.namespace, "--create-namespace"];
  const how = ["upgrade", "--install", RELEASE, CHART, ...namespace, ...LAB_VALUES, "--wait", "--timeout", "3m"];
  const { code, stderr } = await lab.helm([...how, ...args]);
  if (code !== 0) throw new Error(`the chart can't be installed: ${stderr.trim()}`);
  // The lab's API server has just started. Helm keeps what another client has added.
  const deployment = [`deployment/${RELEASE}`, "--namespace", OPERATOR.namespace];
  const rollout = [
    ["set", "env", ...deployment, "RESILIENCE_API_SERVER_SETTLE_SECONDS=0"],
    ["rollout", "status", ...deployment, "--timeout=3m"],
  ];
  for (const command of rollout) {
    const result = await lab.kubectl(command);
    if (result.code !== 0) throw new Error(`kubectl ${command.join(" ")} failed: ${result.stderr.trim()}`);
  }
}
