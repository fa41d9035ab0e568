import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Document } from "yaml";

const HEALTH = "deploy/argocd/resource_customizations/controller-resilience.io/ControllerResilience/health.lua";

/** A patch for argocd-cm that adds the health check of ControllerResiliences to Argo CD. */
export function argocdConfig(root: string): { path: string; from: string; text: () => Promise<string> } {
  const key = "resource.customizations.health.controller-resilience.io_ControllerResilience";
  const document = new Document({
    ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "argocd-cm", namespace: "argocd" } },
    data: { [key]: readFileSync(join(root, HEALTH), "utf8") },
  });
  document.commentBefore = [
    ` Made from ${HEALTH} by "npm run generate". Do not edit.`,
    " Add it to the ConfigMap of Argo CD: kubectl patch configmap argocd-cm -n argocd --patch-file deploy/argocd/argocd-cm.yaml",
  ].join("\n");
  return {
    path: "deploy/argocd/argocd-cm.yaml",
    from: HEALTH,
    text: () => Promise.resolve(document.toString({ lineWidth: 0 })),
  };
}
