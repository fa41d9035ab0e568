import { afterEach, describe, expect, it } from "vitest";
import type { ControllerResilience } from "../../api/controller-resilience";
import { ForbiddenError, TerminalError, TransientError } from "../../core/errors";
import type { Readers } from "../../core/readers";
import { EmptyReaders } from "../../core/testing/empty-readers";
import { InformerWorld } from "../testing/watch-server";
import { cachedReaders, type ReadCaches } from "./cached-readers";

const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const metadataOf = (name: string, more: object = {}) => ({
  ...{ uid: `uid-${name}`, name, resourceVersion: "5", creationTimestamp: "2025-01-01T00:00:00Z" },
  ...more,
});
const inNamespace = { namespace: "kai" };
const spec = { template: { spec: { serviceAccountName: "it" } } };
const workload = (name: string): object => ({ metadata: metadataOf(name, inNamespace), spec });
const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };

/** Every list that a watch makes, unsorted. */
const ITEMS: Readonly<Record<string, object[]>> = {
  "/apis/apps/v1/namespaces/kai/deployments": ["b", "a"].map(name => workload(name)),
  "/api/v1/namespaces": [{ metadata: metadataOf("kai") }],
  "/apis/apps/v1/namespaces/kai/daemonsets": [workload("agent")],
  "/api/v1/namespaces/kai/serviceaccounts": [{ metadata: metadataOf("it", inNamespace) }],
  [`${RBAC}/namespaces/kai/rolebindings`]: [{ metadata: metadataOf("rb", inNamespace), roleRef }],
  [`${RBAC}/clusterrolebindings`]: [{ metadata: metadataOf("crb"), roleRef }],
  "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas": [
    { metadata: metadataOf("b") },
    { metadata: metadataOf("theirs") },
    { metadata: metadataOf("a") },
  ],
};

type Read = (readers: Readers) => Promise<unknown>;

/** One read of each kind, and the names that the caches have. */
const READS: [string, Read, unknown][] = [
  ["namespace", readers => readers.namespace("kai"), "kai"],
  ["workload", readers => readers.workload("Deployment", "kai", "a"), "a"],
  ["workload of a DaemonSet", readers => readers.workload("DaemonSet", "kai", "agent"), "agent"],
  ["workloads", readers => readers.workloads("Deployment", "kai"), ["a", "b"]],
  ["daemonSet", readers => readers.daemonSet("kai", "agent"), "agent"],
  ["serviceAccount", readers => readers.serviceAccount("kai", "it"), "it"],
  ["binding", readers => readers.binding("RoleBinding", "kai", "rb"), "rb"],
  ["binding of the cluster", readers => readers.binding("ClusterRoleBinding", "kai", "crb"), "crb"],
  ["clusterObjects", readers => readers.clusterObjects("FlowSchema"), ["a", "b", "theirs"]],
  ["objects", readers => readers.objects("kai"), ["kai"]],
];

const namesOf = (result: unknown): unknown =>
  Array.isArray(result) ? result.map(namesOf) : (result as { name: string } | null)?.name;

/** Live readers whose every method returns what it was called with. */
function echo(): Readers {
  const { clock, logs, rounds } = new EmptyReaders(new InformerWorld().clock);
  const methods = Object.getOwnPropertyNames(EmptyReaders.prototype).map(method => [
    method,
    (...args: unknown[]) => Promise.resolve([method, ...args.filter(arg => arg !== undefined)]),
  ]);
  return { ...{ clock, logs, rounds }, ...Object.fromEntries(methods) } as Readers;
}

/** The watch of this project's own objects. */
const OWN = { objects: (name: string) => [{ name } as unknown as ControllerResilience] };

/** The readers over caches that all fail. */
function over(live: Readers, error: Error): Readers {
  const caches = new Proxy({}, { get: () => () => Promise.reject(error) }) as unknown as ReadCaches & typeof OWN;
  return cachedReaders(live, caches, caches);
}

const NOT_FILLED = new TransientError("not filled yet");

let world: InformerWorld | undefined;
afterEach(async () => {
  await world?.informers.stop();
  world = undefined;
});

describe("cached readers", () => {
  function setUp() {
    const made = (world = new InformerWorld(["kai"]));
    for (const [path, items] of Object.entries(ITEMS)) made.items.set(path, items);
    return cachedReaders({} as Readers, made.informers, OWN);
  }

  it.each(READS)("read %s from a cache, in the order of the API server", async (_, read, names) => {
    expect(namesOf(await read(setUp()))).toEqual(names);
  });

  it("return null for what a filled cache does not have", async () => {
    const readers = setUp();
    expect(await readers.workload("StatefulSet", "kai", "a")).toBeNull();
    expect(await readers.daemonSet("kai", "a")).toBeNull();
    expect(await readers.serviceAccount("kai", "a")).toBeNull();
    expect(await readers.binding("RoleBinding", "kai", "crb")).toBeNull();
    expect(await readers.clusterObjects("PriorityLevelConfiguration")).toEqual([]);
  });

  it("see a change of a cache in the next read", async () => {
    const readers = setUp();
    await readers.workloads("Deployment", "kai");
    await world?.tell("/apis/apps/v1/namespaces/kai/deployments", "ADDED", workload("aa"));
    expect(namesOf(await readers.workloads("Deployment", "kai"))).toEqual(["a", "aa", "b"]);
  });

  it.each([NOT_FILLED, new ForbiddenError("forbidden")])("read live after %s", async error => {
    const live = echo();
    const readers = over(live, error);
    for (const [, read] of READS) expect(await read(readers)).toEqual(await read(live));
  });

  it("hide no other error", async () => {
    for (const [, read] of READS) await expect(read(over(echo(), new TerminalError("bug")))).rejects.toThrow("bug");
  });

  it("reuse a reading of the published keys for almost a minute, since a pass that may write reads them itself", async () => {
    const readers = over(echo(), NOT_FILLED);
    expect(await readers.keyRotation()).toEqual(["keyRotation", 53_000]);
  });
});
