import { afterAll, beforeAll, expect, it } from "vitest";
import { Usage } from "../bench/scale/usage";
import type { LogCall } from "../cluster/kubelet";
import { operatorNodeOptions } from "../controllers/operator-image";
import { Lab } from "../lab";
import { Rig } from "../rig/rig";
import { createWorkload, protect, readObject, type Scene, until } from "../rig/scenario";
import { ownLabName } from "./suite-lab";
import { NOISES, stale } from "./voices";

// Far more log than in real clusters, in the memory of the operator's container.

const LIMIT_MIB = 256;
/** The heap limit that Node.js chooses in such a container, and a relist of Pepr's in each measurement. */
const ENV = {
  NODE_OPTIONS: [...operatorNodeOptions(), "--max-old-space-size=128"].join(" "),
  PEPR_RELIST_INTERVAL_SECONDS: "15",
};

/** Number of targets for each kind of noise. */
const EACH = 2;
/** Containers that one pass reads at most. */
const READS_PER_PASS = 4;
/** Noise never proves a stale token; it only has to be read. */
const SPEC = { mode: "Observe", tokenRestart: { evidence: ["Logs"] } };

let lab: Lab;
let rig: Rig;

beforeAll(async () => {
  lab = await Lab.up({ name: ownLabName("bounds"), controlPlaneOnly: true });
  rig = await Rig.up(lab, ENV);
});

afterAll(() => lab.down());

/** Waits until the 401s of a quiet pod are found. Counts the reads of its log until then, and those of others before the first. */
async function hear(scene: Scene, name: string): Promise<{ reads: number; others: number }> {
  const { node } = scene;
  node.voices.set(name, stale);
  const isOwn = ({ pod }: LogCall): boolean => pod.startsWith(name);
  await createWorkload(scene, "Deployment", 1, name);
  const before = node.logCalls.length;
  await protect(scene, "Deployment", SPEC, name);
  const targets = async () => (await readObject(scene, name))?.status?.targets ?? [];
  await until(`the 401s of ${name}`, async () => (await targets()).some(({ rejectedPods }) => rejectedPods > 0));
  const calls = node.logCalls.slice(before);
  return { reads: calls.filter(isOwn).length, others: calls.findIndex(isOwn) };
}

it("finds a quiet pod's 401s beside targets that log 10 MB/s, with bounded memory", async () => {
  const usage = new Usage(rig.operator.pid);
  const alone = await hear(await rig.scene("noise-alone"), "quiet-alone");
  const scene = await rig.scene("noise");
  const names = Object.keys(NOISES).flatMap(kind => Array.from({ length: EACH }, (_, i) => `noisy-${kind}-${i}`));
  for (const [kind, voice] of Object.entries(NOISES)) scene.node.voices.set(`noisy-${kind}-`, voice);
  for (const name of names) {
    await createWorkload(scene, "Deployment", 1, name);
    await protect(scene, "Deployment", SPEC, name);
  }
  const readsOf = (name: string): number => scene.node.logCalls.filter(({ pod }) => pod.startsWith(name)).length;
  await until("the noise to be read", () => Promise.resolve(names.every(name => readsOf(name) > READS_PER_PASS)));
  const among = await hear(scene, "quiet-among");
  const { peakMiB } = usage.used();
  console.log(`401s found with ${among.reads} reads, after ${among.others} others; peak ${peakMiB.toFixed(0)} MiB`);
  expect(peakMiB).toBeLessThan(LIMIT_MIB);
  expect(among.reads).toBeLessThanOrEqual(alone.reads + 1);
  // Each noisy target may be in a pass already, and begin another before the new object's pass.
  expect(among.others).toBeLessThanOrEqual(2 * READS_PER_PASS * names.length);
});
