import { setTimeout as sleep } from "node:timers/promises";
import type { ControllerResilience, ControllerResilienceSpec } from "../../src/api/controller-resilience";
import { GoneError } from "../../src/core/errors";
import { type Admin, eventually } from "../cluster/admin";
import type { ClusterClient } from "../cluster/client";
import type { StandInNode } from "./node";

/** Patience with the controllers that create pods, beside hundreds of others; in milliseconds. */
const SETUP_MS = 240_000;

/** A run is over when nothing was written for this long after its final state; in milliseconds. */
const SETTLED_MS = 3_000;
const LOOK_MS = 500;

/** The namespace in which a scenario runs. */
export interface Scene {
  readonly namespace: string;
  readonly admin: Admin;
  readonly client: ClusterClient;
  readonly node: StandInNode;
  /** Waits until the operator has led for this time, in milliseconds. */
  readonly untilLedFor: (ms: number) => Promise<void>;
}

/** The final state as plain data without uids and times, so that two runs can be compared. */
export type State = Readonly<Record<string, unknown>>;

/** An action of the operator that consists of one or more writes. */
export interface Scenario {
  readonly name: string;
  /** Much longer than any run; in milliseconds. */
  readonly patienceMs: number;
  /** Creates the preconditions. Nothing is counted yet. */
  prepare(scene: Scene): Promise<unknown>;
  /** Makes the change that the operator acts on. */
  trigger(scene: Scene): Promise<unknown>;
  describe(scene: Scene): Promise<State>;
  /** Whether the state is final, good or bad. */
  isOver(state: State): boolean;
}

/** Name of the object and the workload of all scenarios. */
export const NAME = "web";

const GROUP = "/apis/controller-resilience.io/v1alpha1";

/** Path of the scene's ControllerResilience. */
export function objectPath(scene: Scene, name = NAME): string {
  return `${GROUP}/namespaces/${scene.namespace}/controllerresiliences/${name}`;
}

/** Kinds of workloads in scenarios. */
type WorkloadKind = "Deployment" | "StatefulSet" | "DaemonSet";

/** Creates the scene's ControllerResilience for the workload; returns the created object. */
export function protect(
  scene: Scene,
  kind: WorkloadKind,
  blocks: Partial<Record<keyof ControllerResilienceSpec, unknown>>,
  name = NAME,
): Promise<ControllerResilience> {
  return scene.admin.create<ControllerResilience>(`${GROUP}/namespaces/${scene.namespace}/controllerresiliences`, {
    apiVersion: "controller-resilience.io/v1alpha1",
    kind: "ControllerResilience",
    metadata: { name },
    spec: { targets: [{ kind, name }], ...blocks },
  });
}

/** Reads the scene's ControllerResilience; undefined if it does not exist. */
export async function readObject(scene: Scene, name = NAME): Promise<ControllerResilience | undefined> {
  try {
    return await scene.admin.get<ControllerResilience>(objectPath(scene, name));
  } catch (error) {
    if (error instanceof GoneError) return undefined;
    throw error;
  }
}

/** The status without the parts that differ from run to run. */
export async function describeObject(scene: Scene): Promise<State> {
  const object = await readObject(scene);
  if (object === undefined) return { object: "gone" };
  const { conditions = [], restarts = [], restartsTotal = 0, bindings, daemonSets, flows } = object.status ?? {};
  return {
    finalizers: object.metadata.finalizers ?? [],
    conditions: conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`),
    restarts: restarts.map(({ workload, cause, outcome }) => `${workload} ${cause} ${outcome}`),
    restartsTotal,
    bindings: bindings?.map(({ name, state }) => `${name} ${state}`),
    daemonSets: daemonSets?.map(({ name, outcome }) => `${name} ${outcome}`),
    flows: flows?.map(({ serviceAccount, state }) => `${serviceAccount} ${state}`),
  };
}

/** Whether a condition has that reason. */
export function says(state: State, type: string, reason: string): boolean {
  const conditions = (state["conditions"] ?? []) as readonly string[];
  return conditions.some(text => text.startsWith(`${type}=`) && text.endsWith(` ${reason}`));
}

/** Waits for a step of the preparation. */
export async function until(what: string, look: () => Promise<boolean>, withinMs = 180_000): Promise<void> {
  if (!(await eventually(look, Boolean, withinMs)))
    throw new Error(`timed out after ${withinMs / 1000} s waiting for ${what}`);
}

/** Number of pods that the status of each kind of workload reports. */
const READY = { Deployment: "readyReplicas", StatefulSet: "readyReplicas", DaemonSet: "numberReady" } as const;

/** A workload with at most one pod, whose ServiceAccount has its name. A DaemonSet without pods matches no node. */
export async function createWorkload(scene: Scene, kind: WorkloadKind, pods: 0 | 1 = 0, name = NAME): Promise<string> {
  const { admin, namespace } = scene;
  await admin.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
  const plural = `/apis/apps/v1/namespaces/${namespace}/${kind.toLowerCase()}s`;
  const labels = { app: name };
  const spec = {
    serviceAccountName: name,
    tolerations: [{ operator: "Exists" }],
    containers: [{ name: "main", image: "none" }],
    ...(kind === "DaemonSet" && pods === 0 ? { nodeSelector: { "example.com/none": "true" } } : {}),
  };
  await admin.create(plural, {
    metadata: { name },
    spec: {
      ...(kind === "DaemonSet" ? {} : { replicas: pods }),
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec },
    },
  });
  const path = `${plural}/${name}`;
  const isSettled = async (): Promise<boolean> => {
    const { status } = await admin.get<{ status: Readonly<Record<string, number>> }>(path);
    return status["observedGeneration"] === 1 && (status[READY[kind]] ?? 0) === pods;
  };
  await until(`${kind} ${name} to settle`, isSettled, SETUP_MS);
  return path;
}

interface Pods {
  readonly items: readonly { readonly metadata: { readonly deletionTimestamp?: string } }[];
}

/** Number of pods that are not being deleted. */
export async function countPods({ admin, namespace }: Scene): Promise<number> {
  const { items } = await admin.get<Pods>(`/api/v1/namespaces/${namespace}/pods`);
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length;
}

/** Waits for a scenario's final state, good or bad, and until nothing more is written; reports the reason if either never happens. */
export async function untilSettled(
  scenario: Scenario,
  scene: Scene,
  countWrites: () => number,
): Promise<{ state: State; trouble?: string }> {
  const deadlineMs = performance.now() + scenario.patienceMs;
  let settledFromMs = Infinity;
  let written = -1;
  let state: State = {};
  while (performance.now() < deadlineMs) {
    await sleep(LOOK_MS);
    state = await scenario.describe(scene);
    const writes = countWrites();
    const isStill = scenario.isOver(state) && writes === written;
    written = writes;
    if (!isStill) settledFromMs = performance.now();
    else if (performance.now() - settledFromMs > SETTLED_MS) return { state };
  }
  return { state, trouble: `no end after ${scenario.patienceMs / 1000} s: ${JSON.stringify(state)}` };
}
