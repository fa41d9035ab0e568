import { eventually } from "../../../cluster/admin";
import { forEach } from "../../../cluster/for-each";
import { groupOf, PROGRESS_ROLE, widgetKind } from "../../zoo/stall-programs";
import { steadyFigures, steadyNotes } from "../figures";
import { FIGURES } from "../goals";
import { launch } from "../launch";
import { servePages } from "../pod-pages";
import { namespaceOf, populate, type Population, populationOf, workloadName } from "../population";
import { number } from "../report";
import { describeSize, HEALTHY, type Scene, useWorld } from "../scene";
import { measureSteady, type Steady, untilQuiet, untilResting } from "../steady";
import { pass } from "../waiting";
import { objectsIn, type World } from "../world";

const OBJECTS_PER_KIND = 200;
/** A kind is read once before it is followed. */
const SETTLING_S = 240;
/** Has the operator give back what is no longer needed: how much of that is left of its start differs by more than the kinds need. */
const COLLECTS = `--expose-gc --import data:text/javascript,process.on("SIGUSR2",()=>gc({flavor:"last-resort"}))`;
const COLLECTED_S = 5;

/** Healthy pods whose objects detect stalls by Leases and logs, then also by a kind each, of many objects, and by the pods' metrics. The cost is the difference. */
export const kinds: Scene = {
  name: "kinds",
  about: "what progress and metrics cost: a kind of 200 objects for each object, and a page of 66 KB of each pod",
  sizes: [{ pods: 200, objects: 50 }],
  run: stage =>
    useWorld({ ...stage, nodeOptions: `${stage.nodeOptions} ${COLLECTS}` }, {}, async world => {
      const { size, seconds, print } = stage;
      await populate(world, size, "StatefulSet");
      await createKinds(world, populationOf(size));
      const { port, served } = await servePages(world);
      await detectStalls(world, populationOf(size), () => ({}));
      const { operator } = await launch(world, HEALTHY);
      const steady = async (): Promise<Steady> => {
        await pass("settling", SETTLING_S, print);
        await untilResting(operator, print);
        await untilQuiet(world);
        process.kill(operator.pid, "SIGUSR2");
        await pass("collected", COLLECTED_S, print);
        return measureSteady(world, operator, seconds);
      };
      const without = await steady();
      await detectStalls(world, populationOf(size), i => ({
        progress: [{ apiVersion: versionOf(i), kind: "Widget" }],
        metrics: { port },
      }));
      const [pages, fromMs] = [served(), Date.now()];
      const followed = await steady();
      const pagesPerSecond = (served() - pages) / ((Date.now() - fromMs) / 1000);
      const more = (pick: (one: Steady) => number): number => pick(followed) - pick(without);
      return {
        title: `${size.objects} kinds with ${size.objects * OBJECTS_PER_KIND} objects, ${describeSize(size)}`,
        figures: [
          { name: FIGURES.kindRequests, value: more(one => (one.others + one.logReads) / one.seconds) },
          { name: FIGURES.kindCpu, value: more(one => one.cpuPercent) },
          { name: FIGURES.kindRss, value: more(one => one.rssMiB) },
          ...steadyFigures(followed),
        ],
        notes: [
          `${number(pagesPerSecond)} pages/s of pods`,
          ...steadyNotes(followed),
          ...steadyNotes(without).map(note => `without kinds: ${note}`),
        ],
      };
    }),
};

const versionOf = (number: number): string => `${groupOf(workloadName(number))}/v1`;

/** Kinds that the operator may read, with objects whose work is done. */
async function createKinds({ admin, print }: World, { objects, namespaces }: Population): Promise<void> {
  print(`creating ${objects} kinds with ${OBJECTS_PER_KIND} objects each`);
  await admin.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", PROGRESS_ROLE);
  await forEach(objects, async i => {
    await admin.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widgetKind(workloadName(i)));
    const path = `/apis/${versionOf(i)}/namespaces/${namespaceOf(i, namespaces)}/widgets`;
    await eventually(() => admin.get(path).then(Boolean, () => false), Boolean);
    const head = { apiVersion: versionOf(i), kind: "Widget" };
    for (let k = 0; k < OBJECTS_PER_KIND; k++) {
      const metadata = { name: `widget-${k}` };
      await admin.create(path, { ...head, metadata, spec: { note: "x".repeat(500) } });
      const status = { observedGeneration: 1, conditions: [{ type: "Ready", status: "True" }] };
      await admin.patch(`${path}/${metadata.name}/status`, { status });
    }
  });
}

/** Gives each object a spec of stallDetection. */
async function detectStalls(
  { admin }: World,
  { objects, namespaces }: Population,
  stallDetection: (number: number) => object,
): Promise<void> {
  await forEach(objects, i => {
    const path = `${objectsIn(namespaceOf(i, namespaces))}/${workloadName(i)}`;
    return admin.patch(path, { spec: { stallDetection: stallDetection(i) } });
  });
}
