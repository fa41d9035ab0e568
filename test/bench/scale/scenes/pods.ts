import { steadyFigures, steadyNotes } from "../figures";
import { FIGURES } from "../goals";
import { launch } from "../launch";
import { populate } from "../population";
import { RefusedClient } from "../refused-client";
import type { Report } from "../report";
import { describeSize, HEALTHY, NOTHING, type Scene, type Stage, useWorld } from "../scene";
import { measureSteady, untilQuiet } from "../steady";
import { Usage } from "../usage";
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
  run: stage => observe(stage, describeSize(stage.size)),
};

/** Healthy pods while the API server refuses a client that is none of them. */
export const noisy: Scene = {
  name: "noisy",
  about: `the same while the API server refuses ${NOISE} requests per second of another client`,
  sizes: [{ pods: 500, objects: 25 }],
  run: stage => observe(stage, `${describeSize(stage.size)}, noisy`, NOISE),
};

/** Objects that target nothing. */
export const idle: Scene = {
  name: "idle",
  about: "the same for objects that target nothing",
  sizes: [{ pods: 0, objects: 1_000 }],
  run: stage => observe(stage, `${stage.size.objects} idle objects`),
};

function observe(stage: Stage, title: string, refusedPerSecond?: number): Promise<Omit<Report, "scene" | "size">> {
  return useWorld(stage, {}, async world => {
    const { size, seconds, settle, print } = stage;
    await populate(world, size);
    const { operator } = await launch(world, size.pods === 0 ? NOTHING : HEALTHY);
    if (refusedPerSecond !== undefined) {
      const refused = new RefusedClient(world.lab, refusedPerSecond);
      world.defer(() => refused.stop());
    }
    await pass("settling", settle, print);
    await untilQuiet(world);
    const steady = await measureSteady(world, operator, seconds);
    return { title, figures: steadyFigures(steady), notes: steadyNotes(steady) };
  });
}

/** The start of the operator in a cluster that is there already. */
export const start: Scene = {
  name: "start",
  about: "from the start of the process to the lead, to conditions, and to accepted tokens",
  sizes: [{ pods: 2_000, objects: 50 }],
  run: stage =>
    useWorld(stage, {}, async world => {
      await populate(world, stage.size);
      const { operator, leads, reported, settled } = await launch(world, HEALTHY);
      return {
        title: `start with ${describeSize(stage.size)}`,
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
