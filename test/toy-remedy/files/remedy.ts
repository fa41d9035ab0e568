import { defineRemedy, type Remedy } from "../../../src/core/remedy";
import { observe } from "./observe";
import { plan } from "./plan";
import { REASONS } from "./reasons";
import { report } from "./report";

export function createToy(): Remedy<"toy"> {
  return defineRemedy({
    name: "toy",
    block: "toy",
    condition: "ToysLabeled",
    reasons: REASONS,
    owns: "toys",
    permissions: [
      { apiGroup: "apps", resource: "deployments", verbs: ["get", "patch"], why: "Reads and labels the targets." },
    ],
    observe,
    plan,
    report,
  });
}
