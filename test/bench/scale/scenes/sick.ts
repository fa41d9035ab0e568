import { steadyNotes } from "../figures";
import { FIGURES } from "../goals";
import { launch } from "../launch";
import { createNamespaces, createObjects, createWorkloads, sizeOf, workloadName } from "../population";
import { RefusedClient } from "../refused-client";
import { describeSize, HEALTHY, type Scene, useWorld } from "../scene";
import { measureSteady, untilQuiet } from "../steady";
import { pass } from "../waiting";

/** Two pods, each of another workload, in Observe mode, so that they stay as they are. */
const DEAD = 2;

/** Status changes every five minutes while nothing but the time of the last 401 does. */
const SECONDS = 600;

/** Until status says no more how long and how often: up to ten minutes and 100 occasions. */
const KNOWN_S = 720;

/** Pods that stay dead: what it costs to observe them. */
export const sick: Scene = {
  name: "sick",
  about: "requests while two pods stay dead in Observe mode, over ten minutes",
  sizes: [{ pods: 20, objects: 10 }],
  run: stage => {
    const { size, print } = stage;
    const population = { ...size, namespaces: 1, kind: "StatefulSet" as const };
    const dead = Array.from({ length: DEAD }, (_, i) => `${workloadName(i)}-${sizeOf(i, population) - 1}`);
    return useWorld(stage, { victims: dead }, async world => {
      await createNamespaces(world, population.namespaces);
      await createWorkloads(world, population);
      await createObjects(world, { ...population, mode: "Observe" });
      const { operator } = await launch(world, HEALTHY);
      const refused = new RefusedClient(world.lab);
      world.defer(() => refused.stop());
      world.logs.die(dead);
      await pass("dying", KNOWN_S, print);
      await untilQuiet(world);
      const steady = await measureSteady(world, operator, SECONDS);
      const perMinute = (count: number): number => (60 * count) / steady.seconds;
      return {
        title: `${dead.length} dead ones of ${describeSize(size)}`,
        figures: [
          { name: FIGURES.othersPerMinute, value: perMinute(steady.besidesLease) },
          { name: FIGURES.logReads, value: steady.logReads / steady.seconds },
          { name: FIGURES.cpu, value: steady.cpuPercent },
        ],
        notes: steadyNotes(steady),
      };
    });
  },
};
