import { steadyFigures, steadyNotes } from "../figures";
import { launch } from "../launch";
import { createNamespaces, createObjects, createWorkloads } from "../population";
import { RefusedClient } from "../refused-client";
import type { Report } from "../report";
import { describeSize, HEALTHY, type Scene, type Stage, useWorld } from "../scene";
import { measureSteady, untilQuiet } from "../steady";
import { pass } from "../waiting";

/** Requests per second that the API server refuses in {@link noisy}. */
const NOISE = 5;

/** Healthy pods, and no client is refused: what it costs to watch them. */
export const pods: Scene = {
  name: "pods",
  about: "requests, processor time and memory for healthy pods",
  sizes: [
    { pods: 500, objects: 25 },
    { pods: 2_000, objects: 50 },
  ],
  run: stage => observe(stage),
};

/** Healthy pods while the API server refuses a client that is none of them. */
export const noisy: Scene = {
  name: "noisy",
  about: `the same while the API server refuses ${NOISE} requests per second of another client`,
  sizes: [{ pods: 500, objects: 25 }],
  run: stage => observe(stage, NOISE),
};

function observe(stage: Stage, refusedPerSecond?: number): Promise<Omit<Report, "scene" | "size">> {
  return useWorld(stage, {}, async world => {
    const { size, seconds, settle, print } = stage;
    const population = { ...size, namespaces: Math.min(stage.namespaces, size.objects) };
    await createNamespaces(world, population.namespaces);
    await createWorkloads(world, population);
    await createObjects(world, population);
    const { operator } = await launch(world, HEALTHY);
    if (refusedPerSecond !== undefined) {
      const refused = new RefusedClient(world.lab, refusedPerSecond);
      world.defer(() => refused.stop());
    }
    await pass("settling", settle, print);
    await untilQuiet(world);
    const steady = await measureSteady(world, operator, seconds);
    return {
      title: refusedPerSecond === undefined ? describeSize(size) : `${describeSize(size)}, noisy`,
      figures: steadyFigures(steady),
      notes: steadyNotes(steady),
    };
  });
}
