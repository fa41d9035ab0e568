import { accessSync, constants, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { TestProject } from "vitest/node";
import { ClusterClient } from "../cluster/client";
import { Lab } from "../lab";
import { printer } from "../lab/progress";

declare module "vitest" {
  interface ProvidedContext {
    /** Path of a kubeconfig of an administrator. */
    adminKubeconfig: string;
    /** Path of the kubectl program. */
    kubectl: string;
    /** Name of the lab, for tests that restart its API server. */
    lab: string;
  }
}

const CRD_FILE = join(import.meta.dirname, "../../crds/controllerresilience.yaml");
const CRD_NAME = "controllerresiliences.controller-resilience.io";

/**
 * One real control plane for the whole suite, with the project's CRD in it. What fails here fails the suite: nothing is skipped.
 * A lab of this name that was up before is used again and left up, so that running one test again takes seconds.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const name = process.env["INTEGRATION_LAB"] ?? "integration";
  const before = Lab.find(name);
  const lab = await Lab.up({ name, controlPlaneOnly: true, onProgress: printer(process.stderr) });
  const down = async (): Promise<void> => {
    if (before === undefined) await lab.down();
  };
  try {
    await lab.apply(readFileSync(CRD_FILE, "utf8"));
    const client = ClusterClient.of(lab);
    await client.untilServed([`crd/${CRD_NAME}`]);
  } catch (error) {
    await down();
    throw error;
  }
  project.provide("lab", name);
  project.provide("adminKubeconfig", lab.kubeconfigPath);
  project.provide("kubectl", programOn(lab.environment["PATH"] ?? "", "kubectl"));
  return down;
}

function programOn(path: string, program: string): string {
  for (const folder of path.split(delimiter)) {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return join(folder, program);
    } catch {
      // The next folder may have it.
    }
  }
  throw new Error(`there is no ${program} on the lab's PATH (${path})`);
}
