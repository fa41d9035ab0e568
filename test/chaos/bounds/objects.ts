import { setTimeout as sleep } from "node:timers/promises";
import type { Call } from "../calls";
import type { Rig } from "../rig";
import { createWorkload, NAME, objectPath, protect, readObject, type Scene, until } from "../scenario";
import { begin, type Measured, read, valueOf } from "./gauge";
import { forEach } from "./many";

/** Namespaces among which the objects are spread. */
const NAMESPACES = 20;

/** Concurrent passes of the operator. */
const WORKERS = 4;

/** Lanes of the work queue. A new object waits for the running passes and for one pass of each other lane. */
const LANES = 3;

/** Passes that begin while the object is created and its watch event is delivered, on any machine. */
const ON_THE_WAY = 100;

/** New objects, created one by one. */
const NEWCOMERS = 6;

/** Time between two reads of the metrics; in milliseconds. */
const LOOK_MS = 500;

/** Longer than the whole measurement takes on a busy machine; in milliseconds. */
const PATIENCE_MS = 600_000;

/** This many ControllerResiliences, and a few new ones during full passes over them. Returns their namespaces, too. */
export async function flock(
  rig: Rig,
  count: number,
  print: (line: string) => void,
): Promise<Measured & { readonly scenes: readonly Scene[] }> {
  const scenes = await makeScenes(rig);
  await begin(rig.operator);
  const startedMs = performance.now();
  const sceneOf = (i: number): Scene => scenes[i % NAMESPACES] ?? scenes[0]!;
  await forEach(count, i => createObject(sceneOf(i), `object-${i}`));
  print(`${count} objects created after ${secondsSince(startedMs)} s`);
  await until("a pass of the last object", () => isSeen(sceneOf(count - 1), `object-${count - 1}`), PATIENCE_MS);
  print(`the last object had its first pass after ${secondsSince(startedMs)} s`);
  const pass = await wholePass(rig, count);
  print(`a full pass takes ${pass.seconds.toFixed(0)} s, ${pass.requests} requests`);
  const turns: number[] = [];
  for (const scene of scenes.slice(0, NEWCOMERS)) turns.push(await turnOf(rig, scene, count));
  print(`the first pass of each new object came after ${turns.join(", ")} passes of others`);
  const reading = await read(rig.operator);
  const mostPasses = WORKERS + LANES + ON_THE_WAY;
  const late = turns.filter(passes => passes > mostPasses);
  const finding = {
    fault: `${count} objects in ${NAMESPACES} namespaces`,
    times: count,
    promised: `each of ${NEWCOMERS} new objects during full passes waits for at most ${mostPasses} passes`,
    seen: `waited for ${turns.join(", ")} passes; a full pass took ${pass.seconds.toFixed(0)} s and ${pass.requests} requests (${(pass.requests / pass.seconds).toFixed(0)}/s)`,
    failures: late.map(passes => `${passes} passes came before the first pass of a new object`),
  };
  return { finding, reading, scenes };
}

async function makeScenes(rig: Rig): Promise<Scene[]> {
  const scenes = await Promise.all(Array.from({ length: NAMESPACES }, (_, i) => rig.scene(`flock-${i}`)));
  for (const scene of scenes) await createWorkload(scene, "Deployment");
  return scenes;
}

async function createObject(scene: Scene, name: string): Promise<void> {
  const path = objectPath(scene).replace(/\/[^/]+$/, "");
  await scene.admin.create(path, {
    apiVersion: "controller-resilience.io/v1alpha1",
    kind: "ControllerResilience",
    metadata: { name },
    spec: { targets: [{ kind: "Deployment", name: NAME }], tokenRestart: {} },
  });
}

async function isSeen(scene: Scene, name: string): Promise<boolean> {
  return (await readObject(scene, name))?.status?.observedGeneration !== undefined;
}

/** Measured over at least the second half of a full pass. */
async function wholePass(rig: Rig, count: number): Promise<{ seconds: number; requests: number }> {
  await sweep(rig, left => left > count / 2);
  const [startedMs, passesBefore, requestsBefore] = [performance.now(), await passes(rig), requests(rig)];
  await sweep(rig, left => left < count / 20);
  const share = count / ((await passes(rig)) - passesBefore);
  const seconds = (performance.now() - startedMs) / 1000;
  return { seconds: share * seconds, requests: Math.round(share * (requests(rig) - requestsBefore)) };
}

/**
 * Counts the passes between the creation of an object during a full pass and its own first pass. Each pass begins with a read of its object, which
 * the proxy sees.
 */
async function turnOf(rig: Rig, scene: Scene, count: number): Promise<number> {
  await sweep(rig, left => left > count / 2);
  const own = objectPath(scene);
  let [begun, isOwn] = [0, false];
  const before = ({ method, resource, namespace }: Call, url: string): Promise<undefined> => {
    isOwn ||= method === "GET" && url === own;
    if (!isOwn && method === "GET" && resource === "controllerresiliences" && namespace !== undefined) begun++;
    return Promise.resolve(undefined);
  };
  rig.proxy.interceptor = { before };
  try {
    await protect(scene, "Deployment", { tokenRestart: {} });
    await until("the first pass of the new object", () => Promise.resolve(isOwn), PATIENCE_MS);
  } finally {
    rig.proxy.interceptor = {};
  }
  return begun;
}

/** Reading the metrics is expensive for the operator, which has thousands of series. */
async function sweep(rig: Rig, isSo: (waiting: number) => boolean): Promise<void> {
  const look = async (): Promise<boolean> => {
    await sleep(LOOK_MS);
    return isSo((await waiting(rig)) ?? NaN);
  };
  await until("the full pass", look, PATIENCE_MS);
}

async function waiting(rig: Rig): Promise<number | undefined> {
  return valueOf((await rig.operator.probe("/metrics")).text, 'workqueue_depth\\{name="controllerresilience"\\}');
}

async function passes(rig: Rig): Promise<number> {
  const ofObjects = 'controller_resilience_reconciles_total\\{controller="controllerresilience",.*\\}';
  return valueOf((await rig.operator.probe("/metrics")).text, ofObjects) ?? 0;
}

function requests({ proxy }: Rig): number {
  return [...proxy.others.values()].reduce((sum, calls) => sum + calls, 0) + proxy.writes.length + proxy.strays.length;
}

function secondsSince(startedMs: number): string {
  return ((performance.now() - startedMs) / 1000).toFixed(0);
}
