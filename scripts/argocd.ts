import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Document } from "yaml";

const GROUP = "controller-resilience.io";
const FOLDER = `deploy/argocd/resource_customizations/${GROUP}`;
const KINDS = ["ControllerResilience", "ClusterControllerResilience"];

/** A patch for argocd-cm that adds the health checks of this project's kinds to Argo CD. */
export function argocdConfig(root: string): { path: string; from: string; text: () => Promise<string> } {
  const checks = KINDS.map(kind => [
    `resource.customizations.health.${GROUP}_${kind}`,
    readFileSync(join(root, FOLDER, kind, "health.lua"), "utf8"),
  ]);
  const document = new Document({
    ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "argocd-cm", namespace: "argocd" } },
    data: Object.fromEntries(checks) as object,
  });
  document.commentBefore = [
    ` Made from ${FOLDER} by "npm run generate". Do not edit.`,
    " Add it to the ConfigMap of Argo CD: kubectl patch configmap argocd-cm -n argocd --patch-file deploy/argocd/argocd-cm.yaml",
  ].join("\n");
  return {
    path: "deploy/argocd/argocd-cm.yaml",
    from: FOLDER,
    text: () => Promise.resolve(document.toString({ lineWidth: 0 })),
  };
}
