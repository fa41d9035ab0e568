import { afterEach, describe, expect, it } from "vitest";
import { ForbiddenError, TransientError } from "../../core/errors";
import { settle } from "../../core/testing/fake-clock";
import { InformerWorld } from "../testing/informer-world";

const DEPLOYMENTS = "/apis/apps/v1/deployments";
const ACCOUNTS = "/api/v1/serviceaccounts";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";

let world: InformerWorld;
afterEach(() => world.informers.stop());

const object = (namespace: string | undefined, name: string, resourceVersion = "1", more: object = {}): object => ({
  metadata: {
    ...{ uid: `${namespace}-${name}`, namespace, name, resourceVersion, creationTimestamp: "2025-01-01T00:00:00Z" },
  },
  ...more,
});

const binding = (namespace: string | undefined, ...subjects: string[]): object =>
  object(namespace, "b", "1", {
    roleRef: { kind: "ClusterRole", name: "view" },
    subjects: subjects.map(namespace => ({ kind: "ServiceAccount", name: "it", namespace })),
  });

describe("a reader of all namespaces", () => {
  it("reads each kind with one watch, from the first read on, and ends them", async () => {
    world = new InformerWorld();
    world.items.set(DEPLOYMENTS, [object("a", "web"), object("b", "web"), object("b", "api")]);
    world.items.set(ACCOUNTS, [object("b", "it")]);
    world.items.set(`${RBAC}/rolebindings`, [binding("b")]);
    world.items.set(`${RBAC}/clusterrolebindings`, [binding(undefined, "b")]);
    const all = world.informers.watchAllNamespaces();
    await settle();
    expect(world.open.size).toBe(0);
    const deployments = await all.workloads("Deployment");
    expect(deployments.viewsOf("b").map(({ name }) => name)).toEqual(["web", "api"]);
    expect([deployments.viewsOf("none"), deployments.views().length]).toEqual([[], 3]);
    expect(deployments.find("a", "web")?.uid).toBe("a-web");
    expect((await all.serviceAccounts()).viewsOf("b")).toHaveLength(1);
    expect((await all.bindings("RoleBinding")).viewsOf("b")).toHaveLength(1);
    expect((await all.bindings("ClusterRoleBinding")).views()).toHaveLength(1);
    await all.workloads("DaemonSet");
    await settle();
    expect(world.open.size).toBe(5);
    expect(world.informers.namespaces()).toEqual([]);
    all.stop();
    await settle();
    expect(world.open.size).toBe(0);
    await expect(all.workloads("Deployment")).rejects.toThrow("deployments of all namespaces: not watched");
  });

  it("shares its watches with the namespaces of ControllerResiliences, which keep them", async () => {
    world = new InformerWorld();
    world.informers.setNamespaces(new Set(["a"]));
    await world.informers.workloads("Deployment", "a");
    await settle();
    const all = world.informers.watchAllNamespaces();
    await all.workloads("Deployment");
    await settle();
    expect([...world.open].sort()).toEqual(["/api/v1/namespaces/a/pods", ACCOUNTS, DEPLOYMENTS]);
    expect(await world.say(DEPLOYMENTS, "ADDED", object("a", "web"))).toEqual(["a"]);
    expect((await world.informers.workloads("Deployment", "a")).views()).toHaveLength(1);
    expect(await world.say(DEPLOYMENTS, "ADDED", object("b", "web"))).toEqual([]);
    all.stop();
    all.stop();
    await world.clock.run(60_000);
    expect([...world.open].sort()).toEqual([
      "/api/v1/namespaces/a/pods",
      "/api/v1/namespaces/a/serviceaccounts",
      "/apis/apps/v1/namespaces/a/deployments",
    ]);
    expect((await world.informers.workloads("Deployment", "a")).views()).toEqual([]);
  });

  it("is told of each namespace with a change, of pods not", async () => {
    world = new InformerWorld();
    world.items.set(DEPLOYMENTS, [object("a", "web")]);
    world.informers.setNamespaces(new Set(["a"]));
    const all = world.informers.watchAllNamespaces();
    const told: string[] = [];
    const cancel = all.onNamespaceChange(namespace => void told.push(namespace));
    await all.workloads("Deployment");
    await all.serviceAccounts();
    await all.bindings("RoleBinding");
    await all.bindings("ClusterRoleBinding");
    await settle();
    const say = async (path: string, one: object): Promise<string[]> => {
      told.length = 0;
      await world.say(path, "MODIFIED", one);
      return [...told];
    };
    expect(told).toEqual(["a"]);
    expect(await say(DEPLOYMENTS, object("b", "web"))).toEqual(["b"]);
    expect(await say(DEPLOYMENTS, object("b", "web", "2"))).toEqual([]);
    expect(await say(ACCOUNTS, object("c", "it"))).toEqual(["c"]);
    expect(await say(`${RBAC}/rolebindings`, binding("d", "a"))).toEqual(["d"]);
    expect(await say(`${RBAC}/clusterrolebindings`, binding(undefined, "e", "f"))).toEqual(["e", "f"]);
    expect(await say("/api/v1/pods", object("a", "p"))).toEqual([]);
    cancel();
    expect(await say(DEPLOYMENTS, object("b", "web", "3", { spec: { replicas: 5 } }))).toEqual([]);
  });

  it("gets the error of a kind that it may not read, and only of that", async () => {
    world = new InformerWorld();
    world.failures.set(DEPLOYMENTS, new ForbiddenError("deployments is forbidden"));
    const all = world.informers.watchAllNamespaces();
    await expect(all.workloads("Deployment")).rejects.toThrow(ForbiddenError);
    await expect(all.workloads("Deployment")).rejects.toThrow("deployments is forbidden");
    expect((await all.serviceAccounts()).views()).toEqual([]);
    expect(world.lists).toHaveLength(2);
    world.failures.clear();
    await world.clock.run(600_000);
    expect((await all.workloads("Deployment")).views()).toEqual([]);
  });

  it("waits for a first list, for some seconds, and ends with the operator", async () => {
    world = new InformerWorld();
    world.held.add(DEPLOYMENTS);
    const all = world.informers.watchAllNamespaces();
    const read = all.workloads("Deployment");
    await world.clock.run(5_000);
    const cache = await read;
    expect(() => cache.viewsOf("a")).toThrow(TransientError);
    await world.release(DEPLOYMENTS);
    expect(cache.viewsOf("a")).toEqual([]);
    await world.informers.stop();
    await expect(all.workloads("Deployment")).rejects.toThrow("stopping");
    expect([world.open.size, world.clock.pendingTimers]).toEqual([0, 0]);
  });
});
