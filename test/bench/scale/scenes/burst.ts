import { loadavg } from "node:os";
import { built } from "../../../lab/go-build";
import { median } from "../../median";
import { steadyFigures, steadyNotes, trafficNotes } from "../figures";
import { FIGURES } from "../goals";
import { isReported, launch, terminate } from "../launch";
import { createNamespaces, createObjects, namespaceNames, type Population, populationOf } from "../population";
import { REFERENCE } from "../reference-process";
import { number } from "../report";
import type { AuditedRequest } from "../requests";
import { NOTHING, type Scene, useWorld } from "../scene";
import { measureSteady, type Steady, trafficOf, type Traffic, untilQuiet } from "../steady";
import { Usage } from "../usage";
import { pass, waitUntil } from "../waiting";
import { objectsIn, type World } from "../world";

/** The start of the process must be over. */
const BEFORE_S = 10;
/** Until the Events of all objects are written: 30 s after their conditions, by the full pass that follows. */
const ALL_S = 100;
const LIMIT_MS = 900_000;

/** Objects that are created at once: for the operator, for it again with compiled code, and for a reference in turn; and what they cost idle. */
export const burst: Scene = {
  name: "burst",
  about: "objects that are created at once, beside a controller-runtime reference, and what they cost idle",
  sizes: [{ pods: 0, objects: 1_000 }],
  run: stage =>
    useWorld(stage, {}, async world => {
      const { size, print, repeats, seconds } = stage;
      let idle: Steady | undefined;
      const population = populationOf(size);
      const program = await built(REFERENCE, world.lab.name, line => print(`lab: ${line}`));
      await createNamespaces(world, population.namespaces);
      const operators: Burst[] = [];
      const warmOperators: Burst[] = [];
      const references: Burst[] = [];
      for (let i = 1; i <= repeats; i++) {
        const { operator } = await launch(world, NOTHING);
        operators.push(await burstOn(world, population, operator.pid));
        await deleteObjects(world);
        warmOperators.push(await burstOn(world, population, operator.pid));
        if (i === 1) {
          await untilQuiet(world);
          idle = await measureSteady(world, operator, seconds);
        }
        await terminate(operator);
        await deleteObjects(world);
        const reference = await world.startReference(program, namespaceNames(population.namespaces));
        references.push(await burstOn(world, population, reference.pid));
        reference.mustRun();
        await reference.stop();
        await deleteObjects(world);
      }
      const [ours, theirs] = [mediansOf(operators), mediansOf(references)];
      const warm = mediansOf(warmOperators);
      return {
        title: `${size.objects} objects at once`,
        figures: [
          { name: FIGURES.created, value: ours.created },
          { name: FIGURES.reported, value: ours.reported },
          { name: FIGURES.reportedRatio, value: ours.reported / theirs.reported },
          { name: FIGURES.cpuSeconds, value: ours.cpuSeconds },
          { name: FIGURES.cpuRatio, value: ours.cpuSeconds / theirs.cpuSeconds },
          { name: FIGURES.warmCpuRatio, value: warm.cpuSeconds / theirs.cpuSeconds },
          { name: FIGURES.requests, value: ours.traffic.others + ours.traffic.logReads },
          ...(idle === undefined ? [] : steadyFigures(idle)),
        ],
        notes: [
          ...(idle === undefined ? [] : steadyNotes(idle)),
          `peak RSS while they are created: ${number(ours.peakMiB)} MiB`,
          ...operators.map((one, i) => `operator ${i + 1}: ${describe(one)}`),
          ...warmOperators.map((one, i) => `operator ${i + 1} again: ${describe(one)}`),
          ...references.map((one, i) => `reference ${i + 1}: ${describe(one)}`),
          ...trafficNotes(ours.traffic).map(note => `operator: ${note}`),
          ...trafficNotes(theirs.traffic).map(note => `reference: ${note}`),
        ],
      };
    }),
};

/** What one process needed for the objects. */
interface Burst {
  /** Seconds from the first object to the last, and to the last object with conditions. */
  readonly created: number;
  readonly reported: number;
  /** Until then, and until Events are written. */
  readonly cpuSeconds: number;
  readonly allCpuSeconds: number;
  readonly peakMiB: number;
  readonly load: number;
  readonly traffic: Traffic;
}

async function burstOn(world: World, population: Population, pid: number): Promise<Burst> {
  const { print } = world;
  await pass("settling", BEFORE_S, print);
  print(`creating ${population.objects} objects`);
  const usage = new Usage(pid);
  const fromMs = Date.now();
  const creating = createObjects(world, population).then(() => (Date.now() - fromMs) / 1000);
  const look = async (): Promise<true | string> => {
    const known = (await world.objects()).filter(isReported).length;
    return known === population.objects || `${known} have`;
  };
  const what = `${population.objects} objects to have conditions`;
  const [created] = await Promise.all([creating, waitUntil({ what, limitMs: LIMIT_MS, everyMs: 1_000, look }, print)]);
  const { cpuSeconds, peakMiB } = usage.used();
  const requests = world.requests();
  const lastMs = lastFirstReport(requests, fromMs);
  const traffic = trafficOf(requests, fromMs, lastMs + 1);
  await pass("writing Events", ALL_S - (Date.now() - fromMs) / 1000, print);
  const load = loadavg()[0] ?? NaN;
  const all = { allCpuSeconds: usage.used().cpuSeconds, load };
  return { created, reported: (lastMs - fromMs) / 1000, cpuSeconds, peakMiB, traffic, ...all };
}

/** The medians, with the traffic of the first. */
function mediansOf(bursts: readonly Burst[]): Burst {
  const of = (pick: (one: Burst) => number): number => median(bursts.map(pick));
  return {
    created: of(one => one.created),
    reported: of(one => one.reported),
    cpuSeconds: of(one => one.cpuSeconds),
    allCpuSeconds: of(one => one.allCpuSeconds),
    peakMiB: of(one => one.peakMiB),
    load: of(one => one.load),
    traffic: bursts[0]!.traffic,
  };
}

function describe({ created, reported, cpuSeconds, allCpuSeconds, peakMiB, load }: Burst): string {
  return (
    `created in ${number(created)} s, conditions after ${number(reported)} s with ${number(cpuSeconds)} s of CPU, ` +
    `${number(allCpuSeconds)} s of CPU after ${ALL_S} s; peak ${number(peakMiB)} MiB; load average ${number(load)}`
  );
}

async function deleteObjects(world: World): Promise<void> {
  for (const { metadata } of await world.objects())
    await world.admin.delete(`${objectsIn(metadata.namespace)}/${metadata.name}`);
  const look = async (): Promise<true | string> => {
    const left = (await world.objects()).length;
    return left === 0 || `${left} left`;
  };
  await waitUntil({ what: "all objects to be deleted", limitMs: LIMIT_MS, everyMs: 1_000, look }, world.print);
}

/** When the last object got its first status. */
export function lastFirstReport(requests: readonly AuditedRequest[], fromMs: number): number {
  const first = new Map<string, number>();
  for (const { atMs, verb, resource, namespace, name, code = 0 } of requests) {
    const isReport = resource === "controllerresiliences/status" && verb !== "get" && code < 300;
    const key = `${namespace}/${name}`;
    if (isReport && atMs >= fromMs && !first.has(key)) first.set(key, atMs);
  }
  return Math.max(fromMs, ...first.values());
}
