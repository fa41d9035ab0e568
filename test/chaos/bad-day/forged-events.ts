import { setTimeout as sleep } from "node:timers/promises";
import { Connection } from "../../../src/cluster/http/connection";
import { systemClock } from "../../../src/cluster/system";
import { loadKubeConfigFile } from "../../../src/cluster/testing/kubeconfig";
import { Admin } from "../../cluster/admin";
import { protect, type Scene, until } from "../scenario";
import type { Story } from "./story";
import {
  createDaemonSet,
  isStalled,
  messageOf,
  objectsOf,
  podsOf,
  reasonOf,
  restartsOf,
  untilAccepted,
} from "./workloads";

const AGENT = "forged-events-agent";
const EDITOR = "editor";
const NODES = 3;

/** Longer than the operator tolerates a rejected credential (a minute), in milliseconds. */
const FORGED_MS = 80_000;
const EACH_MS = 5_000;

/** What the kubelet writes when the API server rejects the credential of Calico's plugin. */
const MESSAGE =
  'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "5d": plugin type="calico" failed (add): error getting ClusterInformation: connection is unauthorized: Unauthorized';

/** An editor of one namespace writes Events that accuse the CNI agent of every node. */
export const forgedEvents: Story = {
  name: "forged-events",
  async tell({ lab, rig, print }) {
    const scene = await rig.scene("forged-events");
    const tenant = await rig.scene("forged-events-tenant");
    const nodes = await scene.node.addNodes(NODES, "forged-events");
    const volumes = [{ name: "cni", hostPath: { path: "/etc/cni/net.d" } }];
    const containers = [{ name: "main", image: "none", volumeMounts: [{ name: "cni", mountPath: "/host/cni" }] }];
    const spec = { hostNetwork: true, volumes, containers };
    await createDaemonSet(scene, { name: AGENT, pool: "forged-events", pods: NODES, spec });
    await protect(scene, "DaemonSet", { tokenRestart: {} }, AGENT);
    await untilAccepted(scene, [AGENT]);
    const before = new Set((await podsOf(scene)).map(({ metadata }) => metadata.uid));
    const editor = await logIn(tenant, (namespace, name) => lab.serviceAccountKubeconfig(namespace, name));
    print("an editor of another namespace forges Events");
    let written = 0;
    try {
      for (const endMs = performance.now() + FORGED_MS; performance.now() < endMs; ) {
        for (const node of nodes) await forge(editor, tenant.namespace, node, written++);
        await sleep(EACH_MS);
      }
    } finally {
      editor.connection.close();
    }
    const stalled = async (): Promise<boolean> => (await objectsOf(scene, [AGENT])).some(isStalled);
    const isSaid = await until("the object to be Stalled", stalled).then(
      () => true,
      () => false,
    );
    const [object] = await objectsOf(scene, [AGENT]);
    const message = messageOf(object!, "TokensAccepted");
    const gone = before.size - (await podsOf(scene)).filter(({ metadata }) => before.has(metadata.uid)).length;
    const restarts = restartsOf([object!]).length;
    return {
      fault: `an editor of one namespace forges ${written} Events that accuse the CNI agent`,
      times: written,
      promised: "no restart; Stalled, and the message names the namespace",
      seen: `${restarts} restarts; ${reasonOf(object!, "TokensAccepted")}: ${message}`,
      failures: [
        ...(restarts + gone > 0 ? [`${restarts} restarts, ${gone} pods gone`] : []),
        ...(isSaid && message.includes(tenant.namespace) ? [] : [`not Stalled by the namespace: ${message}`]),
      ],
    };
  },
};

/** Returns a client with the ClusterRole `edit` in this namespace only. */
async function logIn(
  { admin, namespace }: Scene,
  kubeconfigOf: (namespace: string, name: string) => Promise<string>,
): Promise<Admin> {
  const group = "rbac.authorization.k8s.io";
  await admin.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: EDITOR } });
  await admin.create(`/apis/${group}/v1/namespaces/${namespace}/rolebindings`, {
    metadata: { name: EDITOR },
    roleRef: { apiGroup: group, kind: "ClusterRole", name: "edit" },
    subjects: [{ kind: "ServiceAccount", namespace, name: EDITOR }],
  });
  const kubeconfig = await kubeconfigOf(namespace, EDITOR);
  const editor = new Admin(new Connection(() => loadKubeConfigFile(kubeconfig), systemClock));
  const probe = `/api/v1/namespaces/${namespace}/configmaps`;
  await until("the editor's rights", () =>
    editor.get(probe).then(
      () => true,
      () => false,
    ),
  );
  return editor;
}

async function forge(editor: Admin, namespace: string, node: string, number: number): Promise<void> {
  const time = new Date().toISOString().replace(/\.\d+/, "");
  const long = new Date(Date.now() - 600_000).toISOString().replace(/\.\d+/, "");
  await editor.create(`/api/v1/namespaces/${namespace}/events`, {
    metadata: { name: `forged-${number}` },
    involvedObject: { apiVersion: "v1", kind: "Pod", namespace, name: `victim-${number}`, uid: `victim-${number}` },
    reason: "FailedCreatePodSandBox",
    type: "Warning",
    message: MESSAGE,
    source: { component: "kubelet", host: node },
    firstTimestamp: long,
    lastTimestamp: time,
    count: 10,
  });
}
