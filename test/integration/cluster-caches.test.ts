import { ImmediateRounds } from "../../src/core/testing/immediate-rounds";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ControllerResilience } from "../../src/api/controller-resilience";
import type { Connection } from "../../src/cluster/http/connection";
import { cachedReaders } from "../../src/cluster/read/cached-readers";
import { OwnIdentity } from "../../src/cluster/http/own-identity";
import { ApiLogReader } from "../../src/cluster/read/log-reader";
import { ClusterReaders } from "../../src/cluster/read/readers";
import { systemClock, systemRandom } from "../../src/cluster/system";
import { Informers } from "../../src/cluster/watch/informers";
import { OwnWatch } from "../../src/cluster/watch/own-objects";
import { ApiObjectStore } from "../../src/cluster/write/object-store";
import type { Readers } from "../../src/core/readers";
import type { ClusterKind } from "../../src/core/views";
import { apiOver, clientWith, RULES } from "./cluster-operator";
import { metricLines } from "../../src/cluster/measure/metrics";
import { Admin, eventually, keepingLog, keepingMetrics } from "./cluster-world";

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

const admin = new Admin();
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

describe("the cached objects", () => {
  const path = (): string => `/apis/controller-resilience.io/v1alpha1/namespaces/${namespace}/controllerresiliences`;

  it("are what a live read returns, and never older than what was written", async () => {
    const changed: string[] = [];
    const objects = new OwnWatch(contextOf(), "ControllerResilience", key => void changed.push(key));
    const store = new ApiObjectStore(apiOver(connection), undefined, objects);
    const key = `${namespace}/one`;
    try {
      objects.start();
      await admin.create(path(), {
        apiVersion: "controller-resilience.io/v1alpha1",
        kind: "ControllerResilience",
        metadata: { name: "one", labels: { a: "b" }, annotations: { a: "b" } },
        spec: { targets: [{ kind: "Deployment", name: "a" }], tokenRestart: {} },
      });
      const first = await eventually(
        () => store.cached(key),
        object => object !== undefined,
      );
      expect(first).toEqual(await store.get(key));
      expect(store.cachedKeys()).toContain(key);
      expect(changed).toContain(key);
      let object = first as ControllerResilience;
      for (let observedGeneration = 1; observedGeneration <= 20; observedGeneration++) {
        const resourceVersion = await store.writeStatus(object, { observedGeneration });
        expect([undefined, resourceVersion]).toContain(store.cached(key)?.metadata.resourceVersion);
        object = { ...object, metadata: { ...object.metadata, resourceVersion } };
      }
      const isLast = (cached: ControllerResilience | undefined): boolean => cached?.status?.observedGeneration === 20;
      expect(await eventually(() => store.cached(key), isLast)).toEqual(await store.get(key));
      expect(changed.filter(other => other === key)).toHaveLength(1);
      await admin.delete(`${path()}/one`);
      expect(await store.get(key)).toBeNull();
      expect(store.cached(key)).toBeUndefined();
      const isGone = (keys: readonly string[] | undefined): boolean => keys?.includes(key) === false;
      expect(isGone(await eventually(() => store.cachedKeys(), isGone))).toBe(true);
    } finally {
      await objects.stop();
    }
  });
});

