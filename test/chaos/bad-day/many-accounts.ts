import type { ControllerResilience } from "../../../src/api/controller-resilience";
import { forEach } from "../bounds/many";
import { objectPath, type Scene, until } from "../scenario";
import type { Story } from "./story";
import { messageOf, objectsOf, reasonOf } from "./workloads";

const ACCOUNTS = 500;
const ISOLATED = 32;
const NAME = "many-accounts";
const FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";

/** A new object waits for passes of others for at most this long, in milliseconds. */
const MOST_WAIT_MS = 15_000;
const PATIENCE_MS = 300_000;

/** A selector of one object matches workloads with hundreds of ServiceAccounts. */
export const manyAccounts: Story = {
  name: "many-accounts",
  async tell({ rig, dice, print }) {
    const scene = await rig.scene(NAME);
    const names = dice.names(ACCOUNTS, "account");
    await forEach(ACCOUNTS, i => createIdle(scene, names[i]!));
    print(`${ACCOUNTS} workloads with a ServiceAccount each`);
    const startedMs = performance.now();
    const targets = [{ kind: "Deployment", selector: { matchLabels: { crowd: NAME } } }];
    await createObject(scene, NAME, { targets, flowIsolation: {} });
    const isOver = async (): Promise<boolean> => {
      const [object] = await objectsOf(scene, [NAME]);
      return object !== undefined && reasonOf(object, "FlowsIsolated") === "TooMany" && flowsOf(object) === ISOLATED;
    };
    await until(`${ISOLATED} flows`, isOver, PATIENCE_MS);
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
    const waitedMs = await waitOfNewcomer(scene);
    const [object] = await objectsOf(scene, [NAME]);
    const message = messageOf(object!, "FlowsIsolated");
    const made = await flowSchemasOf(scene);
    const size = JSON.stringify(object).length;
    return {
      fault: `a selector matches ${ACCOUNTS} ServiceAccounts`,
      times: ACCOUNTS,
      promised: `${ISOLATED} are isolated, the rest is reported; a new object waits for less than ${MOST_WAIT_MS / 1000} s`,
      seen: `${made} FlowSchemas after ${seconds} s; a new object waited for ${(waitedMs / 1000).toFixed(1)} s; an object of ${Math.round(size / 1024)} KiB; ${message}`,
      failures: [
        ...(made > 2 * ISOLATED ? [`${made} FlowSchemas`] : []),
        ...(waitedMs > MOST_WAIT_MS ? [`a new object waited for ${(waitedMs / 1000).toFixed(0)} s`] : []),
        ...(message.includes(String(ACCOUNTS)) || message.includes(String(ACCOUNTS - ISOLATED))
          ? []
          : [`the message does not have the number: ${message}`]),
      ],
    };
  },
};

/** A Deployment without pods. */
async function createIdle({ admin, namespace }: Scene, name: string): Promise<void> {
  await admin.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
  const labels = { app: name };
  const spec = { serviceAccountName: name, containers: [{ name: "main", image: "none" }] };
  await admin.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
    metadata: { name, labels: { crowd: NAME } },
    spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  });
}

async function createObject(scene: Scene, name: string, spec: object): Promise<void> {
  await scene.admin.create(objectPath(scene).replace(/\/[^/]+$/, ""), {
    apiVersion: "controller-resilience.io/v1alpha1",
    kind: "ControllerResilience",
    metadata: { name },
    spec,
  });
}

/** Time until the first pass of a new object, in milliseconds. */
async function waitOfNewcomer(scene: Scene): Promise<number> {
  const name = "newcomer";
  const startedMs = performance.now();
  await createObject(scene, name, { targets: [{ kind: "Deployment", name: "none" }], tokenRestart: {} });
  const isSeen = async (): Promise<boolean> =>
    (await objectsOf(scene, [name])).some(({ status }) => status?.observedGeneration !== undefined);
  await until("the first pass of a new object", isSeen, PATIENCE_MS);
  return performance.now() - startedMs;
}

function flowsOf({ status }: ControllerResilience): number {
  return status?.flows?.length ?? 0;
}

async function flowSchemasOf({ admin, namespace }: Scene): Promise<number> {
  const { items } = await admin.get<{ items: { metadata: { name: string } }[] }>(FLOWS);
  return items.filter(({ metadata }) => metadata.name.includes(namespace)).length;
}
