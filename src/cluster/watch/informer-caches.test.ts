import { afterEach, describe, expect, it } from "vitest";
import { OWNER_ANNOTATION } from "../../api/names";
import { ForbiddenError, GoneError, TransientError } from "../../core/errors";
import { settle } from "../../core/testing/fake-clock";
import { InformerWorld } from "../testing/informer-world";

const APPS = "/apis/apps/v1/namespaces";
const FLOW_SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
const POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies";

let world: InformerWorld;
let stop: (() => Promise<void>) | undefined;
afterEach(() => stop?.());

function setUp(...namespaces: string[]): InformerWorld {
  world = new InformerWorld();
  stop = () => world.informers.stop();
  world.informers.setNamespaces(new Set(namespaces));
  return world;
}

const metadataOf = (name: string, resourceVersion: string, more: object = {}) => ({
  ...{ uid: `uid-${name}`, name, resourceVersion, generation: 1, creationTimestamp: "2025-01-01T00:00:00Z" },
  ...more,
});

const workload = (name: string, resourceVersion: string, { spec = {}, status = {}, metadata = {} } = {}) => ({
  metadata: metadataOf(name, resourceVersion, { namespace: "kai", ...metadata }),
  spec: { replicas: 2, template: { spec: { serviceAccountName: "it" } }, ...spec },
  status: { observedGeneration: 1, ...status },
});

const flow = (owner: string | undefined, resourceVersion: string, spec: object = {}) => ({
  metadata: metadataOf(
    "flow",
    resourceVersion,
    owner === undefined ? {} : { annotations: { [OWNER_ANNOTATION]: owner } },
  ),
  spec,
});

describe("caches of workloads", () => {
  it("start with the first read of their kind and namespace, and end with the namespace", async () => {
    const { clock, informers, items, open, lists } = setUp("kai", "flux");
    items.set(`${APPS}/kai/deployments`, [workload("web", "5")]);
    await settle();
    expect([...open].filter(path => path.startsWith(APPS))).toEqual([]);
    const cache = await informers.workloads("Deployment", "kai");
    expect(cache.find("kai", "web")).toMatchObject({
      kind: "Deployment",
      name: "web",
      resourceVersion: "5",
      replicas: 2,
    });
    expect([cache.find("kai", "other"), cache.views().length]).toEqual([undefined, 1]);
    await informers.workloads("Deployment", "kai");
    await informers.workloads("StatefulSet", "flux");
    await settle();
    const ours = (paths: Iterable<string>): string[] => [...paths].filter(path => path.startsWith(APPS)).sort();
    expect(ours(open)).toEqual([`${APPS}/flux/statefulsets`, `${APPS}/kai/deployments`]);
    expect(ours(lists)).toEqual(ours(open));
    informers.setNamespaces(new Set(["flux"]));
    await clock.run(60_000);
    expect(ours(open)).toEqual([`${APPS}/flux/statefulsets`]);
  });

  it("have one watch for DaemonSets, with their templates", async () => {
    const { informers, items, lists } = setUp("kai");
    items.set(`${APPS}/kai/daemonsets`, [workload("agent", "5", { status: { desiredNumberScheduled: 3 } })]);
    const daemonSets = await informers.daemonSets("kai");
    const workloads = await informers.workloads("DaemonSet", "kai");
    expect(workloads.find("kai", "agent")).toMatchObject({ kind: "DaemonSet", replicas: 3 });
    expect(daemonSets.find("kai", "agent")?.template).toEqual({ spec: { serviceAccountName: "it" } });
    expect(lists.filter(path => path === `${APPS}/kai/daemonsets`)).toHaveLength(1);
  });

  it("report changes of views, not of other fields", async () => {
    const { informers } = setUp("kai");
    await informers.workloads("Deployment", "kai");
    await settle();
    const say = (object: object) => world.say(`${APPS}/kai/deployments`, "MODIFIED", object);
    expect(await say(workload("web", "5"))).toEqual(["kai"]);
    expect(await say(workload("web", "6", { status: { readyReplicas: 1 } }))).toEqual([]);
    expect(await say(workload("web", "7", { metadata: { annotations: { a: "b" } } }))).toEqual([]);
    expect((await informers.workloads("Deployment", "kai")).find("kai", "web")?.resourceVersion).toBe("7");
    expect(await say(workload("web", "8", { spec: { replicas: 3 } }))).toEqual(["kai"]);
  });
});

