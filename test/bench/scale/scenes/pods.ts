import type { OperatorProcess } from "../../../operator/process";
import { median } from "../../median";
import { steadyFigures, steadyNotes } from "../figures";
import { FIGURES } from "../goals";
import { launch } from "../launch";
import { populate } from "../population";
import { RefusedClient } from "../refused-client";
import type { Figure, Report } from "../report";
import { describeSize, HEALTHY, type Scene, type Stage, useWorld } from "../scene";
import { measureSteady, type Steady, untilQuiet, untilResting } from "../steady";
import { Usage } from "../usage";
import { pass } from "../waiting";
import type { World } from "../world";
import { die, type Victims, victimsOf } from "./dead";

/** Requests per second that the API server refuses another client in a noisy time. */
const NOISE = 5;
/** From the start of the noise on until all logs are awake. */
const WAKING_S = 60;
/** Once they may rest, each log is read once more: the fewer are left, the longer they spread. */
const ASLEEP_S = 120;
/** Windows with the operator between two without it. After a longer stop what is counted is too old, and all logs are read. */
const PAIRS = 6;
const STOPPED_S = 25;
const CATCHING_UP_S = 8;
/** With more pods only two die, and there is no noise, which would take long. */
const MOST_WITH_NOISE = 1_000;

/** Healthy pods, with noise and without; then two die, then many. */
export const pods: Scene = {
  name: "pods",
  about: "healthy pods: their cost, how soon dead ones are known, and their cost beside 5 refusals/s of another client",
  sizes: [
    { pods: 500, objects: 25 },
    { pods: 10_000, objects: 100 },
  ],
  run: stage => {
    const victims = victimsOf(stage.size);
    return useWorld(stage, { victims: [...victims.ends, ...victims.many] }, world => play(world, stage, victims));
  },
};

async function play(world: World, stage: Stage, { ends, many }: Victims): Promise<Omit<Report, "scene" | "size">> {
  const { size, seconds, print } = stage;
  await populate(world, size, "StatefulSet");
  const { operator } = await launch(world, HEALTHY);
  const isLarge = size.pods > MOST_WITH_NOISE;
  const noisy = isLarge ? undefined : await besideNoise(world, operator, seconds);
  await untilResting(operator, print);
  await pass("falling asleep", ASLEEP_S, print);
  await untilQuiet(world);
  const steady = await measureSteady(world, operator, seconds);
  const asked = await askedPercents(world, operator, seconds);
  const [first = NaN, last = NaN] = await die(world, ends);
  const knownS = isLarge ? [] : await die(world, many);
  const figures: Figure[] = [
    ...steadyFigures(steady),
    { name: FIGURES.server, value: median(asked) },
    { name: FIGURES.firstKnown, value: first },
    { name: FIGURES.lastKnown, value: last },
    ...(isLarge ? [] : [{ name: FIGURES.manyKnown, value: median(knownS) }]),
    ...knownS.slice(-1).map(value => ({ name: FIGURES.manyAll, value })),
    ...(noisy === undefined ? [] : steadyFigures(noisy)).map(({ name, value }) => ({
      name: `noisy: ${name.trim()}`,
      value,
    })),
  ];
  const notes = [
    ...steadyNotes(steady),
    ...(noisy === undefined ? [] : steadyNotes(noisy)).map(note => `noisy: ${note}`),
    `API server, % of a core, more than while the operator is stopped: ${asked.map(more => more.toFixed(2)).join(", ")}`,
  ];
  return { title: describeSize(size), figures, notes };
}

/** How much more of a core the API server uses while the operator runs than beside it, while SIGSTOP stops the operator, which leaves its watches open. */
async function askedPercents(world: World, operator: OperatorProcess, seconds: number): Promise<readonly number[]> {
  const alone: number[] = [];
  const asked: number[] = [];
  while (asked.length <= PAIRS) {
    operator.signal("SIGSTOP");
    alone.push(await world.serverPercent(STOPPED_S));
    operator.signal("SIGCONT");
    await pass("catching up", CATCHING_UP_S, world.print);
    asked.push(await world.serverPercent(seconds));
  }
  // Windows in turn, since the server alone drifts by more than is measured.
  return alone.slice(1).map((after, i) => asked[i]! - (alone[i]! + after) / 2);
}

/** Measures an operator while the API server refuses another client. */
async function besideNoise(world: World, operator: OperatorProcess, seconds: number): Promise<Steady> {
  const refused = new RefusedClient(world.lab, NOISE);
  world.defer(() => refused.stop());
  await pass("waking", WAKING_S, world.print);
  await untilQuiet(world);
  const noisy = await measureSteady(world, operator, seconds);
  refused.stop();
  return noisy;
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
