import { afterEach, describe, expect, it } from "vitest";
import { OWNER_ANNOTATION, SKIP_ANNOTATION } from "../../api/names";
import { ForbiddenError, GoneError, TransientError } from "../../core/errors";
import { settle } from "../../core/testing/fake-clock";
import { InformerWorld } from "../testing/watch-server";

const PODS = "/api/v1/pods";
const ACCOUNTS = "/api/v1/serviceaccounts";
const NAMESPACES = "/api/v1/namespaces";
const EVENTS = "/api/v1/events";
const DEPLOYMENTS = "/apis/apps/v1/deployments";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const FLOW_SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";

let world: InformerWorld;
let isStoppable = true;
afterEach(async () => {
  if (isStoppable) await world.informers.stop();
  isStoppable = true;
});

/** @param namespaces watched one by one; none: all together */
function setUp(...namespaces: string[]): InformerWorld {
  return (world = new InformerWorld(namespaces));
}

const object = (namespace: string | undefined, name: string, resourceVersion = "1", more: object = {}): object => ({
  metadata: {
    ...{ uid: `${namespace ?? ""}-${name}`, namespace, name, resourceVersion },
    creationTimestamp: "2025-01-01T00:00:00Z",
    ...more,
  },
});

const workload = (name: string, version: string, { spec = {}, status = {}, metadata = {} } = {}): object => ({
  ...object("kai", name, version, metadata),
  spec: { replicas: 2, template: { spec: { serviceAccountName: "it" } }, ...spec },
  status,
});

const binding = (namespace: string | undefined, version: string, ...subjects: string[]): object => ({
  ...object(namespace, "b", version),
  roleRef: { kind: "ClusterRole", name: "view" },
  subjects: subjects.map(each =>
    each.includes(":") ? { kind: "Group", name: each } : { kind: "ServiceAccount", name: "it", namespace: each },
  ),
});

describe("the watches of a kind", () => {
  it("are one of all namespaces, which starts with the first read and stays", async () => {
    const { informers, items, open, lists } = setUp();
    items.set(PODS, [object("kai", "p", "1", {}), object("flux", "p")]);
    await settle();
    expect(open.size).toBe(0);
    const namespaces = Array.from({ length: 1_000 }, (_, i) => `ns-${String(i)}`);
    for (const namespace of ["kai", "flux", ...namespaces]) {
      await informers.pods(namespace);
      await informers.cache("ServiceAccount", namespace);
      await informers.bindings("RoleBinding", namespace);
      for (const kind of ["Deployment", "StatefulSet", "DaemonSet"] as const) await informers.cache(kind, namespace);
    }
    await settle();
    const apps = ["daemonsets", "deployments", "statefulsets"].map(plural => `/apis/apps/v1/${plural}`);
    expect([...open].sort()).toEqual([PODS, ACCOUNTS, ...apps, `${RBAC}/rolebindings`]);
    expect(lists).toHaveLength(6);
    expect((await informers.pods("kai")).map(({ uid }) => uid)).toEqual(["kai-p"]);
    expect(await informers.pods("ns-1")).toEqual([]);
  });

  it("are one of each namespace if some are given, so that the rights in these are enough", async () => {
    const { informers, failures, items, open } = setUp("kai", "flux");
    items.set(`${NAMESPACES}/kai/pods`, [object("kai", "p")]);
    failures.set(`${NAMESPACES}/flux/pods`, new ForbiddenError("pods in flux: forbidden"));
    expect((await informers.pods("kai")).map(({ name }) => name)).toEqual(["p"]);
    await expect(informers.pods("flux")).rejects.toThrow("pods in flux: forbidden");
    await informers.bindings("ClusterRoleBinding", "kai");
    await settle();
    expect([...open].sort()).toEqual([`${NAMESPACES}/kai/pods`, `${RBAC}/clusterrolebindings`]);
    expect(await world.tell(`${NAMESPACES}/kai/pods`, "ADDED", object("kai", "q"))).toEqual(["kai"]);
  });

  it("have an age in the metrics unless the API server refuses that of one namespace, which may be gone with its RoleBinding", async () => {
    const { clock, informers, failures, lists } = setUp("kai", "flux");
    await Promise.all([informers.pods("kai"), informers.pods("flux")]);
    failures.set(`${NAMESPACES}/flux/pods`, new ForbiddenError("pods in flux: forbidden"));
    failures.set(`${NAMESPACES}/kai/pods`, new TransientError("no answer"));
    await clock.run(500_000);
    const before = lists.length;
    expect(world.ages()["pods"]).toBeGreaterThan(400_000);
    failures.delete(`${NAMESPACES}/kai/pods`);
    await clock.run(60_000);
    expect(world.ages()["pods"]).toBeLessThan(60_000);
    expect(lists.slice(before)).toContain(`${NAMESPACES}/flux/pods`);
    failures.set(`${NAMESPACES}/flux/pods`, new TransientError("no answer"));
    await clock.run(60_000);
    expect(world.ages()["pods"]).toBeGreaterThan(500_000);
  });

  it("throw what keeps them from listing, and go on trying", async () => {
    const { clock, informers, failures } = setUp();
    failures.set(PODS, new ForbiddenError("pods is forbidden"));
    await expect(informers.pods("kai")).rejects.toThrow(ForbiddenError);
    // A lost right is not silent.
    expect(Object.keys(world.ages())).toEqual(["pods"]);
    expect(await informers.bindings("RoleBinding", "kai")).toEqual([]);
    failures.set(PODS, new TransientError("list pods: no answer"));
    await clock.run(60_000);
    await expect(informers.pods("kai")).rejects.toThrow(TransientError);
    failures.clear();
    await clock.run(60_000);
    expect(await informers.pods("kai")).toEqual([]);
  });
});

