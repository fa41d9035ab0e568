import type { LogCall } from "../../cluster/kubelet";
import { createWorkload, protect, readObject, type Scene, until } from "../scenario";
import type { Rig } from "../rig";
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

/** What came of {@link noise}: alone, and among noisy targets. */
interface Noise {
  readonly alone: Heard;
  readonly among: Heard;
  /** Reads of other logs that may come first: each noisy target may be in a pass already, and begin another before the new object's pass. */
  readonly mostOthers: number;
}

/** One quiet pod with a stale token, first alone, then among targets that log 10 MB/s each. */
export async function noise(rig: Rig): Promise<Noise> {
  const alone = await hear(await rig.scene("noise-alone"), "quiet-alone");
  const scene = await rig.scene("noise");
  const names = Object.keys(NOISES).flatMap(kind => Array.from({ length: EACH }, (_, i) => `noisy-${kind}-${i}`));
  for (const [kind, voice] of Object.entries(NOISES)) scene.node.voices.set(`noisy-${kind}-`, voice);
  for (const name of names) await watch(scene, name);
  const readsOf = (name: string): number => scene.node.logCalls.filter(({ pod }) => pod.startsWith(name)).length;
  const isUnderWay = (): Promise<boolean> => Promise.resolve(names.every(name => readsOf(name) > READS_PER_PASS));
  await until("the noise to be read", isUnderWay, PATIENCE_MS);
  const among = await hear(scene, "quiet-among");
  await end(scene, names);
  return { alone, among, mostOthers: 2 * READS_PER_PASS * names.length };
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
