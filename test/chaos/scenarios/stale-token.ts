import { setTimeout as sleep } from "node:timers/promises";
import { countPods, createWorkload, describeObject, NAME, protect, type Scenario } from "../scenario";

/** Timestamps of the API have whole seconds, and the pod must be older than its ServiceAccount; in milliseconds. */
const A_SECOND_LATER_MS = 2_000;

/** A new leader restarts nothing for ten seconds, and reports that; in milliseconds. */
const BRAKE_MS = 11_000;

/** Evicts a pod that gets 401s after its ServiceAccount was recreated. */
export const staleToken: Scenario = {
  name: "stale-token",
  // An eviction that was recorded but never sent is settled after 5 minutes (docs/adr/0004).
  patienceMs: 480_000,

  // The object is created after all changes: status and Events of the steps in between would differ from run to run.
  async prepare(scene) {
    const { admin, namespace, node } = scene;
    await createWorkload(scene, "Deployment", 1);
    await sleep(A_SECOND_LATER_MS);
    const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    await admin.delete(`${accounts}/${NAME}`);
    await admin.create(accounts, { metadata: { name: NAME } });
    await node.reject(namespace);
    await scene.untilLedFor(BRAKE_MS);
  },

  async trigger(scene) {
    await protect(scene, "Deployment", { tokenRestart: {} });
  },

  async describe(scene) {
    return { ...(await describeObject(scene)), pods: await countPods(scene) };
  },

  isOver: state => ((state["restarts"] ?? []) as string[]).some(text => /Recovered|Ineffective/.test(text)),
};
