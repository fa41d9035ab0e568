import { describe, expect, it } from "vitest";
import { classify } from "../../../src/logs/classifier";
import { install } from "./install";
import { MINUTE, recreate, testCluster } from "./testing";

describe("a Deployment", () => {
  it("has Ready pods with a token after half a minute", async () => {
    const { clock, store, cluster } = testCluster();
    install(cluster, { kind: "Deployment", namespace: "shop", name: "web", program: "client-go-new", replicas: 3 });
    await clock.run(MINUTE / 2);
    expect(store.get("deployments", "shop", "web")?.["status"]).toMatchObject({ readyReplicas: 3, updatedReplicas: 3 });
    expect(cluster.truths().map(({ state, workload }) => [state, workload])).toEqual([
      ["works", "Deployment/web"],
      ["works", "Deployment/web"],
      ["works", "Deployment/web"],
    ]);
  });

  it("replaces a pod that is deleted", async () => {
    const { clock, store, cluster } = testCluster();
    install(cluster, { kind: "Deployment", namespace: "shop", name: "web", program: "client-go-new" });
    await clock.run(MINUTE);
    const before = store.list("pods", "shop")[0]!;
    store.delete("pods", "shop", before.metadata.name);
    await clock.run(2 * MINUTE);
    expect(store.list("pods", "shop").map(({ metadata }) => metadata.uid)).not.toContain(before.metadata.uid);
    expect(store.get("deployments", "shop", "web")?.["status"]).toMatchObject({ readyReplicas: 1 });
  });
});

describe("a program whose ServiceAccount was recreated", () => {
  it("logs 401s and is healed by a new pod", async () => {
    const { clock, store, cluster } = testCluster();
    install(cluster, {
      kind: "Deployment",
      namespace: "shop",
      name: "web",
      program: "client-go-new",
      leaseSeconds: 15,
    });
    await clock.run(5 * MINUTE);
    recreate(store, "shop", "web");
    await clock.run(7 * MINUTE);
    const [truth] = cluster.truths();
    expect(truth).toMatchObject({ state: "token-dead", cause: "service-account-recreated", healedByRestart: true });
    expect(clock.monotonicMs() - truth!.sinceMs).toBe(2 * MINUTE);
    const pod = store.list("pods", "shop")[0]!;
    const classes = cluster.logs(pod, "main", { tailLines: 20 })!.trimEnd().split("\n").map(classify);
    expect(classes).toContain("unauthorized");
    store.delete("pods", "shop", pod.metadata.name);
    await clock.run(8 * MINUTE);
    expect(cluster.truths().map(({ state }) => state)).toEqual(["works"]);
  });

  it("works again when the kubelet has renewed the token and the client reads it", async () => {
    const { clock, store, cluster } = testCluster();
    install(cluster, { kind: "Deployment", namespace: "shop", name: "web", program: "client-go-new" });
    install(cluster, { kind: "Deployment", namespace: "shop", name: "once", program: "copies-token" });
    await clock.run(5 * MINUTE);
    recreate(store, "shop", "web");
    recreate(store, "shop", "once");
    await clock.run(40 * MINUTE);
    expect(cluster.truths().map(({ name, state }) => [name.slice(0, 3), state])).toEqual([
      ["onc", "token-dead"],
      ["web", "token-dead"],
    ]);
    await clock.run(60 * MINUTE);
    expect(cluster.truths().map(({ name, state }) => [name.slice(0, 3), state])).toEqual([
      ["onc", "token-dead"],
      ["web", "works"],
    ]);
  });

  it("is not healed while the ServiceAccount is missing", async () => {
    const { clock, store, cluster } = testCluster();
    install(cluster, { kind: "Deployment", namespace: "shop", name: "web", program: "kopf" });
    await clock.run(MINUTE);
    store.delete("serviceaccounts", "shop", "web");
    await clock.run(2 * MINUTE);
    expect(cluster.truths()).toMatchObject([
      { state: "token-dead", cause: "service-account-missing", healedByRestart: false },
    ]);
    store.delete("pods", "shop", store.list("pods", "shop")[0]!.metadata.name);
    await clock.run(4 * MINUTE);
    expect(store.list("pods", "shop")).toEqual([]);
    expect(store.list("events", "shop").map(({ reason }) => reason as string)).toContain("FailedCreate");
  });
});
