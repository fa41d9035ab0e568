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

/** The kinds of source-controller. */
export const SOURCE_KINDS = [
  "buckets",
  "externalartifacts",
  "gitrepositories",
  "helmcharts",
  "helmrepositories",
  "ocirepositories",
];

/** A controller of Flux. Its go.mod repeats the controller's own, as above. */
function fluxController(name: string, version: string, files: readonly string[], as: string): GoProgram {
  const module = `github.com/fluxcd/${name}`;
  return {
    ...{ name, version, sources: join(__dirname, name), package: module, ldflags: "-s -w" },
    keep: { module, files, as },
  };
}

/** Fetches sources; in the newest version for Go 1.26. */
export const SOURCE_CONTROLLER = fluxController(
  "source-controller",
  "v1.9.3",
  [...SOURCE_KINDS.map(kind => `config/crd/bases/source.toolkit.fluxcd.io_${kind}.yaml`), "config/rbac/role.yaml"],
  "sources.yaml",
);

/** Applies manifests; in the newest version for Go 1.26. */
export const KUSTOMIZE_CONTROLLER = fluxController(
  "kustomize-controller",
  "v1.9.6",
  ["config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml"],
  "kustomizations.yaml",
);

/** Installs charts; in a version that the module proxy serves. */
export const HELM_CONTROLLER = fluxController(
  "helm-controller",
  "v1.6.4",
  ["config/crd/bases/helm.toolkit.fluxcd.io_helmreleases.yaml"],
  "helmreleases.yaml",
);
