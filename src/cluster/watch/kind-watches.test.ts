import { afterEach, describe, expect, it } from "vitest";
import { ForbiddenError } from "../../core/errors";
import { settle } from "../../core/testing/fake-clock";
import { InformerWorld } from "../testing/informer-world";

const PODS = "/api/v1/pods";
const ACCOUNTS = "/api/v1/serviceaccounts";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";

let world: InformerWorld;
afterEach(() => world.informers.stop());

const name = (i: number): string => `ns-${i}`;
const names = (count: number): string[] => Array.from({ length: count }, (_, i) => name(i));
const podsOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/pods`;

const object = (namespace: string, name: string, resourceVersion = "1", more: object = {}): object => ({
  metadata: {
    ...{ uid: `${namespace}-${name}`, namespace, name, resourceVersion, creationTimestamp: "2025-01-01T00:00:00Z" },
    ...more,
  },
});

/** Every namespace has a pod `p`, in the list of all and in its own. */
async function setUp(protectedCount: number, count = protectedCount): Promise<InformerWorld> {
  world = new InformerWorld();
  world.items.set(
    PODS,
    names(count).map(namespace => object(namespace, "p")),
  );
  for (const namespace of names(count)) world.items.set(podsOf(namespace), [object(namespace, "p")]);
  world.informers.setNamespaces(new Set(names(protectedCount)));
  await settle();
  await settle();
  world.changed.length = 0;
  return world;
}

const openPods = (): string[] => [...world.open].filter(path => path.endsWith("/pods")).sort();
const podNames = async (i: number): Promise<string[]> =>
  (await world.informers.pods(name(i))).map(({ name }) => name).sort();

describe("many namespaces", () => {
  it("share one watch per kind, however many there are", async () => {
    const { informers, open, lists } = await setUp(1_000);
    expect([...open].sort()).toEqual([PODS, ACCOUNTS]);
    for (const namespace of names(1_000)) {
      await informers.bindings("RoleBinding", namespace);
      await informers.workloads("Deployment", namespace);
      await informers.workloads("StatefulSet", namespace);
      await informers.daemonSets(namespace);
    }
    await settle();
    const apps = ["daemonsets", "deployments", "statefulsets"].map(plural => `/apis/apps/v1/${plural}`);
    expect([...open].sort()).toEqual([PODS, ACCOUNTS, ...apps, `${RBAC}/rolebindings`]);
    expect(lists).toHaveLength(6);
  });

  it("report a change only in its own namespace, and only if that is watched", async () => {
    const { informers } = await setUp(1_000, 1_001);
    expect(await world.say(PODS, "ADDED", object(name(500), "q"))).toEqual([name(500)]);
    expect(await world.say(PODS, "ADDED", object(name(1_000), "q"))).toEqual([]);
    expect(await world.say(ACCOUNTS, "ADDED", object(name(7), "a"))).toEqual([name(7)]);
    expect(await world.say(PODS, "MODIFIED", object(name(500), "q", "2"))).toEqual([]);
    expect(informers.nodeOf(name(1_000), "q")).toBeUndefined();
  });

  it("get an array of their own, which stays until one of its objects changes", async () => {
    const { informers } = await setUp(30);
    const [first, second] = [await informers.pods(name(1)), await informers.pods(name(2))];
    await world.say(PODS, "ADDED", object(name(2), "q"));
    expect(await informers.pods(name(1))).toBe(first);
    expect(await informers.pods(name(2))).not.toBe(second);
    expect(await podNames(2)).toEqual(["p", "q"]);
    expect(await informers.pods(name(3))).toHaveLength(1);
    await world.say(PODS, "DELETED", object(name(3), "p", "2"));
    expect(await informers.pods(name(3))).toEqual([]);
  });
});

describe("the change from one watch per namespace to one watch", () => {
  const grow = async (): Promise<void> => {
    await setUp(20, 22);
    expect(openPods()).toHaveLength(20);
    world.held.add(PODS);
    world.informers.setNamespaces(new Set(names(21)));
    await settle();
  };

  it("leaves the earlier watches in place until the new cache is filled", async () => {
    await grow();
    expect(openPods()).toHaveLength(20);
    expect(await podNames(3)).toEqual(["p"]);
    expect(await world.say(podsOf(name(3)), "ADDED", object(name(3), "q"))).toEqual([name(3)]);
    expect(await podNames(3)).toEqual(["p", "q"]);
    world.items.set(PODS, [...(world.items.get(PODS) ?? []), object(name(3), "q")]);
    world.changed.length = 0;
    await world.release(PODS);
    expect(openPods()).toEqual([PODS]);
    expect(await podNames(3)).toEqual(["p", "q"]);
    // Only the namespace without an earlier watch has news.
    expect(world.changed).toEqual([name(20)]);
  });

  it("reports a namespace whose caches differ", async () => {
    await grow();
    world.items.set(
      PODS,
      names(22).map(namespace => object(namespace, namespace === name(3) ? "other" : "p")),
    );
    await world.release(PODS);
    expect(world.changed.sort()).toEqual([name(20), name(3)]);
    expect(await podNames(3)).toEqual(["other"]);
  });

  it("is undone while the number of namespaces falls again, without a gap", async () => {
    await grow();
    world.informers.setNamespaces(new Set(names(5)));
    await world.clock.run(180_000);
    expect(openPods()).toEqual(names(5).map(podsOf));
    await world.release(PODS);
    expect(openPods()).toEqual(names(5).map(podsOf));
    expect(await podNames(3)).toEqual(["p"]);
  });
});

describe("the change back", () => {
  it("comes after a grace period with few namespaces", async () => {
    await setUp(30);
    world.informers.setNamespaces(new Set(names(11)));
    await world.clock.run(600_000);
    expect(openPods()).toEqual([PODS]);
    world.informers.setNamespaces(new Set(names(10)));
    await world.clock.run(119_000);
    expect(openPods()).toEqual([PODS]);
    await world.clock.run(1_000);
    expect(openPods()).toEqual(names(10).map(podsOf));
    expect(await podNames(3)).toEqual(["p"]);
  });

  it("leaves the shared cache in place until each other one is filled", async () => {
    await setUp(30);
    await world.informers.workloads("Deployment", name(1));
    world.held.add(podsOf(name(3)));
    world.informers.setNamespaces(new Set(names(5)));
    await world.clock.run(120_000);
    expect(openPods()).toEqual([...[0, 1, 2, 4].map(name).map(podsOf), PODS]);
    expect(await world.say(PODS, "ADDED", object(name(3), "q"))).toEqual([name(3)]);
    expect(await podNames(3)).toEqual(["p", "q"]);
    // The other namespaces are told by their own watches only.
    expect(await world.say(PODS, "ADDED", object(name(2), "q"))).toEqual([]);
    world.changed.length = 0;
    await world.release(podsOf(name(3)));
    expect(openPods()).toEqual(names(5).map(podsOf));
    // Its own cache does not have `q`.
    expect(world.changed).toEqual([name(3)]);
    expect(await podNames(3)).toEqual(["p"]);
    // A kind is watched only where it was read.
    expect([...world.open].filter(path => path.startsWith("/apis/apps"))).toEqual([
      `/apis/apps/v1/namespaces/${name(1)}/deployments`,
    ]);
  });

  it("is immediate with the last namespace", async () => {
    await setUp(30);
    world.informers.setNamespaces(new Set());
    await world.clock.run(60_000);
    await settle();
    expect(world.open.size).toBe(0);
    expect(world.informers.namespaces()).toEqual([]);
  });
});

describe("without the permission to watch all namespaces", () => {
  const REFUSED = "pods: may not watch all namespaces, watching each one";

  it("each namespace keeps its watch of that kind only, and the log says so once", async () => {
    world = new InformerWorld();
    world.failures.set(PODS, new ForbiddenError("pods is forbidden"));
    world.informers.setNamespaces(new Set(names(25)));
    await settle();
    await settle();
    expect(openPods()).toEqual(names(25).map(podsOf).sort());
    expect(world.open).toContain(ACCOUNTS);
    expect(await world.informers.pods(name(24))).toEqual([]);
    const lists = (): number => world.lists.filter(path => path === PODS).length;
    for (let minute = 0; minute < 25; minute++) {
      await world.informers.pods(name(0));
      await world.clock.run(60_000);
    }
    expect(lists()).toBe(3);
    expect(world.logged.filter(line => line.startsWith("pods: "))).toEqual([REFUSED]);
    expect(world.logged).not.toContain("watch pods: watch failed, backing off");
    world.failures.clear();
    for (let minute = 0; minute < 10; minute++) {
      await world.informers.pods(name(0));
      await world.clock.run(60_000);
    }
    expect(openPods()).toEqual([PODS]);
  });

  it("a first read waits for the namespace's own cache", async () => {
    world = new InformerWorld();
    world.held.add(PODS);
    world.informers.setNamespaces(new Set(names(25)));
    const read = podNames(3);
    world.failures.set(PODS, new ForbiddenError("pods is forbidden"));
    world.items.set(podsOf(name(3)), [object(name(3), "p")]);
    await settle();
    await world.release(PODS);
    expect(await read).toEqual(["p"]);
  });

  it("one namespace may be forbidden", async () => {
    world = new InformerWorld();
    world.failures.set(PODS, new ForbiddenError("pods is forbidden"));
    world.failures.set(podsOf(name(3)), new ForbiddenError("pods in ns-3 is forbidden"));
    world.informers.setNamespaces(new Set(names(25)));
    await settle();
    await expect(world.informers.pods(name(3))).rejects.toThrow("pods in ns-3 is forbidden");
    expect(await world.informers.pods(name(4))).toEqual([]);
  });

  it("a filled cache serves until the others are filled, and a 403 for less than a minute changes nothing", async () => {
    await setUp(25);
    const refuse = async (): Promise<void> => {
      world.failures.set(PODS, new ForbiddenError("pods is forbidden"));
      world.streams.get(PODS)?.push(null);
      await world.clock.run(50_000);
    };
    await refuse();
    expect(openPods()).toEqual([]);
    world.failures.clear();
    await world.clock.run(60_000);
    expect(openPods()).toEqual([PODS]);
    await refuse();
    expect(await podNames(3)).toEqual(["p"]);
    world.held.add(podsOf(name(3)));
    await world.clock.run(45_000);
    expect(openPods()).toHaveLength(24);
    expect([await podNames(2), await podNames(3)]).toEqual([["p"], ["p"]]);
    await world.release(podsOf(name(3)));
    expect(openPods()).toEqual(names(25).map(podsOf).sort());
    expect(world.changed).toEqual([]);
  });
});
