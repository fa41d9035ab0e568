import type { ControllerResilienceSpec } from "../../../src/api/controller-resilience";
import { forEach } from "../../cluster/for-each";
import type { Size } from "./scene";
import { objectsIn, type World } from "./world";
import { waitUntil } from "./waiting";

/** Longer than that many pods take on a busy machine. */
const LIMIT_MS = 600_000;
const LIMIT_PER_POD_MS = 200;

type Kind = "Deployment" | "StatefulSet";

/** What a scene creates: workloads with the same number of pods, each protected by an object of its name. */
export interface Population extends Size {
  readonly namespaces: number;
  readonly kind?: Kind;
}

/** Objects of that size, in no more namespaces than objects. */
export function populationOf(size: Size, kind: Kind = "Deployment"): Population {
  return { ...size, namespaces: Math.min(5, size.objects), kind };
}

/** The name of a workload, of its ServiceAccount and of its object. */
export function workloadName(number: number): string {
  return `app-${number}`;
}

/** The namespace of a workload. */
export function namespaceOf(number: number, namespaces: number): string {
  return `scale-${number % namespaces}`;
}

/** The names of the namespaces of a scene. */
export function namespaceNames(count: number): string[] {
  return Array.from({ length: count }, (_, i) => namespaceOf(i, count));
}

/** Creates the namespaces of the scene. */
export async function createNamespaces({ admin }: World, count: number): Promise<void> {
  await forEach(count, i => admin.create("/api/v1/namespaces", { metadata: { name: namespaceOf(i, count) } }));
}

/** Creates namespaces, then workloads with their pods, if there are any, and their objects. */
export async function populate(world: World, size: Size, kind?: Kind): Promise<void> {
  const population = populationOf(size, kind);
  await createNamespaces(world, population.namespaces);
  if (size.pods > 0) await createWorkloads(world, population);
  await createObjects(world, population);
}

/** Creates workloads, and waits until their pods are Ready. */
async function createWorkloads(world: World, population: Population): Promise<void> {
  const { pods, objects, namespaces, kind = "Deployment" } = population;
  const { admin, print } = world;
  print(`creating ${pods} pods in ${objects} workloads`);
  await forEach(objects, async i => {
    const [namespace, name] = [namespaceOf(i, namespaces), workloadName(i)];
    await admin.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
    const workload = workloadOf(kind, name, sizeOf(i, population));
    await admin.create(`/apis/apps/v1/namespaces/${namespace}/${kind.toLowerCase()}s`, workload);
  });
  const look = async (): Promise<true | string> => {
    const list = await admin.get<Workloads>(`/apis/apps/v1/${kind.toLowerCase()}s?resourceVersion=0`);
    const ready = list.items.reduce((sum, { status }) => sum + (status.readyReplicas ?? 0), 0);
    return ready === pods || `${ready} are`;
  };
  const tookMs = await waitUntil(
    { what: `${pods} pods to be Ready`, limitMs: LIMIT_MS + pods * LIMIT_PER_POD_MS, look },
    print,
  );
  print(`${pods} pods are Ready after ${(tookMs / 1000).toFixed(0)} s`);
}

/** Creates objects with defaults for these workloads, as many at once as a small API server takes. */
export async function createObjects(
  world: World,
  { objects, namespaces, kind = "Deployment" }: Population,
): Promise<void> {
  const spec = (name: string): Partial<Record<keyof ControllerResilienceSpec, unknown>> => ({
    mode: "Enforce",
    targets: [{ kind, name }],
    tokenRestart: {},
  });
  await forEach(objects, async i => {
    const name = workloadName(i);
    const body = { apiVersion: "controller-resilience.io/v1alpha1", kind: "ControllerResilience" };
    await world.admin.create(objectsIn(namespaceOf(i, namespaces)), { ...body, metadata: { name }, spec: spec(name) });
  });
}

interface Workloads {
  readonly items: readonly { readonly status: { readonly readyReplicas?: number } }[];
}

/** The number of pods of one workload: they differ by one at most. */
export function sizeOf(number: number, { pods, objects }: Population): number {
  return Math.floor(((number + 1) * pods) / objects) - Math.floor((number * pods) / objects);
}

function workloadOf(kind: Kind, name: string, replicas: number): object {
  const labels = { app: name };
  const template = {
    metadata: { labels },
    spec: {
      serviceAccountName: name,
      tolerations: [{ operator: "Exists" }],
      containers: [{ name: "main", image: "none" }],
    },
  };
  const own = kind === "StatefulSet" ? { serviceName: name, podManagementPolicy: "Parallel" } : {};
  return { metadata: { name }, spec: { ...own, replicas, selector: { matchLabels: labels }, template } };
}
