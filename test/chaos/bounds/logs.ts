import type { LogCall } from "../../cluster/kubelet";
import { createWorkload, protect, readObject, type Scene, until } from "../scenario";
import type { Rig } from "../rig";
import { begin, describe, type Measured, read } from "./gauge";
import { NOISES, stale } from "./voices";

/** Number of targets for each kind of noise. */
const EACH = 2;

/** Containers that one pass reads at most. */
const READS_PER_PASS = 4;

/** Noise never proves a stale token; it only has to be read. */
const SPEC = { mode: "Observe", tokenRestart: { evidence: ["Logs"] } };

/** Longer than the whole measurement takes on a busy machine; in milliseconds. */
const PATIENCE_MS = 180_000;

/** How the operator found the 401s of one pod. */
interface Heard {
  /** Reads of the pod's log until then. */
  readonly reads: number;
  /** Reads of other logs from the creation of its object to the first read of the pod's log. */
  readonly others: number;
}

/** One quiet pod with a stale token, first alone, then among targets that log 10 MB/s each. */
export async function noise(rig: Rig, print: (line: string) => void, prefix = "noise"): Promise<Measured> {
  const alone = await hear(await rig.scene(`${prefix}-alone`), "quiet-alone");
  print(`without noise, the 401s are found with ${alone.reads} reads`);
  const scene = await rig.scene(prefix);
  const names = Object.keys(NOISES).flatMap(kind => Array.from({ length: EACH }, (_, i) => `noisy-${kind}-${i}`));
  for (const [kind, voice] of Object.entries(NOISES)) scene.node.voices.set(`noisy-${kind}-`, voice);
  await begin(rig.operator);
  for (const name of names) await watch(scene, name);
  const readsOf = (name: string): number => scene.node.logCalls.filter(({ pod }) => pod.startsWith(name)).length;
  const isUnderWay = (): Promise<boolean> => Promise.resolve(names.every(name => readsOf(name) > READS_PER_PASS));
  await until("the noise to be read", isUnderWay, PATIENCE_MS);
  const among = await hear(scene, "quiet-among");
  const reading = await read(rig.operator);
  const noisy = names.map(readsOf);
  print(
    `among ${names.length} noisy targets, with ${among.reads}, after ${among.others} reads of others; ${describe(reading)}`,
  );
  await end(scene, names);
  // Each noisy target may be in a pass already, and begin another before the new object's pass.
  const mostOthers = 2 * READS_PER_PASS * names.length;
  const finding = {
    fault: `${names.length} targets that log 10 MB/s each: words, lines with the 401s of others, lines of 5 MB`,
    times: names.length,
    promised: `a quiet pod's 401s are found with as few reads as without noise, after at most ${mostOthers} reads of other logs`,
    seen: `${among.reads} reads (${alone.reads} without noise), after ${among.others} reads of other logs; each noisy log was read ${Math.min(...noisy)} to ${Math.max(...noisy)} times`,
    failures: [
      ...(among.reads > alone.reads + 1 ? [`${among.reads} reads, without noise ${alone.reads}`] : []),
      ...(among.others > mostOthers ? [`${among.others} reads of other logs came first, limit ${mostOthers}`] : []),
    ],
  };
  return { finding, reading };
}

async function hear(scene: Scene, name: string): Promise<Heard> {
  const { node } = scene;
  node.voices.set(name, stale);
  const isOwn = ({ pod }: LogCall): boolean => pod.startsWith(name);
  await createWorkload(scene, "Deployment", 1, name);
  const before = node.logCalls.length;
  await protect(scene, "Deployment", SPEC, name);
  await until(`the 401s of ${name}`, () => isCondemned(scene, name), PATIENCE_MS);
  const calls = node.logCalls.slice(before);
  return { reads: calls.filter(isOwn).length, others: calls.findIndex(isOwn) };
}

async function watch(scene: Scene, name: string): Promise<void> {
  await createWorkload(scene, "Deployment", 1, name);
  await protect(scene, "Deployment", SPEC, name);
}

async function isCondemned(scene: Scene, name: string): Promise<boolean> {
  const targets = (await readObject(scene, name))?.status?.targets ?? [];
  return targets.some(({ rejectedPods }) => rejectedPods > 0);
}

/** Stops the noise: without their object the logs are no longer read. */
async function end({ admin, namespace, node }: Scene, names: readonly string[]): Promise<void> {
  await admin.delete(`/apis/controller-resilience.io/v1alpha1/namespaces/${namespace}/controllerresiliences`);
  for (const name of names) await admin.delete(`/apis/apps/v1/namespaces/${namespace}/deployments/${name}`);
  node.voices.clear();
}
