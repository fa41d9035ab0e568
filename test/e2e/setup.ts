import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { workerLabNames } from "../cluster/worker-labs";
import { nodeControllerImage, pythonControllerImage } from "../controllers/images";
import { operatorImage } from "../controllers/operator-image";
import { bringDown } from "../lab/down";
import { type Image, schedulerImage } from "../lab/images";
import { ensurePackages, NODE_REQUIREMENTS } from "../lab/packages";
import { bundleEntry } from "../operator/bundle";
import { bringUp } from "./lab";

type Name = "scheduler" | "node" | "python" | "operator";

declare module "vitest" {
  interface ProvidedContext {
    /** Prefix of the names of the workers' labs. */
    e2eLabs: string;
    /** References of the images in every lab. */
    images: Record<Name, string>;
    /** Paths of their tar files. */
    imageTars: string[];
    /** Path of the operator as one file, for operators outside the cluster. */
    operatorBundle: string;
  }
}

/** A different name keeps concurrent runs on one machine apart. */
const SUITE = process.env["E2E_LAB"] ?? "e2e";

/**
 * Builds the images, and brings up the first lab: on a fresh machine this takes longer than a test may. The other workers bring up their
 * labs when they start (worker.ts). All labs go down after the last test.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const names = workerLabNames(SUITE);
  const folder = mkdtempSync(join(tmpdir(), "controller-resilience-e2e-"));
  const down = async (): Promise<void> => {
    await Promise.all(names.map(name => bringDown(name)));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    // A killed run may have left labs behind.
    await Promise.all(names.map(name => bringDown(name)));
    // The images need busybox, which is one of the packages.
    await ensurePackages(NODE_REQUIREMENTS, line => console.log(`lab: ${line}`));
    project.provide("operatorBundle", await bundleEntry(folder));
    const images: Record<Name, Image> = {
      scheduler: await schedulerImage(),
      node: await nodeControllerImage(),
      python: await pythonControllerImage(),
      operator: await operatorImage(line => console.log(`image: ${line}`)),
    };
    const tars = Object.values(images).map(({ tar }) => tar);
    await bringUp(names[0]!, tars, line => console.log(`lab: ${line}`));
    const references = Object.entries(images).map(([name, { reference }]) => [name, reference]);
    project.provide("e2eLabs", SUITE);
    project.provide("images", Object.fromEntries(references) as Record<Name, string>);
    project.provide("imageTars", tars);
  } catch (error) {
    await down();
    throw error;
  }
  return down;
}
