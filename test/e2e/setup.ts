import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { install } from "../cluster/installation";
import { ClusterClient } from "../cluster/client";
import { bringUpLabs } from "../cluster/worker-labs";
import { nodeControllerImage, pythonControllerImage } from "../controllers/images";
import { Lab } from "../lab";
import { type Image, schedulerImage } from "../lab/images";
import { ensurePackages, NODE_REQUIREMENTS } from "../lab/packages";
import { bundleEntry } from "../operator/bundle";

type Name = "scheduler" | "node" | "python";

declare module "vitest" {
  interface ProvidedContext {
    /** Prefix of the names of the workers' labs. */
    e2eLabs: string;
    /** References of the images in every lab. */
    images: Record<Name, string>;
    /** Path of the operator as one file, for operators outside the cluster. */
    operatorBundle: string;
  }
}

/** A different name keeps concurrent runs on one machine apart. */
const SUITE = process.env["E2E_LAB"] ?? "e2e";

const print = (line: string): void => console.log(`lab: ${line}`);

/** Builds the images, and brings up the labs. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // The images need busybox, which is one of the packages.
  await ensurePackages(NODE_REQUIREMENTS, print);
  const folder = mkdtempSync(join(tmpdir(), "controller-resilience-e2e-"));
  project.provide("operatorBundle", await bundleEntry(folder));
  const images: Record<Name, Image> = {
    scheduler: await schedulerImage(),
    node: await nodeControllerImage(),
    python: await pythonControllerImage(),
  };
  const references = Object.entries(images).map(([name, { reference }]) => [name, reference]);
  project.provide("images", Object.fromEntries(references) as Record<Name, string>);
  project.provide("e2eLabs", SUITE);
  const tars = Object.values(images).map(({ tar }) => tar);
  const down = await bringUpLabs(project, SUITE, name => bringUp(name, tars));
  return async () => {
    await down();
    rmSync(folder, { recursive: true, force: true });
  };
}

/** Brings up a lab with a node that has these images, and installs what an operator outside the cluster needs. */
async function bringUp(name: string, imageTars: readonly string[]): Promise<void> {
  const lab = await Lab.up({ name, onProgress: print });
  if (!lab.hasNode) throw new Error("the end-to-end tests need a real node, which needs Linux and root");
  await install(ClusterClient.of(lab));
  for (const tar of imageTars) await lab.loadImage(tar);
}
