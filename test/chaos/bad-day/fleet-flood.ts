import { setTimeout as sleep } from "node:timers/promises";
import { FORBIDDEN_PATH } from "../../flood/accounts";
import { LoopingClient } from "../../flood/client";
import { protect, until } from "../scenario";
import type { Story } from "./story";
import { objectsOf, podsOf, reasonOf } from "./workloads";

const NAME = "fleet";
const PODS = 200;

/** One client for the whole fleet: about one request per second and pod. */
const FLEET = { connections: 50, pauseMs: 240 };

/** The threshold of one pod: the fleet stays below that of all its pods, and far above that of one. */
const RATE = { threshold: 2, for: "15s", onRunaway: "Throttle" };

/** Far above the threshold of one pod, also on a busy machine. */
const LEAST = 20 * RATE.threshold;

/** Much longer than a runaway is throttled after, in milliseconds. */
const FLOODED_MS = 90_000;
const PATIENCE_MS = 240_000;
const LOOK_MS = 1_000;

/** A fleet of pods with one ServiceAccount makes many requests together, but few each. */
export const fleetFlood: Story = {
  name: "fleet-flood",
  async tell({ lab, rig, print }) {
    const scene = await rig.scene("fleet-flood");
    const { admin, namespace } = scene;
    await admin.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: NAME } });
    const labels = { app: NAME };
    const spec = { serviceAccountName: NAME, containers: [{ name: "main", image: "none" }] };
    await admin.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
      metadata: { name: NAME },
      spec: { replicas: PODS, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    });
    const running = async (): Promise<number> => {
      const pods = await podsOf(scene);
      return pods.filter(({ status }) => status.conditions?.some(({ type }) => type === "Ready")).length;
    };
    await until(`${PODS} pods`, async () => (await running()) === PODS, PATIENCE_MS);
    await protect(scene, "Deployment", { flowIsolation: { requestRate: RATE } }, NAME);
    const flow = async (): Promise<{ reason: string; state: string; rate: number }> => {
      const [object] = await objectsOf(scene, [NAME]);
      const { state = "", requestsPerSecond = 0 } = object?.status?.flows?.[0] ?? {};
      return { reason: object === undefined ? "" : reasonOf(object, "FlowsIsolated"), state, rate: requestsPerSecond };
    };
    await until("the flow", async () => (await flow()).reason === "Isolated", PATIENCE_MS);
    const kubeconfig = await lab.serviceAccountKubeconfig(namespace, NAME);
    const client = await LoopingClient.start({ ...FLEET, kubeconfig, path: FORBIDDEN_PATH });
    print(`${PODS} pods of one ServiceAccount make requests`);
    const startedMs = Date.now();
    const states = new Set<string>();
    let measured = 0;
    try {
      while (Date.now() - startedMs < FLOODED_MS) {
        const { state, rate } = await flow();
        states.add(state);
        measured = Math.max(measured, rate);
        await sleep(LOOK_MS);
      }
    } finally {
      await client.stop();
    }
    const { perSecond } = client.between(startedMs, startedMs + FLOODED_MS);
    return {
      fault: `${PODS} pods of one ServiceAccount make about one request per second each`,
      times: PODS,
      promised: `not throttled at a threshold of ${RATE.threshold} requests/s and pod`,
      seen: `${perSecond.toFixed(0)} requests/s made, ${measured.toFixed(0)} measured; ${[...states].join(", ")}`,
      failures: [
        ...(measured > LEAST ? [] : [`only ${measured.toFixed(0)} requests/s were measured`]),
        ...(states.size === 1 && states.has("Normal") ? [] : [`the states were ${[...states].join(", ")}`]),
      ],
    };
  },
};
