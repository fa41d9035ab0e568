import { steadyFigures, steadyNotes } from "../figures";
import { launch } from "../launch";
import { createNamespaces, createObjects } from "../population";
import { NOTHING, type Scene, useWorld } from "../scene";
import { measureSteady, untilQuiet } from "../steady";
import { pass } from "../waiting";

/** Objects that target nothing. */
export const idle: Scene = {
  name: "idle",
  about: "the same for objects that target nothing",
  sizes: [{ pods: 0, objects: 1_000 }],
  run: stage =>
    useWorld(stage, {}, async world => {
      const { size, seconds, settle, print } = stage;
      const population = { ...size, namespaces: Math.min(stage.namespaces, size.objects) };
      await createNamespaces(world, population.namespaces);
      print(`creating ${size.objects} objects in ${population.namespaces} namespaces`);
      await createObjects(world, population);
      const { operator } = await launch(world, NOTHING);
      await pass("settling", settle, print);
      await untilQuiet(world);
      const steady = await measureSteady(world, operator, seconds);
      return {
        title: `${size.objects} idle objects in ${population.namespaces} namespaces`,
        figures: steadyFigures(steady),
        notes: steadyNotes(steady),
      };
    }),
};