describe("a change", () => {
  it("is reported if it changes the view", async () => {
    const { informers } = setUp();
    await informers.cache("Deployment", "kai");
    await settle();
    const say = (changed: object) => world.tell(DEPLOYMENTS, "MODIFIED", changed);
    expect(await say(workload("web", "5"))).toEqual(["kai"]);
    expect(await say(workload("web", "6", { status: { observedReplicas: 1 } }))).toEqual([]);
    expect(await say(workload("web", "7", { metadata: { annotations: { a: "b" } } }))).toEqual([]);
    expect((await informers.cache("Deployment", "kai")).find("web")?.resourceVersion).toBe("7");
    expect(await say(workload("web", "8", { spec: { replicas: 3 } }))).toEqual(["kai"]);
  });

  it("of a ClusterRoleBinding concerns the namespaces of its subjects, before and after", async () => {
    const { informers } = setUp();
    await informers.bindings("ClusterRoleBinding", "kai");
    await settle();
    const say = (type: "ADDED" | "MODIFIED" | "DELETED", changed: object) =>
      world.tell(`${RBAC}/clusterrolebindings`, type, changed);
    expect(await say("ADDED", binding(undefined, "2", "kai", "b"))).toEqual(["kai", "b"]);
    expect(await say("MODIFIED", binding(undefined, "3", "flux"))).toEqual(["kai", "b", "flux"]);
    const group = "system:serviceaccounts:kai";
    expect(await say("MODIFIED", binding(undefined, "3b", group))).toEqual(["flux", "kai"]);
    expect(await say("MODIFIED", binding(undefined, "3c", "flux"))).toEqual(["kai", "flux"]);
    expect(await say("DELETED", binding(undefined, "4", "flux"))).toEqual(["flux"]);
  });

  it("of a cluster-scoped object concerns the ControllerResilience that it was made for", async () => {
    const { informers } = setUp("kai");
    const flow = (owner: string | undefined, version: string, spec: object = {}): object => ({
      ...object(undefined, "flow", version, owner === undefined ? {} : { annotations: { [OWNER_ANNOTATION]: owner } }),
      spec,
    });
    await informers.clusterObjects("FlowSchema");
    await settle();
    const say = (changed: object) => world.tell(FLOW_SCHEMAS, "MODIFIED", changed);
    expect(await say(flow(undefined, "5"))).toEqual([]);
    expect(await say(flow("kai/app", "7"))).toEqual(["kai"]);
    expect(await say(flow("kai/app", "8"))).toEqual([]);
    expect(await say(flow("kai/app", "9", { matchingPrecedence: 1 }))).toEqual(["kai"]);
    expect(await say(flow("flux/app", "10"))).toEqual(["kai", "flux"]);
  });

  it("is told to those who ask for all but pods", async () => {
    const { informers, items } = setUp();
    items.set(DEPLOYMENTS, [object("a", "web")]);
    const told = world.structure;
    await Promise.all([
      informers.cache("Deployment", "a"),
      informers.cache("ServiceAccount", "a"),
      informers.pods("a"),
    ]);
    await Promise.all([informers.bindings("RoleBinding", "a"), informers.bindings("ClusterRoleBinding", "a")]);
    await informers.cache("Namespace");
    await settle();
    expect(told.splice(0)).toEqual(["a"]);
    const say = async (path: string, changed: object): Promise<string[]> => {
      await world.tell(path, "MODIFIED", changed);
      return told.splice(0);
    };
    expect(await say(DEPLOYMENTS, object("b", "web"))).toEqual(["b"]);
    expect(await say(ACCOUNTS, object("c", "it"))).toEqual(["c"]);
    expect(await say(`${RBAC}/rolebindings`, binding("d", "1", "a"))).toEqual(["d"]);
    expect(await say(`${RBAC}/clusterrolebindings`, binding(undefined, "1", "e", "f"))).toEqual(["e", "f"]);
    expect(await say(NAMESPACES, object(undefined, "g"))).toEqual(["g"]);
    expect(await say(PODS, object("a", "p"))).toEqual([]);
  });
});

