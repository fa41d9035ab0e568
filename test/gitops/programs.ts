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

/** Flux's controller that fetches sources, in the newest version for Go 1.26. Its go.mod repeats the controller's own, as above. */
export const SOURCE_CONTROLLER: GoProgram = {
  name: "source-controller",
  version: "v1.9.3",
  sources: join(__dirname, "source-controller"),
  package: "github.com/fluxcd/source-controller",
  ldflags: "-s -w",
  keep: {
    module: "github.com/fluxcd/source-controller",
    files: [
      ...SOURCE_KINDS.map(kind => `config/crd/bases/source.toolkit.fluxcd.io_${kind}.yaml`),
      "config/rbac/role.yaml",
    ],
    as: "sources.yaml",
  },
};

/** Flux's controller that applies manifests, in the newest version for Go 1.26. Its go.mod repeats the controller's own, as above. */
export const KUSTOMIZE_CONTROLLER: GoProgram = {
  name: "kustomize-controller",
  version: "v1.9.6",
  sources: join(__dirname, "kustomize-controller"),
  package: "github.com/fluxcd/kustomize-controller",
  ldflags: "-s -w",
  keep: {
    module: "github.com/fluxcd/kustomize-controller",
    files: ["config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml"],
    as: "kustomizations.yaml",
  },
};

/** Flux's controller that installs charts, in a version that the module proxy serves. Its go.mod repeats the controller's own, as above. */
export const HELM_CONTROLLER: GoProgram = {
  name: "helm-controller",
  version: "v1.6.4",
  sources: join(__dirname, "helm-controller"),
  package: "github.com/fluxcd/helm-controller",
  ldflags: "-s -w",
  keep: {
    module: "github.com/fluxcd/helm-controller",
    files: ["config/crd/bases/helm.toolkit.fluxcd.io_helmreleases.yaml"],
    as: "helmreleases.yaml",
  },
};
