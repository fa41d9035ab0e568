import { afterEach, describe, expect, it } from "vitest";
import { TransientError } from "../../core/errors";
import { settle } from "../../core/testing/fake-clock";
import { InformerWorld } from "../testing/informer-world";
import type { Informers } from "./informers";

let informers: Informers | undefined;
afterEach(() => informers?.stop());

const path = (namespace: string, plural: string): string => `/api/v1/namespaces/${namespace}/${plural}`;

describe("informers", () => {
  it("watch the wanted namespaces, and report their changes", async () => {
    const world = new InformerWorld();
    informers = world.informers;
    informers.setNamespaces(new Set(["kai", "flux"]));
    informers.setNamespaces(new Set(["kai", "flux"]));
    await settle();
    expect([...world.open].sort()).toEqual(
      ["flux", "kai"].flatMap(name => [path(name, "pods"), path(name, "serviceaccounts")]),
    );
    expect(world.lists).toHaveLength(4);
    const metadata = {
      uid: "u",
      name: "p",
      namespace: "kai",
      resourceVersion: "2",
      creationTimestamp: "2025-01-01T00:00:00Z",
    };
    const object = { metadata, spec: { nodeName: "n1" } };
    world.streams.get(path("kai", "pods"))?.push(`${JSON.stringify({ type: "ADDED", object })}\n`);
    await settle();
    await settle();
    expect(world.changed).toEqual(["kai"]);
    const push = (changes: object) => {
      const changed = { ...object, metadata: { ...metadata, ...changes } };
      world.streams.get(path("kai", "pods"))?.push(`${JSON.stringify({ type: "MODIFIED", object: changed })}\n`);
      return settle().then(settle);
    };
    await push({ resourceVersion: "3", annotations: { "example.com/heartbeat": "3" } });
    expect(world.changed).toEqual(["kai"]);
    await push({ resourceVersion: "4", labels: { a: "b" } });
    expect(world.changed).toEqual(["kai", "kai"]);
    expect((await informers.pods("kai")).map(pod => pod.name)).toEqual(["p"]);
    expect(await informers.pods("flux")).toEqual([]);
    expect(informers.nodeOf("kai", "p")).toBe("n1");
    expect(informers.nodeOf("flux", "p")).toBeUndefined();
  });

  it("report a namespace once per list, and not again after a relist without changes", async () => {
    const world = new InformerWorld();
    const pods = Array.from({ length: 1_000 }, (_, i) => ({
      metadata: {
        ...{ uid: `u${i}`, name: `p${i}`, namespace: "kai", resourceVersion: `${i}` },
        creationTimestamp: "2025-01-01T00:00:00Z",
      },
    }));
    world.items.set(path("kai", "pods"), pods);
    informers = world.informers;
    informers.ensure("kai");
    await settle();
    expect(world.changed).toEqual(["kai"]);
    expect(await informers.pods("kai")).toHaveLength(1_000);
    const gone = { type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } };
    world.streams.get(path("kai", "pods"))?.push(`${JSON.stringify(gone)}\n`);
    await world.clock.run(60_000);
    expect(world.lists.filter(listed => listed === path("kai", "pods")).length).toBeGreaterThan(1);
    expect(world.changed).toEqual(["kai"]);
  });

  it("stop watching a namespace after a grace period, unless it is wanted again", async () => {
    const world = new InformerWorld();
    informers = world.informers;
    informers.setNamespaces(new Set(["kai", "flux"]));
    await settle();
    informers.setNamespaces(new Set());
    await world.clock.run(59_000);
    expect(world.open.size).toBe(4);
    informers.setNamespaces(new Set(["kai"]));
    await world.clock.run(1_000);
    await settle();
    expect(informers.namespaces()).toEqual(["kai"]);
    expect([...world.open].sort()).toEqual([path("kai", "pods"), path("kai", "serviceaccounts")]);
    await world.clock.run(120_000);
    expect(informers.namespaces()).toEqual(["kai"]);
  });

  it("start to watch a namespace when its pods are read", async () => {
    const world = new InformerWorld();
    informers = world.informers;
    expect(await informers.pods("kai")).toEqual([]);
    expect(informers.namespaces()).toEqual(["kai"]);
  });

  it("watch bindings after the first read, and report the namespaces of a ClusterRoleBinding's subjects", async () => {
    const world = new InformerWorld();
    informers = world.informers;
    informers.setNamespaces(new Set(["kai", "flux"]));
    await settle();
    expect(world.open.size).toBe(4);
    expect(await informers.bindings("RoleBinding", "kai")).toEqual([]);
    expect(await informers.bindings("ClusterRoleBinding", "kai")).toEqual([]);
    expect(await informers.bindings("ClusterRoleBinding", "flux")).toEqual([]);
    await settle();
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    expect([...world.open].filter(path => path.startsWith(rbac)).sort()).toEqual([
      `${rbac}/clusterrolebindings`,
      `${rbac}/namespaces/kai/rolebindings`,
    ]);
    const binding = (namespaces: readonly string[], resourceVersion: string) => ({
      metadata: { uid: "u", name: "b", resourceVersion, creationTimestamp: "2025-01-01T00:00:00Z" },
      roleRef: { kind: "ClusterRole", name: "view" },
      subjects: namespaces.map(namespace => ({ kind: "ServiceAccount", name: "it", namespace })),
    });
    const push = async (type: string, object: object): Promise<void> => {
      world.streams.get(`${rbac}/clusterrolebindings`)?.push(`${JSON.stringify({ type, object })}\n`);
      await settle().then(settle);
    };
    await push("ADDED", binding(["kai", "elsewhere"], "2"));
    expect(world.changed).toEqual(["kai"]);
    await push("MODIFIED", binding(["flux"], "3"));
    expect(world.changed).toEqual(["kai", "kai", "flux"]);
    await push("DELETED", binding(["flux"], "4"));
    expect(world.changed).toEqual(["kai", "kai", "flux", "flux"]);
    informers.setNamespaces(new Set());
    await world.clock.run(60_000);
    await settle();
    expect(world.open.size).toBe(0);
  });

  it("watch Events of sandboxes after the first read, and notify readers of rejected credentials only", async () => {
    const world = new InformerWorld();
    informers = world.informers;
    informers.setNamespaces(new Set(["kai", "flux"]));
    await settle();
    expect(world.open).not.toContain("/api/v1/events");
    expect(await informers.sandboxEvents("kai")).toEqual([]);
    await settle();
    expect(world.open).toContain("/api/v1/events");
    expect(world.queries.get("/api/v1/events")).toMatchObject({ fieldSelector: "reason=FailedCreatePodSandBox" });
    const creationTimestamp = "2025-01-01T00:00:00Z";
    const push = async (cause: string, count: number): Promise<void> => {
      const object = {
        metadata: { uid: cause, name: "e", namespace: "elsewhere", resourceVersion: `${count}`, creationTimestamp },
        reason: "FailedCreatePodSandBox",
        message: `failed to setup network for sandbox "5d": plugin type="calico" failed (add): ${cause}`,
        source: { host: "n1" },
        count,
      };
      world.streams.get("/api/v1/events")?.push(`${JSON.stringify({ type: "MODIFIED", object })}\n`);
      await settle().then(settle);
    };
    await push("no IP addresses available", 1);
    expect(world.changed).toEqual([]);
    await push("connection is unauthorized: Unauthorized", 1);
    await push("connection is unauthorized: Unauthorized", 1);
    expect(world.changed).toEqual(["kai"]);
    await push("connection is unauthorized: Unauthorized", 2);
    expect(world.changed).toEqual(["kai", "kai"]);
    expect((await informers.sandboxEvents("flux")).map(({ count, unauthorized }) => [count, unauthorized])).toEqual([
      [1, false],
      [2, true],
    ]);
    informers.setNamespaces(new Set(["flux"]));
    await world.clock.run(60_000);
    expect(world.open).toContain("/api/v1/events");
    informers.setNamespaces(new Set());
    await world.clock.run(60_000);
    await settle();
    expect(world.open.size).toBe(0);
  });

  it("time out while waiting for a list", async () => {
    const world = new InformerWorld();
    informers = undefined;
    world.hang();
    const read = world.informers.pods("kai").catch((error: unknown) => error);
    await world.clock.run(5_000);
    expect(await read).toBeInstanceOf(TransientError);
    expect(await read).toHaveProperty("message", "watch pods in kai: not filled yet");
  });

  it("measure the age of the oldest cache", async () => {
    const world = new InformerWorld();
    informers = world.informers;
    informers.setNamespaces(new Set(["kai"]));
    await world.clock.run(20_000);
    expect(world.ages.at(-1)).toEqual(["serviceaccounts", 20]);
  });

  it("measure the age of an empty cache from when it was first wanted", async () => {
    const world = new InformerWorld();
    // Its lists never end, so stopping it would not end either.
    informers = undefined;
    world.hang();
    world.informers.setNamespaces(new Set(["kai"]));
    await world.clock.run(300_000);
    expect(world.ages.at(-1)).toEqual(["serviceaccounts", 300]);
  });

  it("leave no timer or request after stop, and start none", async () => {
    const world = new InformerWorld();
    informers = world.informers;
    informers.setNamespaces(new Set(["kai", "flux"]));
    await settle();
    informers.setNamespaces(new Set(["kai"]));
    await informers.stop();
    expect(world.open.size).toBe(0);
    expect(world.clock.pendingTimers).toBe(0);
    informers.setNamespaces(new Set(["kai"]));
    await expect(informers.pods("kai")).rejects.toThrow("stopping");
    expect(world.clock.pendingTimers).toBe(0);
  });
});
