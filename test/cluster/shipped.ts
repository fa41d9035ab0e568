import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { OPERATOR_IMAGE, operatorImage } from "../controllers/operator-image";
import type { Lab } from "../lab";
import { type Progress, silent } from "../lab/progress";
import { ClusterClient } from "./client";
import { OPERATOR } from "./installation";

const DEPLOYMENT = "controller-resilience";
const ROLLOUT_S = 180;

interface Container {
  readonly env: readonly { readonly name: string; readonly value: string }[];
}

interface Deployment {
  readonly kind: "Deployment";
  readonly spec: { readonly template: { readonly spec: { readonly containers: readonly Container[] } } };
}

/** Installs deploy/install.yaml in a lab with a node; the pods are ready when this returns. */
export async function installShipped(lab: Lab, progress: Progress = silent): Promise<void> {
  if (!lab.hasNode) throw new Error(`the lab "${lab.name}" has no node, so no pod can run in it`);
  await lab.loadImage((await operatorImage(progress)).tar);
  progress("applying deploy/install.yaml");
  await ClusterClient.of(lab).apply(
    forLab(readFileSync(join(__dirname, "..", "..", "deploy", "install.yaml"), "utf8")),
  );
  const rollout = ["rollout", "status", `deployment/${DEPLOYMENT}`, "-n", OPERATOR.namespace];
  const timeoutMs = (ROLLOUT_S + 10) * 1000;
  const { code, stdout, stderr } = await lab.kubectl([...rollout, `--timeout=${ROLLOUT_S}s`], { timeoutMs });
  if (code !== 0) throw new Error(`the operator is not ready: ${stderr.trim() || stdout.trim()}`);
}

/** The manifests for a lab, which has no registry, and whose API server has just started. Pure. */
export function forLab(manifests: string): object[] {
  const objects = parseAllDocuments(manifests).map(document => document.toJS() as { kind?: string } | null);
  return objects.flatMap(object => {
    if (object === null) return [];
    return [object.kind === "Deployment" ? inLab(object as Deployment) : object];
  });
}

function inLab({ spec, ...deployment }: Deployment): object {
  const pod = spec.template.spec;
  const containers = pod.containers.map(container => ({
    ...container,
    image: OPERATOR_IMAGE,
    imagePullPolicy: "Never",
    env: [...container.env, { name: "RESILIENCE_API_SERVER_SETTLE_SECONDS", value: "0" }],
  }));
  return { ...deployment, spec: { ...spec, template: { ...spec.template, spec: { ...pod, containers } } } };
}
