import type { LogCall } from "../../cluster/kubelet";
import { createWorkload, protect, readObject, type Scene, until } from "../scenario";
import type { Rig } from "../rig";
import { begin, describe, type Measured, read } from "./gauge";
import { NOISES, stale } from "./voices";

/** So many targets of each noise. */
const EACH = 2;

/** Reads of one container in one pass. */
const READS_PER_PASS = 4;

/** What noise says is condemned nowhere; it only has to be read. */
const SPEC = { mode: "Observe", tokenRestart: { evidence: ["Logs"] } };

/** Longer than a loaded machine takes for all of it; in milliseconds. */
const PATIENCE_MS = 180_000;

/** How the 401s of one pod were found. */
interface Heard {
  /** Reads of its log until then. */
  readonly reads: number;
  /** Reads of other logs from the creation of its object to the first read of its own. */
  readonly others: number;
}

/** One quiet pod whose token is dead, alone and among targets that log 10 MB/s each. */
export async function noise(rig: Rig, print: (line: string) => void, prefix = "noise"): Promise<Measured> {
  const alone = await hear(await rig.scene(`${prefix}-alone`), "quiet-alone");
  print(`alone, the 401s are found by ${alone.reads} reads`);
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
    `among ${names.length} noisy targets, by ${among.reads}, after ${among.others} reads of others; ${describe(reading)}`,
  );
  await end(scene, names);
  // Each noisy target may be in the middle of a pass, and begin another before a new one comes.
  const mostOthers = 2 * READS_PER_PASS * names.length;
  const finding = {
    fault: `${names.length} targets that log 10 MB/s each: words, lines with the 401s of others, lines of 5 MB`,
    times: names.length,
    promised: `a quiet pod's 401s are found by as few reads as without noise, at most ${mostOthers} reads of others before`,
    seen: `by ${among.reads} reads (${alone.reads} without), ${among.others} of others before; each noisy log was read ${Math.min(...noisy)} to ${Math.max(...noisy)} times`,
    failures: [
      ...(among.reads > alone.reads + 1 ? [`it took ${among.reads} reads, and ${alone.reads} without noise`] : []),
      ...(among.others > mostOthers ? [`${among.others} reads of others came before`] : []),
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

/** Silence again: what is read goes with what asked for it. */
async function end({ admin, namespace, node }: Scene, names: readonly string[]): Promise<void> {
  await admin.delete(`/apis/controller-resilience.io/v1alpha1/namespaces/${namespace}/controllerresiliences`);
  for (const name of names) await admin.delete(`/apis/apps/v1/namespaces/${namespace}/deployments/${name}`);
  node.voices.clear();
}
