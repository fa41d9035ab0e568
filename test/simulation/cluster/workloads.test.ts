import { describe, expect, it } from "vitest";
import { install } from "./install";
import { breakRollout, edit, limitPods, refusePods, rollOut } from "../world/people";
import { MINUTE, testCluster } from "./testing";
import { isReady, type Obj } from "../server/objects";
import type { Store } from "../server/store";

const names = (list: readonly Obj[]): string[] => list.map(({ metadata }) => metadata.name);
const status = (store: Store, resource: string, name: string): unknown => store.get(resource, "shop", name)?.["status"];

describe("Deployments", () => {
  it("roll out within maxSurge and maxUnavailable, and say when it is done", async () => {
    const { clock, store, cluster } = testCluster();
    const web = { resource: "deployments", namespace: "shop", name: "web" };
    install(cluster, { kind: "Deployment", namespace: "shop", name: "web", program: "client-go-new", replicas: 4 });
    await clock.run(MINUTE);
    const before = names(store.list("pods", "shop"));
    let [most, least] = [0, 99];
    store.subscribe("pods", () => {
      const pods = store.list("pods", "shop").filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      most = Math.max(most, pods.length);
      least = Math.min(least, pods.filter(isReady).length);
    });
    rollOut(cluster, web);
    await clock.run(4 * MINUTE);
    expect(status(store, "deployments", "web")).toMatchObject({ replicas: 4, updatedReplicas: 4, readyReplicas: 4 });
    expect(names(store.list("pods", "shop")).filter(name => before.includes(name))).toEqual([]);
    // The ReplicaSet controller may create a new pod before it deletes an old one.
    expect([most <= 6, least]).toEqual([true, 3]);
  });

  it("keep old pods beside a rollout that breaks, miss their deadline, and come back", async () => {
    const { clock, store, cluster } = testCluster();
    const web = { resource: "deployments", namespace: "shop", name: "web" };
    install(cluster, {
      ...{ kind: "Deployment", namespace: "shop", name: "web", replicas: 4 },
      program: "kopf",
      progressDeadlineSeconds: 120,
    });
    await clock.run(MINUTE);
    const repair = breakRollout(cluster, web, "registry.example/none:1");
    await clock.run(6 * MINUTE);
    expect(status(store, "deployments", "web")).toMatchObject({ readyReplicas: 3, updatedReplicas: 2 });
    const conditions = (status(store, "deployments", "web") as { conditions: { type: string }[] }).conditions;
    expect(conditions).toContainEqual(
      expect.objectContaining({ type: "Progressing", reason: "ProgressDeadlineExceeded" }),
    );
    repair();
    await clock.run(9 * MINUTE);
    expect(status(store, "deployments", "web")).toMatchObject({ replicas: 4, readyReplicas: 4, updatedReplicas: 4 });
  });

  it("get no pods while a quota or a webhook refuses them", async () => {
    const { clock, store, cluster } = testCluster();
    install(cluster, { kind: "Deployment", namespace: "shop", name: "web", program: "kopf", replicas: 2 });
    await clock.run(MINUTE);
    const lift = limitPods(cluster, "shop", 1);
    for (const name of names(store.list("pods", "shop"))) store.delete("pods", "shop", name);
    await clock.run(3 * MINUTE);
    expect(store.list("pods", "shop")).toHaveLength(1);
    const allow = refusePods(cluster, "shop");
    lift();
    await clock.run(6 * MINUTE);
    expect(store.list("pods", "shop")).toHaveLength(1);
    allow();
    await clock.run(9 * MINUTE);
    expect(store.list("pods", "shop")).toHaveLength(2);
  });
});

describe("StatefulSets", () => {
  it("replace one pod after the other, the last first", async () => {
    const { clock, store, cluster } = testCluster();
    install(cluster, { kind: "StatefulSet", namespace: "shop", name: "db", program: "fabric8", replicas: 3 });
    await clock.run(2 * MINUTE);
    expect(names(store.list("pods", "shop"))).toEqual(["db-0", "db-1", "db-2"]);
    const gone: string[] = [];
    store.subscribe("pods", ({ type, object }) => type === "DELETED" && gone.push(object.metadata.name));
    rollOut(cluster, { resource: "statefulsets", namespace: "shop", name: "db" });
    await clock.run(5 * MINUTE);
    expect(gone).toEqual(["db-2", "db-1", "db-0"]);
    const { currentRevision, updateRevision } = status(store, "statefulsets", "db") as Record<string, string>;
    expect(currentRevision).toBe(updateRevision);
  });

  it("with OnDelete leave their pods alone, and replace a deleted one by the new template", async () => {
    const { clock, store, cluster } = testCluster();
    install(cluster, {
      ...{ kind: "StatefulSet", namespace: "shop", name: "db", replicas: 2 },
      program: "kopf",
      updateStrategy: "OnDelete",
    });
    await clock.run(2 * MINUTE);
    rollOut(cluster, { resource: "statefulsets", namespace: "shop", name: "db" });
    await clock.run(4 * MINUTE);
    expect(status(store, "statefulsets", "db")).toMatchObject({ updatedReplicas: 0, readyReplicas: 2 });
    store.delete("pods", "shop", "db-0");
    await clock.run(6 * MINUTE);
    expect(status(store, "statefulsets", "db")).toMatchObject({ updatedReplicas: 1, readyReplicas: 2 });
  });
});

