import { trafficNotes } from "../figures";
import { FIGURES } from "../goals";
import { isReported, launch } from "../launch";
import { createNamespaces, createObjects } from "../population";
import type { AuditedRequest } from "../requests";
import { NOTHING, type Scene, useWorld } from "../scene";
import { trafficOf } from "../steady";
import { Usage } from "../usage";
import { pass, waitUntil } from "../waiting";

/** The start of the operator must be over. */
const BEFORE_S = 10;
const LIMIT_MS = 900_000;

/** Objects that are created at once. */
export const burst: Scene = {
  name: "burst",
  about: "objects that are created at once: until all have conditions",
  sizes: [{ pods: 0, objects: 1_000 }],
  run: stage =>
    useWorld(stage, {}, async world => {
      const { size, print } = stage;
      const population = { ...size, namespaces: Math.min(stage.namespaces, size.objects) };
      await createNamespaces(world, population.namespaces);
      const { operator } = await launch(world, NOTHING);
      await pass("settling", BEFORE_S, print);
      print(`creating ${size.objects} objects`);
      const usage = new Usage(operator.pid);
      const fromMs = Date.now();
      const creating = createObjects(world, population).then(() => (Date.now() - fromMs) / 1000);
      const look = async (): Promise<true | string> => {
        const known = (await world.objects()).filter(isReported).length;
        return known === size.objects || `${known} have`;
      };
      const what = `${size.objects} objects to have conditions`;
      const [created] = await Promise.all([
        creating,
        waitUntil({ what, limitMs: LIMIT_MS, everyMs: 1_000, look }, print),
      ]);
      const { cpuSeconds, peakMiB } = usage.used();
      const requests = world.requests();
      const lastMs = lastFirstReport(requests, fromMs);
      const traffic = trafficOf(requests, fromMs, lastMs + 1);
      return {
        title: `${size.objects} objects at once`,
        figures: [
          { name: FIGURES.created, value: created },
          { name: FIGURES.reported, value: (lastMs - fromMs) / 1000 },
          { name: FIGURES.cpuSeconds, value: cpuSeconds },
          { name: FIGURES.requests, value: traffic.others + traffic.logReads },
          { name: FIGURES.peak, value: peakMiB },
        ],
        notes: trafficNotes(traffic),
        detail: { traffic, cpuSeconds },
      };
    }),
};

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