describe("the cache of ServiceAccounts", () => {
  it("is the one that is watched anyway", async () => {
    const { informers, items, lists } = setUp();
    const path = "/api/v1/namespaces/kai/serviceaccounts";
    items.set(path, [{ metadata: metadataOf("it", "5", { namespace: "kai" }) }]);
    expect((await informers.serviceAccounts("kai")).find("kai", "it")?.uid).toBe("uid-it");
    expect(lists.filter(listed => listed === path)).toHaveLength(1);
  });
});

describe("caches of cluster-scoped objects", () => {
  it("start with the first read and end with the last namespace", async () => {
    const { clock, informers, items, open } = setUp("kai");
    items.set(FLOW_SCHEMAS, [flow("kai/app", "5")]);
    expect((await informers.clusterObjects("FlowSchema"))?.map(({ name }) => name)).toEqual(["flow"]);
    await settle();
    expect(open).toContain(FLOW_SCHEMAS);
    informers.setNamespaces(new Set());
    await clock.run(60_000);
    expect(open.size).toBe(0);
  });

  it("report the namespace of the ControllerResilience that an object was made for, if it is watched", async () => {
    const { informers } = setUp("kai", "flux");
    await informers.clusterObjects("FlowSchema");
    await settle();
    const say = (object: object) => world.say(FLOW_SCHEMAS, "MODIFIED", object);
    expect(await say(flow(undefined, "5"))).toEqual([]);
    expect(await say(flow("elsewhere/app", "6"))).toEqual([]);
    expect(await say(flow("kai/app", "7"))).toEqual(["kai"]);
    expect(await say(flow("kai/app", "8"))).toEqual([]);
    expect(await say(flow("kai/app", "9", { matchingPrecedence: 1 }))).toEqual(["kai"]);
    expect(await say(flow("flux/app", "10"))).toEqual(["kai", "flux"]);
  });

  it("are null for a kind that is not served, which is asked for every ten minutes", async () => {
    const { clock, informers, failures, lists } = setUp("kai");
    const asked = () => lists.filter(path => path === POLICIES).length;
    failures.set(POLICIES, new GoneError("list mutatingadmissionpolicies: not found"));
    const read = () => Promise.all([1, 2].map(() => informers.clusterObjects("MutatingAdmissionPolicy")));
    expect(await read()).toEqual([null, null]);
    expect(await read()).toEqual([null, null]);
    await clock.run(599_000);
    expect(await read()).toEqual([null, null]);
    expect(asked()).toBe(1);
    failures.clear();
    await clock.run(2_000);
    expect(await read()).toEqual([[], []]);
    expect(asked()).toBe(2);
  });

  it("keep trying after another failure, and throw meanwhile", async () => {
    const { clock, informers, failures } = setUp("kai");
    failures.set(POLICIES, new ForbiddenError("list mutatingadmissionpolicies: forbidden"));
    await expect(informers.clusterObjects("MutatingAdmissionPolicy")).rejects.toThrow(ForbiddenError);
    failures.set(POLICIES, new TransientError("list mutatingadmissionpolicies: no answer"));
    await clock.run(60_000);
    await expect(informers.clusterObjects("MutatingAdmissionPolicy")).rejects.toThrow(TransientError);
    failures.clear();
    await clock.run(60_000);
    expect(await informers.clusterObjects("MutatingAdmissionPolicy")).toEqual([]);
  });
});

describe("a cache that does not fill", () => {
  it("delays reads for five seconds after its start, and no read after that", async () => {
    const { clock, informers } = setUp();
    // Its lists never end, so stopping it would not end either.
    stop = undefined;
    world.hang();
    const read = async (): Promise<number> => {
      const startedMs = clock.monotonicMs();
      const cache = await informers.workloads("Deployment", "kai");
      expect(() => cache.views()).toThrow("watch deployments in kai: not filled yet");
      expect(() => cache.find("kai", "web")).toThrow(TransientError);
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
  });

  it("throws after stop", async () => {
    const { informers } = setUp("kai");
    await informers.stop();
    await expect(informers.workloads("Deployment", "kai")).rejects.toThrow("stopping");
    await expect(informers.clusterObjects("FlowSchema")).rejects.toThrow("stopping");
    expect(world.clock.pendingTimers).toBe(0);
    expect(world.open.size).toBe(0);
  });
});