it("the Events about sandboxes have a watch for each reason, and tell their readers of rejected credentials only", async () => {
  const { informers, open } = setUp("kai", "flux");
  expect(await informers.sandboxEvents("kai")).toEqual([]);
  await settle();
  expect([...open]).toEqual([`${EVENTS}?reason=FailedCreatePodSandBox`, `${EVENTS}?reason=FailedKillPod`]);
  const say = (
    cause: string,
    count: number,
    type: "MODIFIED" | "DELETED" = "MODIFIED",
    reason = "FailedCreatePodSandBox",
  ) =>
    world.tell(`${EVENTS}?reason=${reason}`, type, {
      ...object("elsewhere", cause, String(count)),
      reason,
      message: `failed to setup network for sandbox "5d": plugin type="calico" failed (add): ${cause}`,
      ...{ source: { host: "n1" }, count },
    });
  expect(await say("no IP addresses available", 1)).toEqual([]);
  expect(await say("connection is unauthorized: Unauthorized", 1)).toEqual(["kai"]);
  expect(await say("connection is unauthorized: Unauthorized", 1)).toEqual([]);
  expect((await informers.sandboxEvents("flux")).map(({ unauthorized }) => unauthorized)).toEqual([false, true]);
  expect(await say("connection is unauthorized: Unauthorized", 2)).toEqual(["kai", "flux"]);
  // It expires.
  expect(await say("connection is unauthorized: Unauthorized", 2, "DELETED")).toEqual([]);
  expect(await informers.sandboxEvents("flux")).toHaveLength(1);
  expect(await say("connection is unauthorized: Unauthorized", 3, "MODIFIED", "FailedKillPod")).toEqual([
    "kai",
    "flux",
  ]);
  expect(await informers.sandboxEvents("flux")).toHaveLength(2);
});

