import { setTimeout as sleep } from "node:timers/promises";
import { protect, type Scene, until } from "../scenario";
import type { Story } from "./story";
import {
  createDaemonSet,
  isStalled,
  messageOf,
  objectsOf,
  podsOf,
  recreateServiceAccounts,
  untilAccepted,
} from "./workloads";

const AGENT = "lost-node-agent";
const NODES = 10;

/** The node lifecycle controller waits 50 s for a node. In milliseconds. */
const LOST_MS = 180_000;

/** Nine successors, one after the other, are watched for 30 s each; on a busy machine. In milliseconds. */
const PATIENCE_MS = 900_000;

/** Pods are older than the new ServiceAccount, by timestamps in whole seconds. */
const A_SECOND_LATER_MS = 2_000;

/** One of ten nodes does not answer while every pod of a DaemonSet needs a restart. */
export const lostNode: Story = {
  name: "lost-node",
  async tell({ rig, dice, print }) {
    const scene = await rig.scene("lost-node");
    const nodes = await scene.node.addNodes(NODES, "lost-node");
    await createDaemonSet(scene, { name: AGENT, pool: "lost-node", pods: NODES });
    await protect(scene, "DaemonSet", { tokenRestart: {} }, AGENT);
    await untilAccepted(scene, [AGENT]);
    const before = await podsOf(scene, AGENT);
    const lost = dice.oneOf(nodes);
    scene.node.silence(lost);
    await until(`node ${lost} to be seen as lost`, () => isLost(scene, lost), LOST_MS);
    await sleep(A_SECOND_LATER_MS);
    await recreateServiceAccounts(scene, [AGENT]);
    const startedMs = performance.now();
    print(`node ${lost} is lost, and all pods need a restart`);
    const others = new Set(before.filter(({ spec }) => spec.nodeName !== lost).map(({ metadata }) => metadata.uid));
    const left = async (): Promise<number> =>
      (await podsOf(scene, AGENT)).filter(({ metadata }) => others.has(metadata.uid)).length;
    const isHealed = await until("the other pods to be replaced", async () => (await left()) === 0, PATIENCE_MS).then(
      () => true,
      () => false,
    );
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
    const [object] = await objectsOf(scene, [AGENT]);
    const said = object === undefined ? "" : messageOf(object, "TokensAccepted");
    return {
      fault: `one of ${NODES} nodes is lost while all pods of a DaemonSet need a restart`,
      times: 1,
      promised: `the pods of the other ${NODES - 1} nodes are replaced`,
      seen: `${others.size - (await left())} replaced after ${seconds} s${object && isStalled(object) ? ", then Stalled" : ""}: ${said}`,
      failures: isHealed ? [] : [`${await left()} pods were not replaced: ${said}`],
    };
  },
};

async function isLost(scene: Scene, node: string): Promise<boolean> {
  const pod = (await podsOf(scene, AGENT)).find(({ spec }) => spec.nodeName === node);
  return pod?.status.conditions?.some(({ type, status }) => type === "Ready" && status === "False") ?? false;
}
