import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ClusterClient } from "../../cluster/client";
import { install, OPERATOR } from "../../cluster/installation";
import { nodeControllerImage, pythonControllerImage } from "../../controllers/images";
import { makeAuditWebhook } from "../../e2e/audit-webhook";
import { Lab } from "../../lab";
import { schedulerImage } from "../../lab/images";
import { bundleEntry } from "../../operator/bundle";
import { OperatorProcess } from "../../operator/process";
import { type Animal, ANIMALS, type Images, NAMESPACE } from "./animals";

const FOR_MS = 60_000;

/** Long enough for the operator to see each Lease renewed four times. */
const LEARN_MS = 75_000;

/** Whatever has not been found by then is not found. */
const LIMIT_MS = 180_000;

type Print = (line: string) => void;

/** Kills real programs in every way that applies, all at once, and prints what stallDetection found of each, and after how long. */
export async function benchZoo(print: Print): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "zoo-"));
  const lab = await Lab.up({ name: "bench-zoo", onProgress: line => print(`lab: ${line}`) });
  try {
    await measure(lab, await bundleEntry(folder), print);
  } finally {
    await lab.down();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(lab: Lab, bundle: string, print: Print): Promise<void> {
  const client = ClusterClient.of(lab);
  await install(client);
  const webhook = await makeAuditWebhook(lab);
  const kubeconfig = await lab.serviceAccountKubeconfig(OPERATOR.namespace, OPERATOR.serviceAccount);
  const operator = OperatorProcess.start({ kubeconfig, args: webhook.operatorArgs, bundle });
  try {
    await operator.ready();
    await lab.restartApiServer({ extraArgs: webhook.apiServerArgs });
    await settle(client, await loadImages(lab), print);
    for (const row of await Promise.all(ANIMALS.map(animal => watch(animal, client)))) print(row);
  } finally {
    await operator.stop();
    webhook.remove();
  }
}

async function loadImages(lab: Lab): Promise<Images> {
  const [scheduler, node, python] = [
    await schedulerImage(),
    await nodeControllerImage(),
    await pythonControllerImage(),
  ];
  for (const { tar } of [scheduler, node, python]) await lab.loadImage(tar);
  return { scheduler: scheduler.reference, node: node.reference, python: python.reference };
}

/** All programs run, and the operator has learned their Leases. */
async function settle(client: ClusterClient, images: Images, print: Print): Promise<void> {
  await client.createNamespace(NAMESPACE);
  await client.apply(ANIMALS.flatMap(({ objects }) => objects(images)));
  for (const { name, evidence } of ANIMALS) {
    await client.readyPods(NAMESPACE, name, 1, 300_000);
    await client.protect(NAMESPACE, name, {
      targets: [{ kind: "Deployment", name }],
      stallDetection: { for: `${FOR_MS / 1_000}s`, evidence },
    });
  }
  for (const { name } of ANIMALS) await client.until(`${name} to be active`, () => isActive(client, name), 180_000);
  print(`${ANIMALS.length} programs run; their Leases are learned for ${LEARN_MS / 1_000} s`);
  await sleep(LEARN_MS);
}

async function isActive(client: ClusterClient, name: string): Promise<boolean> {
  return (await client.condition(NAMESPACE, name, "ControllersActive"))?.status === "True";
}

/** Returns the row of one program. */
async function watch(animal: Animal, client: ClusterClient): Promise<string> {
  const { name, program, death, evidence, isInnocent } = animal;
  const ended = death.come(client, name);
  const result = await findOut(animal, client);
  await ended;
  const expected = isInnocent && result === "nothing" ? "nothing, as it should" : result;
  return `| ${program} | ${death.what} | ${evidence.map(one => `\`${one}\``).join(", ")} | ${expected} |`;
}

async function findOut({ name, found, isInnocent }: Animal, client: ClusterClient): Promise<string> {
  const beganMs = performance.now();
  const seconds = (): number => Math.round((performance.now() - beganMs) / 1_000);
  while (performance.now() - beganMs < LIMIT_MS) {
    const { status, message = "" } = (await client.condition(NAMESPACE, name, "ControllersActive")) ?? {};
    if (status === "False" && isInnocent) return `FALSE ACCUSATION after ${seconds()} s: ${message}`;
    if (status === "False" && found?.test(message) === true) return `${seconds()}${sinceFirst(message)}`;
    await sleep(1_000);
  }
  return "nothing";
}

/** Seconds from the first 401, which the message names. */
function sinceFirst(message: string): string {
  const [, since] = /401 responses since (\S+?Z)/.exec(message) ?? [];
  if (since === undefined) return "";
  return ` (${Math.round((Date.now() - Date.parse(since)) / 1_000)} after the first 401)`;
}
