import { ImmediateRounds } from "../../src/core/testing/immediate-rounds";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Connection } from "../../src/cluster/http/connection";
import { cachedReaders } from "../../src/cluster/read/cached-readers";
import { ApiLogReader } from "../../src/cluster/read/log-reader";
import { clusterReaders } from "../../src/cluster/read/readers";
import { systemClock, systemRandom } from "../../src/cluster/system";
import { Informers } from "../../src/cluster/watch/informers";
import { OwnWatch } from "../../src/cluster/watch/own-objects";
import type { Readers } from "../../src/core/readers";
import type { ClusterKind } from "../../src/core/views";
import { apiOver, clientWith, RULES } from "./cluster-operator";
import { eventually } from "../cluster/admin";
import { keepingLog, keepingMetrics } from "./cluster-world";
import { suiteAdmin } from "./suite-lab";

// The caches of a real API server must have what live reads return: only then does a pass on caches conclude what a live one would.

const CLUSTER_KINDS: readonly ClusterKind[] = ["FlowSchema", "PriorityLevelConfiguration"];

const CLUSTER_RULES = [
  {
    apiGroups: ["flowcontrol.apiserver.k8s.io"],
    resources: ["flowschemas", "prioritylevelconfigurations"],
    verbs: ["list", "watch"],
  },
  {
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["rolebindings", "clusterrolebindings"],
    verbs: ["get", "list", "watch"],
  },
];

const admin = suiteAdmin();
let connection: Connection;
let namespace: string;

beforeAll(async () => {
  namespace = await admin.namespace("caches");
  connection = await clientWith(admin, namespace, [...RULES, ...CLUSTER_RULES]);
});

afterAll(() => {
  for (const each of [connection, admin.connection]) each.close();
});

const contextOf = (log = keepingLog()) => ({
  ...{ api: apiOver(connection), clock: systemClock, random: systemRandom, log, metrics: keepingMetrics() },
});

const template = (app: string): object => ({
  metadata: { labels: { app } },
  spec: { serviceAccountName: "kai", containers: [{ name: "main", image: "none" }] },
});

const workload = (name: string, spec: object): object => ({
  metadata: { name },
  spec: { selector: { matchLabels: { app: name } }, template: template(name), ...spec },
});

it("the cached readers return what live reads return", async () => {
  const context = contextOf();
  const informers = new Informers(context, { onWake: () => undefined });
  const live = clusterReaders({
    ...{ ...context, informers, logs: new ApiLogReader(context) },
    rounds: new ImmediateRounds(systemClock),
  });
  const objects = new OwnWatch(context, "ControllerResilience", () => undefined);
  const cached = cachedReaders(live, informers, objects);
  const apps = `/apis/apps/v1/namespaces/${namespace}`;
  try {
    objects.start();
    await objects.attempted();
    await admin.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: "kai" } });
    for (const name of ["c", "a", "b"]) await admin.create(`${apps}/deployments`, workload(name, { replicas: 2 }));
    await admin.create(`${apps}/statefulsets`, workload("set", { serviceName: "set" }));
    await admin.create(`${apps}/daemonsets`, workload("agent", {}));
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`;
    await admin.create(rbac, { metadata: { name: "kai", annotations: { a: "b" } }, roleRef, subjects: [] });
    const reads: ((readers: Readers) => Promise<unknown>)[] = [
      readers => readers.workloads("Deployment", namespace),
      readers => readers.workload("StatefulSet", namespace, "set"),
      readers => readers.workload("StatefulSet", namespace, "none"),
      readers => readers.daemonSet(namespace, "agent"),
      readers => readers.serviceAccount(namespace, "kai"),
      readers => readers.binding("RoleBinding", namespace, "kai"),
      readers => readers.binding("ClusterRoleBinding", namespace, "cluster-admin"),
      readers => readers.objects(namespace),
      ...CLUSTER_KINDS.map(kind => (readers: Readers) => readers.clusterObjects(kind)),
    ];
    const compare = async (): Promise<void> => {
      for (const read of reads) {
        // Controllers write status meanwhile, so both are read again until they agree.
        const both = (): Promise<unknown[]> => Promise.all([read(cached), read(live)]);
        const [seen, expected] = await eventually(both, ([a, b]) => JSON.stringify(a) === JSON.stringify(b));
        expect(seen).toEqual(expected);
      }
    };
    await compare();
    await admin.patch(`${apps}/deployments/a`, { spec: { replicas: 0 } });
    await admin.delete(`${apps}/deployments/b`);
    await compare();
    expect((await cached.workloads("Deployment", namespace)).map(({ name, replicas }) => [name, replicas])).toEqual([
      ["a", 0],
      ["c", 2],
    ]);
  } finally {
    await objects.stop();
    await informers.stop();
  }
});
