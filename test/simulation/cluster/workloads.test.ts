import { describe, expect, it } from "vitest";
import { isReady } from "../server/objects";
import { breakRollout, edit, limitPods, refusePods, rollOut } from "../world/people";
import { install } from "./install";
import { MINUTE, testCluster, withWorkload } from "./testing";

describe("Deployments", () => {
  it("roll out within maxSurge and maxUnavailable, and say when it is done", async () => {
    const { store, cluster, ref, status, pods, names, runTo } = withWorkload("web", { replicas: 4 });
    await runTo(1);
    const before = names();
    let [most, least] = [0, 99];
    store.subscribe("pods", () => {
      const alive = pods().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      most = Math.max(most, alive.length);
      least = Math.min(least, alive.filter(isReady).length);
    });
    rollOut(cluster, ref);
    await runTo(4);
    expect(status()).toMatchObject({ replicas: 4, updatedReplicas: 4, readyReplicas: 4 });
    expect(names().filter(name => before.includes(name))).toEqual([]);
    // The ReplicaSet controller may create a new pod before it deletes an old one.
    expect([most <= 6, least]).toEqual([true, 3]);
  });

  it("run another program in some of their pods", async () => {
    const { status, runTo } = withWorkload("web", { shard: "never-ready", replicas: 10 });
    await runTo(1);
    expect(status()).toMatchObject({ replicas: 10, readyReplicas: 3 });
  });

  it("keep old pods beside a rollout that breaks, miss their deadline, and come back", async () => {
    const { cluster, ref, status, runTo } = withWorkload("web", { replicas: 4, progressDeadlineSeconds: 120 });
    await runTo(1);
    const repair = breakRollout(cluster, ref, "registry.example/none:1");
    await runTo(6);
    expect(status()).toMatchObject({ readyReplicas: 3, updatedReplicas: 2 });
    const progressing = status()?.conditions?.find(({ type }) => type === "Progressing");
    expect(progressing?.reason).toBe("ProgressDeadlineExceeded");
    repair();
    await runTo(9);
    expect(status()).toMatchObject({ replicas: 4, readyReplicas: 4, updatedReplicas: 4 });
  });

  it("get no pods while a quota or a webhook refuses them", async () => {
    const { cluster, names, deletePod, runTo } = withWorkload("web", { replicas: 2 });
    await runTo(1);
    const lift = limitPods(cluster, "shop", 1);
    names().forEach(deletePod);
    await runTo(3);
    expect(names()).toHaveLength(1);
    const allow = refusePods(cluster, "shop");
    lift();
    await runTo(6);
    expect(names()).toHaveLength(1);
    allow();
    await runTo(9);
    expect(names()).toHaveLength(2);
  });
});

describe("StatefulSets", () => {
  const set = (more: object) => withWorkload("db", { kind: "StatefulSet", ...more });

  it("replace one pod after the other, the last first", async () => {
    const { store, cluster, ref, status, names, runTo } = set({ replicas: 3 });
    await runTo(2);
    expect(names()).toEqual(["db-0", "db-1", "db-2"]);
    const gone: string[] = [];
    store.subscribe("pods", ({ type, object }) => type === "DELETED" && gone.push(object.metadata.name));
    rollOut(cluster, ref);
    await runTo(5);
    expect(gone).toEqual(["db-2", "db-1", "db-0"]);
    expect(status()?.currentRevision).toBe(status()?.["updateRevision"]);
  });

  it("with OnDelete leave their pods alone, and replace a deleted one by the new template", async () => {
    const { cluster, ref, status, deletePod, runTo } = set({ replicas: 2, updateStrategy: "OnDelete" });
    await runTo(2);
    rollOut(cluster, ref);
    await runTo(4);
    expect(status()).toMatchObject({ updatedReplicas: 0, readyReplicas: 2 });
    deletePod("db-0");
    await runTo(6);
    expect(status()).toMatchObject({ updatedReplicas: 1, readyReplicas: 2 });
  });
});

describe("DaemonSets", () => {
  it("have a pod on each node, also on one that joins", async () => {
    const { cluster, status, runTo } = withWorkload("agent", { kind: "DaemonSet" });
    await runTo(1);
    expect(status()).toMatchObject({ desiredNumberScheduled: 3, numberReady: 3 });
    cluster.addNode("node-4");
    await runTo(2);
    expect(status()).toMatchObject({ desiredNumberScheduled: 4, numberReady: 4 });
    cluster.removeNode("node-1");
    await runTo(4);
    expect(status()).toMatchObject({ desiredNumberScheduled: 3, numberReady: 3 });
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
    const { store, cluster, ref, status, pods, runTo } = withWorkload("agent", { kind: "DaemonSet" });
    await runTo(1);
    let least = 3;
    store.subscribe("pods", () => void (least = Math.min(least, pods().filter(isReady).length)));
    rollOut(cluster, ref);
    await runTo(5);
    expect(status()).toMatchObject({ updatedNumberScheduled: 3, numberReady: 3 });
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
  ])("with %j allow %i disruptions of three pods", async (spec, disruptionsAllowed) => {
    const { store, create, runTo } = withWorkload("web", { replicas: 3 });
    create("poddisruptionbudgets", { ...spec, selector: { matchLabels: { app: "web" } } });
    await runTo(1);
    const counts = { disruptionsAllowed, expectedPods: 3, currentHealthy: 3 };
    expect(store.get("poddisruptionbudgets", "shop", "web")?.status).toMatchObject(counts);
  });
});

describe("nodes and namespaces", () => {
  it("show the pods of a lost node as not Ready, and replace them after five minutes", async () => {
    const { cluster, status, pods, runTo } = withWorkload("web", { replicas: 3 });
    await runTo(1);
    cluster.loseNode("node-1");
    await runTo(3);
    const lost = pods().filter(({ spec }) => spec?.nodeName === "node-1");
    expect(lost.map(isReady)).toEqual([false]);
    expect(cluster.truths().filter(({ state }) => state === "unreachable")).toHaveLength(1);
    await runTo(9);
    expect(status()).toMatchObject({ readyReplicas: 3 });
    expect(pods().filter(({ metadata }) => metadata.deletionTimestamp !== undefined)).toHaveLength(1);
    cluster.regainNode("node-1");
    await runTo(10);
    expect(pods()).toHaveLength(3);
  });

  it("empty a namespace that is deleted", async () => {
    const { store, cluster, runTo } = withWorkload("web", { program: "client-go-new", leaseSeconds: 15 });
    await runTo(1);
    store.delete("namespaces", undefined, "shop");
    await runTo(3);
    const left = ["namespaces", "pods", "leases", "serviceaccounts"].flatMap(resource => store.list(resource));
    expect(left.filter(({ metadata }) => (metadata.namespace ?? metadata.name) === "shop")).toEqual([]);
    expect(cluster.truths()).toEqual([]);
  });

  it("collect what a deleted workload owns, and scale one to zero", async () => {
    const { store, cluster, plan, ref, names, runTo } = withWorkload("web", { replicas: 2 });
    install(cluster, { ...plan, name: "api" });
    await runTo(1);
    const gone: string[] = [];
    store.subscribe("replicasets", ({ type, object }) => type === "DELETED" && gone.push(object.metadata.name));
    store.delete("deployments", "shop", "web");
    edit(cluster, { ...ref, name: "api" }, draft => void (draft.spec!.replicas = 0));
    await runTo(3);
    expect(names()).toEqual([]);
    expect(gone.map(name => name.slice(0, 4))).toEqual(["web-"]);
  });
});