describe("the Namespaces", () => {
  const skipped = { annotations: { [SKIP_ANNOTATION]: "true", "example.com/more": "x" } };

  it("have their labels and this project's annotations, and report who gets other ones", async () => {
    const { informers, items } = setUp("kai");
    items.set(NAMESPACES, [object(undefined, "kai", "5", { labels: { team: "a" }, ...skipped })]);
    const cache = await informers.cache("Namespace");
    expect(cache.find("kai")).toMatchObject({ labels: { team: "a" }, skip: true });
    expect(cache.find("kai")?.annotations).toEqual({ [SKIP_ANNOTATION]: "true" });
    await settle();
    world.changed.length = 0;
    const say = (version: string, more: object) =>
      world.tell(NAMESPACES, "MODIFIED", object(undefined, "kai", version, more));
    expect(await say("6", { labels: { team: "a" }, ...skipped })).toEqual([]);
    expect(await say("7", {})).toEqual(["kai"]);
    expect(await say("8", { labels: { team: "b" } })).toEqual(["kai"]);
    expect(await say("9", skipped)).toEqual(["kai"]);
  });

  it("are forbidden without the permission to list, which is asked every ten minutes", async () => {
    const { clock, informers, failures, lists, open } = setUp();
    failures.set(NAMESPACES, new ForbiddenError("list namespaces: forbidden"));
    const read = async () => (await informers.cache("Namespace")).find("kai");
    await expect(read()).rejects.toThrow(ForbiddenError);
    await clock.run(599_000);
    await expect(read()).rejects.toThrow(ForbiddenError);
    expect([lists.length, open.size, world.logged.length]).toEqual([1, 0, 0]);
    expect(world.ages()).toEqual({});
    failures.clear();
    world.items.set(NAMESPACES, [object(undefined, "kai")]);
    await clock.run(2_000);
    expect((await read())?.name).toBe("kai");
    expect(Object.keys(world.ages())).toEqual(["namespaces"]);
  });
});

it("a kind that is not served is null, and asked for every ten minutes", async () => {
  const { clock, informers, failures, lists } = setUp();
  failures.set(FLOW_SCHEMAS, new GoneError("list flowschemas: not found"));
  const read = () => Promise.all([1, 2].map(() => informers.clusterObjects("FlowSchema")));
  expect(await read()).toEqual([null, null]);
  await clock.run(599_000);
  expect(await read()).toEqual([null, null]);
  expect(lists).toHaveLength(1);
  failures.clear();
  await clock.run(2_000);
  expect(await read()).toEqual([[], []]);
  expect(lists).toHaveLength(2);
});

it("a cache that does not fill delays reads for five seconds after its start, and no read after that", async () => {
  const { clock, informers } = setUp();
  // Its lists never end, so stopping it would not end either.
  isStoppable = false;
  world.list = () => new Promise(() => undefined);
  const read = async (): Promise<number> => {
    const startedMs = clock.monotonicMs();
    await expect(informers.pods("kai")).rejects.toThrow("watch pods: not filled yet");
    return clock.monotonicMs() - startedMs;
  };
  const first = read();
  await clock.run(3_000);
  const second = read();
  await clock.run(60_000);
  expect([await first, await second]).toEqual([5_000, 2_000]);
  const third = read();
  await clock.run(0);
  expect(await third).toBe(0);
  await clock.run(237_000);
  expect(world.ages()).toEqual({ pods: 300_000 });
});

it("the end leaves no timer or request, and starts none", async () => {
  const { clock, informers, open } = setUp();
  await Promise.all([informers.pods("kai"), informers.cache("Namespace"), informers.clusterObjects("FlowSchema")]);
  await clock.run(20_000);
  expect(world.ages()).toMatchObject({ pods: 20_000 });
  await informers.stop();
  await expect(informers.pods("kai")).rejects.toThrow("stopping");
  await expect(informers.clusterObjects("FlowSchema")).rejects.toThrow("stopping");
  expect([open.size, clock.pendingTimers]).toEqual([0, 0]);
});
