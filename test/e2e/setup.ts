import type { TestProject } from "vitest/node";
import { ClusterClient } from "../cluster/client";
import { nodeControllerImage, pythonControllerImage } from "../controllers/images";
import { operatorImage } from "../controllers/operator-image";
import { install } from "../cluster/installation";
import { Lab } from "../lab";
import { schedulerImage } from "../lab/images";

declare module "vitest" {
  interface ProvidedContext {
    labName: string;
    images: { scheduler: string; node: string; python: string; operator: string };
  }
}

/** Another name leaves a lab that somebody else tests on alone. */
const NAME = process.env["E2E_LAB"] ?? "e2e";

/** One real node for all end-to-end tests: brought up before the first, taken down after the last. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // A run that was killed may have left one behind.
  await Lab.find(NAME)?.down();
  const lab = await Lab.up({ name: NAME, onProgress: line => console.log(`lab: ${line}`) });
  if (!lab.hasNode) {
    await lab.down();
    throw new Error("the end-to-end tests need a real node, which needs Linux and root");
  }
  try {
    const client = ClusterClient.of(lab);
    await install(client);
    const images = {
      scheduler: await schedulerImage(),
      node: await nodeControllerImage(),
      python: await pythonControllerImage(),
      operator: await operatorImage(line => console.log(`image: ${line}`)),
    };
    for (const { tar } of Object.values(images)) await lab.loadImage(tar);
    project.provide("labName", NAME);
    project.provide("images", {
      scheduler: images.scheduler.reference,
      node: images.node.reference,
      python: images.python.reference,
      operator: images.operator.reference,
    });
  } catch (error) {
    await lab.down();
    throw error;
  }
  return () => lab.down();
}
