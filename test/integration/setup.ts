import type { TestProject } from "vitest/node";
import { workerLabNames } from "../cluster/worker-labs";
import { Lab } from "../lab";
import { bringDown } from "../lab/down";
import { printer } from "../lab/progress";
import { bringUp } from "./lab";

declare module "vitest" {
  interface ProvidedContext {
    /** Prefix of the names of the suite's labs. */
    integrationLabs: string;
  }
}

/**
 * Brings up the first lab: a control plane with the project's CRD. On a fresh machine building it takes minutes, longer than a test may take.
 * The other workers bring up their labs when they start (worker.ts). A running lab is reused and left up, so that running one test again takes
 * seconds.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const suite = process.env["INTEGRATION_LAB"] ?? "integration";
  const names = workerLabNames(suite);
  const own = names.filter(name => Lab.find(name) === undefined);
  const down = async (): Promise<void> => {
    await Promise.all(own.map(name => bringDown(name)));
  };
  try {
    await bringUp(names[0]!, printer(process.stderr));
  } catch (error) {
    await down();
    throw error;
  }
  project.provide("integrationLabs", suite);
  return down;
}
