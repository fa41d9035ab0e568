import { setTimeout as sleep } from "node:timers/promises";
import { namespaceOf, populationOf, sizeOf, workloadName } from "../population";
import { RefusedClient } from "../refused-client";
import type { Size } from "../scene";
import { pass } from "../waiting";
import type { World } from "../world";

/** 401s are persistent after this: the default of `minDuration`. */
const CRITERION_MS = 60_000;
/** Pods that die at once, and the share of the workloads that they belong to: too small to trip the restart breaker. */
const MANY = 50;
const SHARE = 0.4;
const LOOK_MS = 200;
const KNOWN_LIMIT_MS = 300_000;

/** A pod of the first and one of the last workload in the order in which a new leader reads their logs, and those of others that die at once. */
export interface Victims {
  readonly ends: readonly string[];
  readonly many: readonly string[];
}

/** Chooses pods by their numbers, so that their names are known before they exist. */
export function victimsOf(size: Size): Victims {
  const population = populationOf(size);
  const placeOf = (i: number): string => `${namespaceOf(i, population.namespaces)}/${workloadName(i)}`;
  const sorted = Array.from({ length: size.objects }, (_, i) => i).sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
  const [first = 0, last = 0] = [sorted[0], sorted.at(-1)];
  const others = sorted.slice(1, -1).slice(0, Math.max(1, Math.floor(size.objects * SHARE)));
  const many = Array.from({ length: MANY }, (_, i) => ({
    workload: others[i % others.length] ?? first,
    pod: Math.floor(i / others.length),
  }));
  return {
    ends: [podName(first, 0), podName(last, sizeOf(last, population) - 1)],
    many: many
      .filter(({ workload, pod }) => pod < sizeOf(workload, population))
      .map(({ workload, pod }) => podName(workload, pod)),
  };
}

function podName(workload: number, pod: number): string {
  return `${workloadName(workload)}-${pod}`;
}

/** Lets pods die, and returns when one, two, ... of them were known, in seconds after the 401s became persistent. Then they are healthy. */
export async function die(world: World, pods: readonly string[]): Promise<readonly number[]> {
  const names = new Set(pods.map(pod => pod.replace(/-\d+$/, "")));
  const before = await look(world, names);
  world.print(`401s in the logs of ${pods.length} pods from now on`);
  const refused = new RefusedClient(world.lab);
  world.defer(() => refused.stop());
  const metMs = world.logs.die(pods) + CRITERION_MS;
  await pass("dying", CRITERION_MS / 1000 - 1, () => undefined);
  const knownS: number[] = [];
  while (knownS.length < pods.length && Date.now() < metMs + KNOWN_LIMIT_MS) {
    const { rejected, restarts } = await look(world, names);
    // A pod that was replaced counts no more.
    const known = Math.min(pods.length, rejected + restarts - before.restarts);
    while (knownS.length < known) knownS.push((Date.now() - metMs) / 1000);
    await sleep(LOOK_MS);
  }
  refused.stop();
  world.logs.heal(pods);
  world.print(`${knownS.length} of ${pods.length} dead pods known: ${knownS.map(s => s.toFixed(1)).join(" ")}`);
  return [...knownS, ...Array.from({ length: pods.length - knownS.length }, () => NaN)];
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
