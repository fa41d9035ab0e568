import { steadyFigures, steadyNotes } from "../figures";
import { launch } from "../launch";
import { createNamespaces, createObjects, createWorkloads } from "../population";
import { describeSize, HEALTHY, type Scene, useWorld } from "../scene";
import { measureSteady, untilQuiet } from "../steady";
import { pass } from "../waiting";

/** Healthy pods: what it costs to watch them. */
export const pods: Scene = {
  name: "pods",
  about: "requests, processor time and memory for healthy pods",
  sizes: [
    { pods: 100, objects: 10 },
    { pods: 500, objects: 25 },
    { pods: 500, objects: 50 },
    { pods: 2_000, objects: 50 },
    { pods: 2_000, objects: 1 },
  ],
  run: stage =>
    useWorld(stage, {}, async world => {
      const { size, seconds, settle, print } = stage;
      const population = { ...size, namespaces: Math.min(stage.namespaces, size.objects) };
      await createNamespaces(world, population.namespaces);
      await createWorkloads(world, population);
      await createObjects(world, population);
      const { operator, leads, reported, settled } = await launch(world, HEALTHY);
      await pass("settling", settle, print);
      await untilQuiet(world);
      const steady = await measureSteady(world, operator, seconds);
      return {
        title: describeSize(size),
        figures: steadyFigures(steady),
        notes: steadyNotes(steady),
        detail: { steady, leads, reported, settled },
      };
    }),
};
