import { setTimeout as sleep } from "node:timers/promises";
import { median } from "../../median";
import { FIGURES } from "../goals";
import { launch } from "../launch";
import { populate, populationOf, sizeOf, workloadName } from "../population";
import { RefusedClient } from "../refused-client";
import { number, type Report } from "../report";
import { describeSize, HEALTHY, type Scene, type Size, type Stage, useWorld } from "../scene";
import { untilQuiet } from "../steady";
import { pass, type Print } from "../waiting";
import type { World } from "../world";

/** 401s are persistent after this: the default of `minDuration`. */
const CRITERION_MS = 60_000;
/** Pods that die at once, and the share of the workloads that they belong to: too small to trip the restart breaker. */
const MANY = 50;
const SHARE = 0.4;
const LOOK_MS = 200;
const KNOWN_LIMIT_MS = 180_000;
const RESTARTED_LIMIT_MS = 120_000;

/** Pods that die. */
export const detect: Scene = {
  name: "detect",
  about: "how soon dead pods are known: one, and 50 at once",
  sizes: [{ pods: 500, objects: 25 }],
  run: stage => {
    const plan = planOf(stage);
    return useWorld(stage, { victims: [...plan.single, ...plan.many] }, world => play(world, stage, plan));
  },
};

/** The pods that die one after another, each of another workload, and those that die at once, of further workloads. */
export interface Plan {
  readonly single: readonly string[];
  readonly many: readonly string[];
}

/** Chooses pods by their numbers, so that their names are known before they exist. */
export function planOf({ size, repeats }: { readonly size: Size; readonly repeats: number }): Plan {
  const workloads = Math.min(Math.floor(size.objects * SHARE), size.objects - repeats);
  if (workloads < 1) throw new Error(`found ${size.objects} objects, expected more than ${repeats} repeats`);
  const pods = Array.from({ length: MANY }, (_, i) => ({
    workload: repeats + (i % workloads),
    pod: Math.floor(i / workloads),
  }));
  const population = populationOf(size);
  return {
    single: Array.from({ length: repeats }, (_, i) => podName(i, 0)),
    many: pods
      .filter(({ workload, pod }) => pod < sizeOf(workload, population))
      .map(({ workload, pod }) => podName(workload, pod)),
  };
}

function podName(workload: number, pod: number): string {
  return `${workloadName(workload)}-${pod}`;
}

async function play(world: World, stage: Stage, { single, many }: Plan): Promise<Omit<Report, "scene" | "size">> {
  const { size, settle, print } = stage;
  await populate(world, size, "StatefulSet");
  await launch(world, HEALTHY);
  // While no client is refused, healthy logs rest.
  const rest = async (): Promise<void> => {
    await pass("settling", settle, print);
    await untilQuiet(world);
  };
  const singles: Death[] = [];
  for (const pod of single) {
    await rest();
    const death = await die(world, [pod], RESTARTED_LIMIT_MS);
    singles.push(death);
    const restarted = number(death.restartedS ?? NaN);
    print(
      `${pod}: known ${number(death.knownS[0] ?? NaN)} s after its criterion was met, restart recorded after ${restarted} s`,
    );
  }
  await rest();
  const { knownS } = await die(world, many);
  print(`${knownS.length} of ${many.length} dead pods known, the last after ${number(knownS.at(-1) ?? NaN)} s`);
  const known = singles.map(death => death.knownS[0] ?? NaN);
  return {
    title: `dead ones of ${describeSize(size)}`,
    figures: [
      { name: FIGURES.oneKnown, value: median(known) },
      { name: FIGURES.oneLongest, value: Math.max(...known) },
      { name: FIGURES.oneRestarted, value: median(singles.map(({ restartedS = NaN }) => restartedS)) },
      { name: FIGURES.manyKnown, value: median(knownS) },
      { name: FIGURES.manyAll, value: knownS.length === many.length ? knownS.at(-1)! : NaN },
    ],
    notes: [
      `seconds since ${CRITERION_MS / 1000} s after the first 401; ${single.length} single pods, then ${many.length} at once`,
    ],
  };
}

/** In seconds after the 401s became persistent. */
interface Death {
  /** When one, two, ... of the pods were known. */
  readonly knownS: readonly number[];
  /** When the first restart was recorded; absent if none was within the limit. */
  readonly restartedS?: number;
}

/** Lets pods die, and waits until all are known, and if wanted until a restart is recorded. Replaced pods are healthy. */
async function die(world: World, pods: readonly string[], restartLimitMs = 0): Promise<Death> {
  const names = new Set(pods.map(pod => pod.replace(/-\d+$/, "")));
  const before = await look(world, names);
  world.print(`401s in the logs of ${pods.length} pods from now on`);
  const refused = new RefusedClient(world.lab);
  world.defer(() => refused.stop());
  const metMs = world.logs.die(pods) + CRITERION_MS;
  const seconds = (): number => (Date.now() - metMs) / 1000;
  await pass("dying", CRITERION_MS / 1000 - 1, quiet);
  const knownS: number[] = [];
  let restartedS: number | undefined;
  const isOver = (): boolean => {
    if (knownS.length < pods.length) return Date.now() > metMs + KNOWN_LIMIT_MS;
    return restartLimitMs === 0 || restartedS !== undefined || Date.now() > metMs + restartLimitMs;
  };
  while (!isOver()) {
    const { rejected, restarts } = await look(world, names);
    const atS = seconds();
    // A pod that was replaced counts no more.
    while (knownS.length < Math.min(pods.length, rejected + restarts - before.restarts)) knownS.push(atS);
    if (restarts > before.restarts) restartedS ??= atS;
    await sleep(LOOK_MS);
  }
  refused.stop();
  world.logs.heal(pods);
  return { knownS, ...(restartedS === undefined ? {} : { restartedS }) };
}

/** What the status of these objects says. */
async function look(world: World, names: ReadonlySet<string>): Promise<{ rejected: number; restarts: number }> {
  const statuses = (await world.objects())
    .filter(({ metadata }) => names.has(metadata.name))
    .map(({ status }) => status);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const targets = statuses.flatMap(status => status?.targets ?? []);
  return {
    rejected: sum(targets.map(({ rejectedPods }) => rejectedPods)),
    restarts: sum(statuses.map(status => status?.restartsTotal ?? 0)),
  };
}

const quiet: Print = () => undefined;
