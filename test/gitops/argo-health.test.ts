import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type Health, healthFolder } from "../argocd/argo-cd";
import { run } from "../lab/commands";
import { built } from "../lab/go-build";
import { silent } from "../lab/progress";
import { ARGO_CD } from "./programs";

// Argo CD's own program judges the test data with the health checks in the shipped argocd-cm.

const CONFIG = join(__dirname, "..", "..", "deploy", "argocd", "argocd-cm.yaml");
const KINDS = ["ControllerResilience", "ClusterControllerResilience"];

let program: string;

beforeAll(async () => {
  program = await built(ARGO_CD, "gitops", silent);
});

interface HealthTests {
  readonly tests: readonly { readonly inputPath: string; readonly healthStatus: Health }[];
}

describe.each(KINDS)("the health check of a %s", kind => {
  const folder = healthFolder(kind);
  const { tests } = parse(readFileSync(join(folder, "health_test.yaml"), "utf8")) as HealthTests;

  it.each(tests)("$inputPath: $healthStatus.status", async ({ inputPath, healthStatus }) => {
    const file = join(folder, inputPath);
    const args = ["admin", "settings", "resource-overrides", "health", file, "--argocd-cm-path", CONFIG];
    const { stdout, stderr } = await run([program, ...args], {
      env: { ...process.env, ARGOCD_BINARY_NAME: "argocd" },
    });
    expect(`${stdout}${stderr}`).toContain(`STATUS: ${healthStatus.status}\nMESSAGE: ${healthStatus.message}`);
  });
});