describe("DaemonSets", () => {
  it("have a pod on each node, also on one that joins", async () => {
    const { clock, store, cluster } = testCluster();
    install(cluster, { kind: "DaemonSet", namespace: "shop", name: "agent", program: "client-go-middle" });
    await clock.run(MINUTE);
    expect(status(store, "daemonsets", "agent")).toMatchObject({ desiredNumberScheduled: 3, numberReady: 3 });
    cluster.addNode("node-4");
    await clock.run(2 * MINUTE);
    expect(status(store, "daemonsets", "agent")).toMatchObject({ desiredNumberScheduled: 4, numberReady: 4 });
    cluster.removeNode("node-1");
    await clock.run(4 * MINUTE);
    expect(status(store, "daemonsets", "agent")).toMatchObject({ desiredNumberScheduled: 3, numberReady: 3 });
  });

  it("lose the pods that a backup has on a node that is gone", async () => {
    const { clock, store, cluster } = testCluster();
    cluster.addNamespace("shop");
    const metadata = { namespace: "shop", name: "agent-old" };
    store.create("pods", { metadata, spec: { nodeName: "node-9", containers: [{ name: "main" }] } });
    cluster.catchUp();
    await clock.run(MINUTE);
    expect(store.list("pods", "shop")).toEqual([]);
  });

  it("roll out node by node", async () => {
    const { clock, store, cluster } = testCluster();
    install(cluster, { kind: "DaemonSet", namespace: "shop", name: "agent", program: "client-go-middle" });
    await clock.run(MINUTE);
    let least = 3;
    store.subscribe("pods", () => {
      least = Math.min(least, store.list("pods", "shop").filter(isReady).length);
    });
    rollOut(cluster, { resource: "daemonsets", namespace: "shop", name: "agent" });
    await clock.run(5 * MINUTE);
    expect(status(store, "daemonsets", "agent")).toMatchObject({ updatedNumberScheduled: 3, numberReady: 3 });
    expect(least).toBe(2);
  });
});

describe("PodDisruptionBudgets", () => {
  it.each([
    [{ minAvailable: 2 }, 1],
    [{ minAvailable: "100%" }, 0],
    [{ maxUnavailable: 1 }, 1],
    [{ maxUnavailable: "50%" }, 2],
    [{ maxUnavailable: 0 }, 0],
  ])("with %j allow %i disruptions of three pods", async (spec, allowed) => {
    const { clock, store, cluster } = testCluster();
    install(cluster, { kind: "Deployment", namespace: "shop", name: "web", program: "kopf", replicas: 3 });
    store.create("poddisruptionbudgets", {
      metadata: { namespace: "shop", name: "web" },
      spec: { ...spec, selector: { matchLabels: { app: "web" } } },
    });
    await clock.run(MINUTE);
    expect(status(store, "poddisruptionbudgets", "web")).toMatchObject({
      disruptionsAllowed: allowed,
      expectedPods: 3,
      currentHealthy: 3,
    });
  });
});

describe("nodes and namespaces", () => {
  it("show the pods of a lost node as not Ready, and replace them after five minutes", async () => {
    const { clock, store, cluster } = testCluster();
    install(cluster, { kind: "Deployment", namespace: "shop", name: "web", program: "kopf", replicas: 3 });
    await clock.run(MINUTE);
    cluster.loseNode("node-1");
    await clock.run(3 * MINUTE);
    const lost = store.list("pods", "shop").filter(({ spec }) => (spec as { nodeName: string }).nodeName === "node-1");
    expect(lost.map(isReady)).toEqual([false]);
    expect(cluster.truths().filter(({ state }) => state === "unreachable")).toHaveLength(1);
    await clock.run(9 * MINUTE);
    expect(status(store, "deployments", "web")).toMatchObject({ readyReplicas: 3 });
    expect(store.list("pods", "shop").filter(({ metadata }) => metadata.deletionTimestamp !== undefined)).toHaveLength(
      1,
    );
    cluster.regainNode("node-1");
    await clock.run(10 * MINUTE);
    expect(store.list("pods", "shop")).toHaveLength(3);
  });

  it("empty a namespace that is deleted", async () => {
    const { clock, store, cluster } = testCluster();
    install(cluster, {
      kind: "Deployment",
      namespace: "shop",
      name: "web",
      program: "client-go-new",
      leaseSeconds: 15,
    });
    await clock.run(MINUTE);
    store.delete("namespaces", undefined, "shop");
    await clock.run(3 * MINUTE);
    expect(
      ["namespaces", "pods", "leases", "serviceaccounts"].map(resource =>
        store.list(resource).filter(({ metadata }) => (metadata.namespace ?? metadata.name) === "shop"),
      ),
    ).toEqual([[], [], [], []]);
    expect(cluster.truths()).toEqual([]);
  });

  it("collect what a deleted workload owns, and scale one to zero", async () => {
    const { clock, store, cluster } = testCluster();
    install(cluster, { kind: "Deployment", namespace: "shop", name: "web", program: "kopf", replicas: 2 });
    install(cluster, { kind: "Deployment", namespace: "shop", name: "api", program: "kopf", replicas: 2 });
    await clock.run(MINUTE);
    const gone: string[] = [];
    store.subscribe("replicasets", ({ type, object }) => type === "DELETED" && gone.push(object.metadata.name));
    store.delete("deployments", "shop", "web");
    edit(
      cluster,
      { resource: "deployments", namespace: "shop", name: "api" },
      draft => void ((draft["spec"] as { replicas: number }).replicas = 0),
    );
    await clock.run(3 * MINUTE);
    expect(store.list("pods", "shop")).toEqual([]);
    expect(gone.map(name => name.slice(0, 4))).toEqual(["web-"]);
  });
});
