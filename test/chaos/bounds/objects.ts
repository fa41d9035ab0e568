import { setTimeout as sleep } from "node:timers/promises";
import type { Call } from "../calls";
import type { Rig } from "../rig";
import { createWorkload, NAME, objectPath, protect, readObject, type Scene, until } from "../scenario";
import { begin, type Measured, read, valueOf } from "./gauge";
import { forEach } from "../../cluster/for-each";

/** Namespaces among which the objects are spread. */
const NAMESPACES = 20;

/** A new object is created while at least this part of a full pass is still to come. */
const STILL_TO_COME = 1 / 2;

/** This part of it is still to come when the new object exists, or it is not counted. */
const STILL_TO_COME_THEN = 1 / 8;

/** New objects, created one by one. */
const NEWCOMERS = 3;

/** Time between two reads of the metrics; in milliseconds. A full pass takes some seconds. */
const LOOK_MS = 100;

/** Longer than the whole measurement takes on a busy machine; in milliseconds. */
const PATIENCE_MS = 600_000;

/** This many ControllerResiliences, and a few new ones during full passes over them. */
export async function flock(rig: Rig, count: number, print: (line: string) => void): Promise<Measured> {
  const scenes = await makeScenes(rig);
  await begin(rig.operator);
  const startedMs = performance.now();
  const sceneOf = (i: number): Scene => scenes[i % NAMESPACES] ?? scenes[0]!;
  await forEach(count, i => createObject(sceneOf(i), `object-${i}`));
  print(`${count} objects created after ${secondsSince(startedMs)} s`);
  await until("a pass of the last object", () => isSeen(sceneOf(count - 1), `object-${count - 1}`), PATIENCE_MS);
  print(`the last object had its first pass after ${secondsSince(startedMs)} s`);
  const pass = await wholePass(rig, count);
  print(`a full pass takes ${pass.seconds.toFixed(1)} s, ${pass.requests} requests`);
  const turns: Turn[] = [];
  for (const scene of scenes) if (turns.length < NEWCOMERS) turns.push(...(await turnOf(rig, scene, count)));
  const told = turns.map(({ waiting, passes }) => `${passes} of ${waiting}`).join(", ");
  print(`passes until the first one of each new object, of those still to come: ${told}`);
  const reading = await read(rig.operator);
  const late = turns.filter(({ left }) => left === 0);
  const finding = {
    fault: `${count} objects in ${NAMESPACES} namespaces`,
    times: count,
    promised: `each of ${NEWCOMERS} new objects during full passes has its first pass before these end`,
    seen: `first passes after ${told} passes; a full pass took ${pass.seconds.toFixed(1)} s and ${pass.requests} requests`,
    failures: [
      ...late.map(({ passes }) => `a new object waited for the end of a full pass, ${passes} passes`),
      ...(turns.length < NEWCOMERS ? [`only ${turns.length} objects were created during full passes`] : []),
    ],
  };
  return { finding, reading };
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

/** What the operator has done so far. */
interface Look {
  readonly atMs: number;
  /** Objects in the queue. */
  readonly waiting: number;
  readonly passes: number;
  readonly requests: number;
}

/** Measured from an empty queue: first passes make requests that a full pass does not. */
async function wholePass(rig: Rig, count: number): Promise<{ seconds: number; requests: number }> {
  let last = await lookUntil(rig, "the end of all first passes", ({ waiting }) => waiting === 0);
  const isBegun = (now: Look): boolean => {
    if (now.passes - last.passes > count / 20) return true;
    last = now;
    return false;
  };
  await lookUntil(rig, "a full pass", isBegun);
  const isOver = ({ waiting, passes }: Look): boolean => waiting < count / 20 && passes - last.passes > 0.9 * count;
  const end = await lookUntil(rig, "the end of the full pass", isOver);
  return { seconds: (end.atMs - last.atMs) / 1000, requests: end.requests - last.requests };
}

/** How a new object fares during a full pass. */
interface Turn {
  /** Objects in the queue just before its creation. */
  readonly waiting: number;
  /** Passes from then until its first one, at most: the metrics are read a little later. */
  readonly passes: number;
  /** Objects in the queue after its first pass. */
  readonly left: number;
}

/**
 * Creates an object during a full pass. Its own first pass reads it live before it writes status, which the proxy sees. Returns nothing if
 * the full pass was almost over when the object existed.
 */
async function turnOf(rig: Rig, scene: Scene, count: number): Promise<Turn[]> {
  const own = objectPath(scene);
  const begun = await lookUntil(rig, "a full pass", ({ waiting }) => waiting > STILL_TO_COME * count);
  let seen: Promise<Look> | undefined;
  const before = ({ method }: Call, url: string): Promise<void> => {
    if (method === "GET" && url === own) seen ??= look(rig);
    return Promise.resolve();
  };
  rig.proxy.interceptor = { before };
  try {
    await protect(scene, "Deployment", { tokenRestart: {} });
    const created = await look(rig);
    await until("the first pass of the new object", () => Promise.resolve(seen !== undefined), PATIENCE_MS);
    const { passes, waiting: left } = await seen!;
    if (created.waiting < STILL_TO_COME_THEN * count) return [];
    return [{ waiting: begun.waiting, passes: passes - begun.passes, left }];
  } finally {
    rig.proxy.interceptor = {};
  }
}

async function lookUntil(rig: Rig, what: string, isSo: (now: Look) => boolean): Promise<Look> {
  let now: Look | undefined;
  const isSeen = async (): Promise<boolean> => {
    await sleep(LOOK_MS);
    now = await look(rig);
    return !Number.isNaN(now.waiting) && isSo(now);
  };
  await until(what, isSeen, PATIENCE_MS);
  return now!;
}

async function look(rig: Rig): Promise<Look> {
  const { text } = await rig.operator.probe("/metrics");
  const ofObjects = 'controller_resilience_reconciles_total\\{controller="controllerresilience",.*\\}';
  return {
    atMs: performance.now(),
    waiting: valueOf(text, 'workqueue_depth\\{name="controllerresilience"\\}') ?? NaN,
    passes: valueOf(text, ofObjects) ?? 0,
    requests: requests(rig),
  };
}

function requests({ proxy }: Rig): number {
  return [...proxy.others.values()].reduce((sum, calls) => sum + calls, 0) + proxy.writes.length + proxy.strays.length;
}

function secondsSince(startedMs: number): string {
  return ((performance.now() - startedMs) / 1000).toFixed(0);
}
