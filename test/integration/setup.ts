import type { TestProject } from "vitest/node";
import { bringUpLabs } from "../cluster/worker-labs";
import { printer } from "../lab/progress";
import { bringUp } from "./lab";

declare module "vitest" {
  interface ProvidedContext {
    /** Prefix of the names of the suite's labs. */
    integrationLabs: string;
  }
}

/** Brings up the labs: control planes with the project's CRDs. */
export default function setup(project: TestProject): Promise<() => Promise<void>> {
  const suite = process.env["INTEGRATION_LAB"] ?? "integration";
  project.provide("integrationLabs", suite);
  return bringUpLabs(project, suite, name => bringUp(name, printer(process.stderr)));
}
