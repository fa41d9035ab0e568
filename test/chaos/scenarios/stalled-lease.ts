import { setTimeout as sleep } from "node:timers/promises";
import { GoneError } from "../../../src/core/errors";
import { microTime } from "../../../src/core/time";
import { countPods, createWorkload, describeObject, NAME, protect, type Scenario, type Scene } from "../scenario";

/** Long enough for the operator, which reads Leases every ten seconds, to see four renewals; in milliseconds. */
const LEARN_MS = 90_000;
const RENEW_MS = 2_000;
const PATIENCE_MS = 480_000;

interface Pods {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  }[];
}

/** Evicts a pod that holds a Lease and has stopped renewing it. */
export const stalledLease: Scenario = {
  name: "stalled-lease",
  patienceMs: PATIENCE_MS,

  async prepare(scene) {
    await createWorkload(scene, "Deployment", 1);
    const spec = { leaseDurationSeconds: 15, renewTime: now() };
    await scene.admin.create(leases(scene), { metadata: { name: NAME }, spec });
  },

  async trigger(scene) {
    void lead(scene);
    const stallDetection = { evidence: ["Lease"], for: "1m", onStall: "Restart" };
    await protect(scene, "Deployment", { stallDetection });
  },

  async describe(scene) {
    return { ...(await describeObject(scene)), pods: await countPods(scene) };
  },

  isOver: state => ((state["restarts"] ?? []) as string[]).some(text => /Recovered|Ineffective/.test(text)),
};

/** Renews the Lease as the programs of the pods do, of which the first one hangs after a while. Ends with the Lease. */
async function lead(scene: Scene): Promise<void> {
  const beganMs = performance.now();
  const sinceMs = (): number => performance.now() - beganMs;
  let first: string | undefined;
  while (sinceMs() < PATIENCE_MS) {
    try {
      const pod = await runningPod(scene);
      first ??= pod?.uid;
      if (pod !== undefined && (pod.uid !== first || sinceMs() < LEARN_MS))
        await scene.admin.patch(`${leases(scene)}/${NAME}`, { spec: { holderIdentity: pod.name, renewTime: now() } });
    } catch (error) {
      if (error instanceof GoneError) return;
      // The next renewal is near.
    }
    await sleep(RENEW_MS, undefined, { ref: false });
  }
}

async function runningPod({ admin, namespace }: Scene): Promise<Pods["items"][number]["metadata"] | undefined> {
  const { items } = await admin.get<Pods>(`/api/v1/namespaces/${namespace}/pods`);
  return items.map(({ metadata }) => metadata).find(({ deletionTimestamp }) => deletionTimestamp === undefined);
}

const leases = ({ namespace }: Scene): string => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;

const now = (): string => microTime(Date.now());
