import { readFileSync } from "node:fs";
import { join } from "node:path";
import { must } from "../lab/commands";
import { built, type GoProgram } from "../lab/go-build";
import type { Progress } from "../lab/progress";

/** Argo CD's assessment of an object. */
export interface Health {
  readonly status: string;
  readonly message: string;
}

/** The health status, or why the script failed. */
export interface Opinion {
  readonly health?: Health;
  readonly error?: string;
}

const ARGO_CD_VERSION = "v3.2.12";

/** Argo CD's own library for health checks, and its API: the newest version whose parts are all available as Go modules. */
const ARGO_CD: GoProgram = {
  name: "argocd-health",
  version: ARGO_CD_VERSION,
  sources: join(__dirname, "health"),
  package: ".",
  ldflags: "-s -w",
  keep: {
    module: "github.com/argoproj/argo-cd/v3",
    files: ["manifests/crds/application-crd.yaml", "manifests/crds/appproject-crd.yaml"],
    as: "crds.yaml",
  },
};

/** The folder of the health check of a kind, in Argo CD's layout. */
export function healthFolder(kind: string): string {
  const checks = join(__dirname, "..", "..", "deploy", "argocd", "resource_customizations");
  return join(checks, "controller-resilience.io", kind);
}

/** The folder of the health check of ControllerResiliences. */
export const HEALTH_FOLDER = healthFolder("ControllerResilience");

/** Builds the program that runs Argo CD's library, if necessary; takes some minutes. */
export async function argoHealth(
  progress: Progress,
  kind = "ControllerResilience",
  script = join(healthFolder(kind), "health.lua"),
): Promise<(objects: readonly object[]) => Promise<Opinion[]>> {
  const program = await built(ARGO_CD, "argocd", progress);
  return async objects =>
    JSON.parse(
      await must([program, `controller-resilience.io/${kind}`, script], { stdin: JSON.stringify(objects) }),
    ) as Opinion[];
}

/** The definitions of Application and AppProject, as YAML. */
export async function argoApi(progress: Progress): Promise<string> {
  const program = await built(ARGO_CD, "argocd", progress);
  return readFileSync(join(program, "..", "crds.yaml"), "utf8");
}
