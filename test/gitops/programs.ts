import { join } from "node:path";
import type { GoProgram } from "../lab/go-build";

/**
 * The newest version of Argo CD that builds from Go modules. All of its components are one program, which runs the one that ARGOCD_BINARY_NAME names.
 * The go.mod repeats Argo CD's own, since Go ignores the replacements of a module that it depends on.
 */
export const ARGO_CD: GoProgram = {
  name: "argo-cd",
  version: "v3.1.9",
  sources: join(__dirname, "argo-cd"),
  package: "github.com/argoproj/argo-cd/v3/cmd",
  ldflags: "-s -w",
  keep: { module: "github.com/argoproj/argo-cd/v3", files: ["manifests/core-install.yaml"], as: "core-install.yaml" },
};
