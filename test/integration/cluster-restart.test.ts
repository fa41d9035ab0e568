import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, expect, it } from "vitest";
import { Connection } from "../../src/cluster/http/connection";
import { loadKubeConfigFile } from "../../src/cluster/testing/kubeconfig";
import { KINDS } from "../../src/core/kinds";
import { systemClock } from "../../src/cluster/system";
import { serviceAccountView } from "../../src/cluster/read/views";
import { Watch } from "../../src/cluster/watch/watch";
import { apiOver } from "./cluster-operator";
import { Admin, eventually, keepingLog, keepingMetrics } from "./cluster-world";
import { suiteLab } from "./suite-lab";

// The API server is restarted with a new token signing key: every watch breaks, and the watcher's own token becomes invalid.

const admin = new Admin();
afterAll(() => admin.connection.close());

const RBAC = "/apis/rbac.authorization.k8s.io/v1";

it("a watch recovers from a restart of the API server and from invalid credentials", async () => {
  const namespace = await admin.namespace("restart");
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await admin.create(accounts, { metadata: { name: "watcher" } });
  await admin.create(`${RBAC}/namespaces/${namespace}/rolebindings`, {
    metadata: { name: "watcher" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
    subjects: [{ kind: "ServiceAccount", namespace, name: "watcher" }],
  });
  const mint = async (): Promise<string> => {
    const path = `${accounts}/watcher/token`;
    return (await admin.create<{ status: { token: string } }>(path, { spec: {} })).status.token;
  };
  const cluster = loadKubeConfigFile(suiteLab().kubeconfigPath).getCurrentCluster();
  let token = await mint();
  const connection = new Connection(() => {
    const config = new KubeConfig();
    config.loadFromClusterAndUser(cluster!, { name: "watcher", token });
    return config;
  }, systemClock);
  const metrics = keepingMetrics();
  const context = { api: apiOver(connection), clock: systemClock, random: () => 0.1, log: keepingLog(), metrics };
  const project = serviceAccountView;
  const watch = new Watch(context, {
    resource: KINDS.ServiceAccount,
    namespace,
    project,
    onDelta: () => undefined,
  });
  watch.start();
  try {
    await watch.attempted();
    await admin.create(accounts, { metadata: { name: "before" } });
    await suiteLab().restartApiServer({ newSigningKey: true });
    await admin.delete(`${accounts}/before`);
    await admin.create(accounts, { metadata: { name: "after" } });
    await eventually(
      () => metrics.counted,
      counts => counts.includes("ended unauthorized"),
    );
    expect(metrics.counted).toContain("ended unauthorized");
    expect(watch.views().map(view => view.name)).toContain("before");
    token = await mint();
    const names = (): string[] => watch.views().map(view => view.name);
    const hoped = (found: string[]): boolean => found.includes("after") && !found.includes("before");
    expect(hoped(await eventually(names, hoped, 60_000))).toBe(true);
  } finally {
    await watch.stop();
    connection.close();
  }
});
