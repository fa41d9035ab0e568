import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterControllerResilience } from "../../src/api/cluster-controller-resilience";
import { forEach } from "../cluster/for-each";
import { roleBinding } from "../cluster/objects";
import { Usage } from "./scale/usage";
import { waitUntil } from "./scale/waiting";
import { World } from "./scale/world";

const SIZES = [250, 1_000];
const WORKLOADS_PER_NAMESPACE = 5;
const OWNERS = "/apis/controller-resilience.io/v1alpha1/clustercontrollerresiliences";
const LIMIT_MS = 900_000;
const STEADY_MS = 60_000;

const spaceName = (index: number): string => `team-${index}`;

/** What one ClusterControllerResilience over all namespaces costs, by their number: with no quadratic work CPU grows as they do. */
export async function benchClusterWide(print: (line: string) => void): Promise<void> {
  for (const namespaces of SIZES) {
    const world = await World.up({ name: "bench-wide", print });
    try {
      await measure(world, namespaces, print);
    } finally {
      await world.down();
    }
  }
}

async function measure(world: World, namespaces: number, print: (line: string) => void): Promise<void> {
  await forEach(namespaces, index => populate(world, spaceName(index)));
  const operator = world.startOperator();
  const leads = async (): Promise<true | string> => (await operator.leads()) || "it does not lead";
  await waitUntil({ what: "the operator to lead", limitMs: LIMIT_MS, everyMs: 100, look: leads }, print);
  const usage = new Usage(operator.pid);
  const startMs = performance.now();
  await world.admin.create(OWNERS, {
    apiVersion: "controller-resilience.io/v1alpha1",
    kind: "ClusterControllerResilience",
    metadata: { name: "all" },
    spec: { template: { tokenRestart: {} } },
  });
  const wanted = namespaces * WORKLOADS_PER_NAMESPACE;
  await untilProtected(world, wanted, print);
  const seconds = (performance.now() - startMs) / 1000;
  const used = usage.used();
  print(
    `${namespaces} namespaces, ${wanted} workloads: all protected after ${seconds.toFixed(0)} s, ` +
      `${used.cpuSeconds.toFixed(1)} s of CPU, ${((1000 * used.cpuSeconds) / namespaces).toFixed(1)} ms per namespace, ` +
      `${used.peakMiB.toFixed(0)} MiB`,
  );
  await sleep(STEADY_MS);
  const steady = new Usage(operator.pid);
  await sleep(STEADY_MS);
  print(`  then idle: ${steady.used().cpuPercent.toFixed(1)} % of a core`);
  const changedMs = performance.now();
  await addDeployment(world, spaceName(0), "late");
  await untilProtected(world, wanted + 1, print);
  print(`  a new workload is protected, and counted, after ${((performance.now() - changedMs) / 1000).toFixed(1)} s`);
}

function untilProtected(world: World, wanted: number, print: (line: string) => void): Promise<number> {
  const look = async (): Promise<true | string> => {
    const { status } = await world.admin.get<ClusterControllerResilience>(`${OWNERS}/all`);
    return (status?.protected ?? 0) >= wanted || `${status?.protected ?? 0} of ${wanted} protected`;
  };
  return waitUntil({ what: "everything to be protected", limitMs: LIMIT_MS, everyMs: 500, look }, print);
}

async function populate(world: World, name: string): Promise<void> {
  await addNamespace(world, name);
  for (let index = 0; index < WORKLOADS_PER_NAMESPACE; index++) await addDeployment(world, name, `w${index}`);
}

/** Creates a namespace whose ServiceAccount `default` uses the API server. */
async function addNamespace({ admin }: World, name: string): Promise<void> {
  await admin.create("/api/v1/namespaces", { metadata: { name } });
  const reads = { namespace: name, name: "reads" };
  await admin.create(
    `/apis/rbac.authorization.k8s.io/v1/namespaces/${name}/rolebindings`,
    roleBinding(reads, { kind: "ClusterRole", name: "view" }, { namespace: name, name: "default" }),
  );
}

/** Creates a Deployment without replicas. */
async function addDeployment({ admin }: World, namespace: string, name: string): Promise<void> {
  const labels = { app: name };
  const containers = [{ name: "main", image: "example.com/none:1" }];
  await admin.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
    metadata: { name },
    spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  });
}
