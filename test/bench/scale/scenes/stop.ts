import { FIGURES } from "../goals";
import { launch, terminate } from "../launch";
import { median } from "../../median";
import { createNamespaces, createObjects, createWorkloads } from "../population";
import { describeSize, HEALTHY, type Scene, useWorld } from "../scene";
import { pass } from "../waiting";

/** So that the operator is not always stopped at the same moment of its work. */
const AFTER_S = 5;

/** The end of the operator. */
export const stop: Scene = {
  name: "stop",
  about: "from SIGTERM to the exit of the process",
  sizes: [{ pods: 500, objects: 25 }],
  run: stage =>
    useWorld(stage, {}, async world => {
      const { size, repeats, print } = stage;
      const population = { ...size, namespaces: Math.min(stage.namespaces, size.objects) };
      await createNamespaces(world, population.namespaces);
      await createWorkloads(world, population);
      await createObjects(world, population);
      const seconds: number[] = [];
      for (let i = 1; i <= repeats; i++) {
        const { operator } = await launch(world, HEALTHY);
        await pass("working", AFTER_S + i / 2, print);
        const took = await terminate(operator);
        print(`stop ${i} of ${repeats} took ${took.toFixed(2)} s`);
        seconds.push(took);
      }
      return {
        title: `stop with ${describeSize(size)}`,
        figures: [
          { name: FIGURES.stopMedian, value: median(seconds) },
          { name: FIGURES.stopLongest, value: Math.max(...seconds) },
        ],
        notes: [],
        detail: { seconds },
      };
    }),
};