describe("the cached readers", () => {
  it("return what live reads return", async () => {
    const context = contextOf();
    const informers = new Informers(context, { onWake: () => undefined });
    const live = new ClusterReaders({
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

  it("read live without the right to watch", async () => {
    const weak = await clientWith(admin, namespace, [
      { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get"] },
    ]);
    const context = { ...contextOf(), api: apiOver(weak) };
    const informers = new Informers(context, { onWake: () => undefined });
    const live = new ClusterReaders({
      ...{ ...context, informers, logs: new ApiLogReader(context) },
      rounds: new ImmediateRounds(systemClock),
    });
    try {
      await admin.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, workload("weak", { replicas: 0 }));
      const readers = cachedReaders(live, informers, new OwnWatch(context, "ControllerResilience", () => undefined));
      expect(await readers.workload("Deployment", namespace, "weak")).toMatchObject({ name: "weak" });
    } finally {
      await informers.stop();
      weak.close();
    }
  });
});

describe("the watches of many namespaces", () => {
  const WATCHED = ["pods", "serviceaccounts", "deployments"];
  const names: string[] = [];

  beforeAll(async () => {
    for (let i = 0; i < 30; i++) names.push(await admin.namespace("together"));
  });

  /** Returns how many watches of these kinds the API server has open, by resource and scope. */
  async function openWatches(): Promise<Record<string, number>> {
    const open: Record<string, number> = {};
    for await (const lines of metricLines({ api: apiOver(admin.connection), clock: systemClock })) {
      for (const line of lines) {
        if (!/^apiserver_longrunning_requests\{.*verb="WATCH"/.test(line)) continue;
        const [resource, scope] = ["resource", "scope"].map(
          label => new RegExp(`[{,]${label}="([^"]*)"`).exec(line)?.[1],
        );
        if (WATCHED.includes(resource ?? "")) open[`${resource} ${scope}`] = Number(line.split(" ").at(-1));
      }
    }
    return open;
  }

  async function more(before: Record<string, number>): Promise<Record<string, number>> {
    const now = await openWatches();
    const changes = [...new Set([...Object.keys(before), ...Object.keys(now)])].map(
      key => [key, (now[key] ?? 0) - (before[key] ?? 0)] as const,
    );
    return Object.fromEntries(changes.filter(([, count]) => count !== 0));
  }

  it("are one per kind, and miss nothing", async () => {
    const changed: string[] = [];
    const informers = new Informers(contextOf(), { onWake: namespace => void changed.push(namespace) });
    const before = await openWatches();
    const read = (namespace: string): Promise<unknown> =>
      Promise.all([
        informers.pods(namespace),
        informers.cache("ServiceAccount", namespace),
        informers.cache("Deployment", namespace),
      ]);
    const isSame = (expected: object) => (found: object) => {
      const [a, b] = [expected, found].map(counts => JSON.stringify(Object.entries(counts).sort()));
      return a === b;
    };
    try {
      await Promise.all(names.map(read));
      const oneEach = Object.fromEntries(WATCHED.map(resource => [`${resource} cluster`, 1]));
      expect(await eventually(() => more(before), isSame(oneEach))).toEqual(oneEach);
      changed.length = 0;
      const apps = `/apis/apps/v1/namespaces/${names[3]}/deployments`;
      await admin.create(apps, workload("web", { replicas: 0 }));
      const deployments = await eventually(
        async () => (await informers.cache("Deployment", names[3])).views(),
        views => views.length === 1,
      );
      expect(deployments.map(({ name }) => name)).toEqual(["web"]);
      expect((await informers.cache("Deployment", names[4])).views()).toEqual([]);
      expect(changed).toContain(names[3]);
      expect(changed).not.toContain(names[4]);
    } finally {
      await informers.stop();
    }
  });

  it("are one per namespace if namespaces are given, with rights in these only", async () => {
    const weak = await clientWith(admin, namespace, []);
    const informers = new Informers({ ...contextOf(), api: apiOver(weak) }, { onWake: () => undefined }, names);
    const rules = [{ apiGroups: [""], resources: ["pods", "serviceaccounts"], verbs: ["list", "watch"] }];
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    const user = await new OwnIdentity(weak).user();
    const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "watch" };
    try {
      for (const name of names) {
        await admin.create(`${rbac}/namespaces/${name}/roles`, { metadata: { name: "watch" }, rules });
        await admin.create(`${rbac}/namespaces/${name}/rolebindings`, {
          metadata: { name: "watch" },
          roleRef,
          subjects,
        });
      }
      for (const name of names) {
        const pods = await eventually(
          () => informers.pods(name).catch(() => null),
          found => found !== null,
        );
        expect(pods).toEqual([]);
      }
    } finally {
      await informers.stop();
      weak.close();
    }
  });
});
