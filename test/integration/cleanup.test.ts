import { ImmediateRounds } from "../../src/core/testing/immediate-rounds";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ControllerResilience } from "../../src/api/controller-resilience";
import { FINALIZER } from "../../src/api/names";
import { Informers } from "../../src/cluster/watch/informers";
import { ApiLogReader } from "../../src/cluster/read/log-reader";
import { ApiObjectStore } from "../../src/cluster/write/object-store";
import { ClusterReaders } from "../../src/cluster/read/readers";
import { systemClock, systemRandom } from "../../src/cluster/system";
import { ApiWriter } from "../../src/cluster/write/writer";
import { ConflictError } from "../../src/core/errors";
import { isOwnedBy, ownedName, ownerAnnotations, ownerLabels } from "../../src/core/owned";
import type { ClusterObjectView } from "../../src/core/views";
import { Admin, keepingLog, keepingMetrics } from "./cluster-world";

// Objects outside the namespace of a ControllerResilience, and the finalizer that cleans them up, on a real API server.

const admin = new Admin();
const store = new ApiObjectStore(admin.api);
let namespace: string;
let path: string;

beforeAll(async () => {
  namespace = await admin.namespace("cleanup");
  path = `/apis/controller-resilience.io/v1alpha1/namespaces/${namespace}/controllerresiliences`;
});

afterAll(() => admin.connection.close());

async function makeObject(name: string, finalizers: string[] = []): Promise<ControllerResilience> {
  await admin.create(path, {
    apiVersion: "controller-resilience.io/v1alpha1",
    kind: "ControllerResilience",
    metadata: { name, finalizers },
    spec: { targets: [{ kind: "Deployment", name: "a" }] },
  });
  return read(name);
}

async function read(name: string): Promise<ControllerResilience> {
  const object = await store.get(`${namespace}/${name}`);
  if (object === null) throw new Error(`${name} is gone`);
  return object;
}

describe("the finalizer", () => {
  it("keeps the object until it is removed, and changes neither the generation nor other finalizers", async () => {
    const object = await makeObject("held", ["example.com/other"]);
    const metadata = await store.setFinalizer(object, true);
    expect(metadata.finalizers).toEqual(["example.com/other", FINALIZER]);
    expect(metadata.generation).toBe(object.metadata.generation);
    await expect(store.setFinalizer(object, true)).rejects.toThrow(ConflictError);

    await admin.delete(`${path}/held`);
    const going = await read("held");
    expect(going.metadata.deletionTimestamp).toBeDefined();
    // Status can still be written while the object is being deleted.
    await store.writeStatus(going, { observedGeneration: 1 });
    expect((await store.setFinalizer(await read("held"), false)).finalizers).toEqual(["example.com/other"]);
    await admin.patch(`${path}/held`, { metadata: { finalizers: null } });
    expect(await store.get(`${namespace}/held`)).toBeNull();
  });

  it("releases the object when it was the last finalizer", async () => {
    const object = await makeObject("last");
    await store.setFinalizer(object, true);
    await admin.delete(`${path}/last`);
    await store.setFinalizer(await read("last"), false);
    expect(await store.get(`${namespace}/last`)).toBeNull();
  });
});

describe("objects outside of namespaces", () => {
  const kind = "PriorityLevelConfiguration" as const;
  const apiVersion = "flowcontrol.apiserver.k8s.io/v1";

  it("are found by the uid of their owner only", async () => {
    const [one, other] = [await makeObject("one"), await makeObject("other")];
    const context = {
      api: admin.api,
      clock: systemClock,
      random: systemRandom,
      log: keepingLog(),
      metrics: keepingMetrics(),
    };
    const informers = new Informers(context, { onWake: () => undefined });
    const readers = new ClusterReaders({
      clock: systemClock,
      api: admin.api,
      informers,
      rounds: new ImmediateRounds(systemClock),
      logs: new ApiLogReader({ ...context }),
    });
    const writer = new ApiWriter(admin.api);
    const name = ownedName("controller-resilience-", [namespace, "one"], [one.metadata.uid]);
    const spec = { type: "Limited", limited: { nominalConcurrencyShares: 1, limitResponse: { type: "Reject" } } };
    await writer.write({
      verb: "apply",
      target: { apiVersion, kind, name },
      body: { metadata: { labels: ownerLabels(one), annotations: ownerAnnotations(one) }, spec },
      why: "test",
      eventReason: "Tested",
    });
    const ownedBy = async (owner: typeof one): Promise<readonly ClusterObjectView[]> =>
      ((await readers.clusterObjects(kind)) ?? []).filter(view => isOwnedBy(view, owner));
    const found = await ownedBy(one);
    expect(found).toMatchObject([{ apiVersion, kind, name, spec }]);
    expect(await ownedBy(other)).toEqual([]);
    expect((await readers.clusterObjects(kind))?.map(view => view.name)).toContain("workload-low");

    const [{ uid } = { uid: "" }] = found;
    await writer.write({ verb: "delete", target: { apiVersion, kind, name, uid }, why: "test", eventReason: "Tested" });
    expect(await ownedBy(one)).toEqual([]);
    await informers.stop();
  });
});
