import { FIGURES } from "../goals";
import { launch } from "../launch";
import { createNamespaces, createObjects, createWorkloads } from "../population";
import { describeSize, HEALTHY, type Scene, useWorld } from "../scene";
import { Usage } from "../usage";

/** The start of the operator in a cluster that is there already. */
export const start: Scene = {
  name: "start",
  about: "from the start of the process to the lead, to conditions, and to accepted tokens",
  sizes: [{ pods: 2_000, objects: 50 }],
  run: stage =>
    useWorld(stage, {}, async world => {
      const { size } = stage;
      const population = { ...size, namespaces: Math.min(stage.namespaces, size.objects) };
      await createNamespaces(world, population.namespaces);
      await createWorkloads(world, population);
      await createObjects(world, population);
      const { operator, leads, reported, settled } = await launch(world, HEALTHY);
      return {
        title: `start with ${describeSize(size)}`,
        figures: [
          { name: FIGURES.leads, value: leads },
          { name: FIGURES.reported, value: reported },
          { name: FIGURES.accepted, value: settled },
          { name: FIGURES.cpuSeconds, value: Usage.cpuSecondsOf(operator.pid) },
        ],
        notes: [],
      };
    }),
};
