import { ImmediateRounds } from "../../src/core/testing/immediate-rounds";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ControllerResilience } from "../../src/api/controller-resilience";
import { BREAKER_ANNOTATION } from "../../src/api/names";
import type { Api } from "../../src/cluster/http/api";
import type { Connection } from "../../src/cluster/http/connection";
import { ApiEventSink } from "../../src/cluster/write/event-sink";
import { Informers } from "../../src/cluster/watch/informers";
import { ApiLeaseStore } from "../../src/cluster/write/lease-store";
import { ApiLogReader } from "../../src/cluster/read/log-reader";
import { ApiObjectStore } from "../../src/cluster/write/object-store";
import { ClusterReaders } from "../../src/cluster/read/readers";
import { systemClock, systemRandom } from "../../src/cluster/system";
import { ApiWriter } from "../../src/cluster/write/writer";
import { KeyMemory } from "../../src/core/signing-keys";
import { ConflictError, ForbiddenError, GoneError, TerminalError, WaitError } from "../../src/core/errors";
import type { Intent, ObjectRef } from "../../src/core/intent";
import { apiOver, clientWith, LEASE_RULES, RULES } from "./cluster-operator";
import { Admin, eventually, keepingLog, keepingMetrics } from "./cluster-world";

// The adapters with exactly the rights that they need, against a real API server.

interface Raw {
  readonly metadata: {
    name: string;
    namespace: string;
    uid: string;
    resourceVersion: string;
    labels?: Record<string, string>;
  };
}

const admin = new Admin();
let connection: Connection;
let powerless: Connection;
let api: Api;
let namespace: string;
let core: string;
let apps: string;

beforeAll(async () => {
  namespace = await admin.namespace("adapters");
  core = `/api/v1/namespaces/${namespace}`;
  apps = `/apis/apps/v1/namespaces/${namespace}`;
  connection = await clientWith(admin, namespace, [...RULES, ...LEASE_RULES]);
  powerless = await clientWith(admin, namespace, []);
  api = apiOver(connection);
});

afterAll(() => {
  for (const each of [connection, powerless, admin.connection]) each.close();
});

let sequence = 0;
const podSpec = {
  containers: [{ name: "main", image: "none" }],
  serviceAccountName: "kai",
  automountServiceAccountToken: false,
};

async function createPod(labels: Record<string, string> = {}, ownerReferences: readonly object[] = []): Promise<Raw> {
  await admin.create(`${core}/serviceaccounts`, { metadata: { name: "kai" } }).catch(() => undefined);
  const metadata = { name: `pod-${sequence++}`, labels, ownerReferences };
  return admin.create(`${core}/pods`, { metadata, spec: podSpec });
}

async function createDeployment(replicas = 2): Promise<Raw> {
  const labels = { app: `d${sequence}` };
  return admin.create(`${apps}/deployments`, {
    metadata: { name: `d${sequence++}`, labels: { team: "kai" } },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec } },
  });
}

const ref = (apiVersion: string, kind: string, { metadata }: Raw): ObjectRef => ({
  apiVersion,
  kind,
  namespace: metadata.namespace,
  name: metadata.name,
  uid: metadata.uid,
});

function intent(verb: Intent["verb"], target: ObjectRef, body?: object): Intent {
  return { verb, target, why: "test", eventReason: "Tested", ...(body === undefined ? {} : { body }) };
}

describe("the writer", () => {
  const write = (...args: Parameters<typeof intent>) => new ApiWriter(api).write(intent(...args));

  it("evicts the pod with the given uid, and no other pod of that name", async () => {
    const pod = await createPod();
    const target = ref("v1", "Pod", pod);
    await expect(write("evict", { ...target, uid: "another" })).rejects.toThrow(ConflictError);
    await admin.get(`${core}/pods/${target.name}`);
    await write("evict", target);
    await expect(write("evict", target)).rejects.toThrow(GoneError);
  });

  it("reports a PodDisruptionBudget's refusal", async () => {
    const pod = await createPod({ app: "budget" });
    await admin.create(`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`, {
      metadata: { name: "budget" },
      spec: { minAvailable: 1, selector: { matchLabels: { app: "budget" } } },
    });
    // A PodDisruptionBudget never protects an unscheduled pod, so this one must be Running and Ready.
    const binding = { target: { kind: "Node", name: "nowhere" }, metadata: { name: pod.metadata.name } };
    await admin.create(`${core}/pods/${pod.metadata.name}/binding`, binding);
    const conditions = [{ type: "Ready", status: "True", lastTransitionTime: new Date().toISOString() }];
    await admin.patch(`${core}/pods/${pod.metadata.name}/status`, { status: { phase: "Running", conditions } });
    const error: unknown = await write("evict", ref("v1", "Pod", pod)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(WaitError);
    expect((error as WaitError).message).toContain("disruption budget");
    expect((error as WaitError).afterMs).toBeGreaterThanOrEqual(10_000);
    await admin.get(`${core}/pods/${pod.metadata.name}`);
  });

  it("patches the object that was read, or throws if it has changed", async () => {
    const deployment = await createDeployment();
    const target = ref("apps/v1", "Deployment", deployment);
    const body = { spec: { template: { metadata: { annotations: { a: "1" } } } } };
    // The Deployment controller writes to the object as well, so read it just before the patch.
    const seen = await eventually(
      async () => {
        const { metadata } = await admin.get<Raw>(`${apps}/deployments/${target.name}`);
        const patched = write("patch", { ...target, resourceVersion: metadata.resourceVersion }, body);
        return patched.then(
          () => metadata.resourceVersion,
          (error: unknown) => error,
        );
      },
      result => !(result instanceof ConflictError),
    );
    expect(seen).toEqual(expect.any(String));
    const stale = { ...target, resourceVersion: deployment.metadata.resourceVersion };
    await expect(write("patch", stale, { metadata: { labels: { b: "1" } } })).rejects.toThrow(ConflictError);
    await expect(write("patch", { ...target, uid: "another" }, body)).rejects.toThrow(ConflictError);
    await expect(write("patch", { ...target, name: "none" }, body)).rejects.toThrow(GoneError);
    const { metadata, ...now } = await admin.get<Raw & { spec: object }>(`${apps}/deployments/${target.name}`);
    expect(now.spec).toMatchObject({ template: { metadata: { annotations: { a: "1" } } } });
    expect(metadata).toMatchObject({
      managedFields: expect.arrayContaining([expect.objectContaining({ manager: "controller-resilience" })]) as unknown,
    });
  });

  it("rejects a field that the API server does not know", async () => {
    const target = ref("apps/v1", "Deployment", await createDeployment());
    await expect(write("patch", target, { spec: { replicaz: 1 } })).rejects.toThrow(TerminalError);
  });

  it("names the right that it lacks", async () => {
    const writer = new ApiWriter(apiOver(powerless));
    const error: unknown = await writer
      .write(intent("evict", ref("v1", "Pod", await createPod())))
      .catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ForbiddenError);
    expect((error as Error).message).toMatch(/create pods\/eviction .*cannot create resource "pods\/eviction"/);
  });

  it("creates, applies and deletes, with preconditions", async () => {
    const writer = new ApiWriter(admin.api);
    const target = { apiVersion: "v1", kind: "ServiceAccount", namespace, name: `made-${sequence++}` };
    await writer.write(intent("create", target, { metadata: { labels: { a: "1" } } }));
    await expect(writer.write(intent("create", target, {}))).rejects.toThrow(ConflictError);
    await writer.write(intent("apply", target, { metadata: { labels: { b: "2" } } }));
    const made = await admin.get<Raw>(`${core}/serviceaccounts/${target.name}`);
    expect(made.metadata.labels).toEqual({ a: "1", b: "2" });
    await expect(writer.write(intent("delete", { ...target, uid: "another" }))).rejects.toThrow(ConflictError);
    await writer.write(intent("delete", { ...target, uid: made.metadata.uid }));
    await expect(writer.write(intent("delete", target))).rejects.toThrow(GoneError);
  });
});

describe("the store of ControllerResiliences", () => {
  const path = (): string => `/apis/controller-resilience.io/v1alpha1/namespaces/${namespace}/controllerresiliences`;
  const create = (name: string): Promise<Raw> =>
    admin.create(path(), {
      apiVersion: "controller-resilience.io/v1alpha1",
      kind: "ControllerResilience",
      metadata: { name },
      spec: { targets: [{ kind: "Deployment", name: "a" }], tokenRestart: {} },
    });

  it("gets with defaults, lists, and writes status under the resourceVersion that it read", async () => {
    const store = new ApiObjectStore(api);
    await create("one");
    await create("two");
    expect(await store.list()).toEqual(expect.arrayContaining([`${namespace}/one`, `${namespace}/two`]));
    const object = (await store.get(`${namespace}/one`)) as ControllerResilience;
    expect(object.spec).toMatchObject({ mode: "Enforce", tokenRestart: { maxRestarts: 3 } });
    expect(object.metadata).not.toHaveProperty("managedFields");
    const version = await store.writeStatus(object, { observedGeneration: 1 });
    expect((await store.get(`${namespace}/one`))?.status).toEqual({ observedGeneration: 1 });
    expect((await store.get(`${namespace}/one`))?.metadata.resourceVersion).toBe(version);
    await expect(store.writeStatus(object, { observedGeneration: 2 })).rejects.toThrow(ConflictError);
  });

  it("rejects a status with unknown fields instead of dropping them", async () => {
    const store = new ApiObjectStore(api);
    const name = "strict";
    await create(name);
    const object = (await store.get(`${namespace}/${name}`)) as ControllerResilience;
    await expect(store.writeStatus(object, { unheardOf: 1 } as never)).rejects.toThrow(
      /unknown field "status.unheardOf"/,
    );
  });

  it("reports a deleted object as gone, also when a new one has its name", async () => {
    const store = new ApiObjectStore(api);
    await create("gone");
    const object = (await store.get(`${namespace}/gone`)) as ControllerResilience;
    await admin.delete(`${path()}/gone`);
    expect(await store.get(`${namespace}/gone`)).toBeNull();
    await expect(store.writeStatus(object, {})).rejects.toThrow(GoneError);
    await create("gone");
    await expect(store.writeStatus(object, {})).rejects.toThrow(ConflictError);
  });
});

describe("the readers", () => {
  it("read the published keys of ServiceAccount tokens", async () => {
    const [log, keyMemory] = [keepingLog(), new KeyMemory()];
    const context = { api, clock: systemClock, random: systemRandom, log, metrics: keepingMetrics() };
    const informers = new Informers(context, { onWake: () => undefined });
    const [logs, rounds] = [new ApiLogReader(context), new ImmediateRounds(systemClock)];
    const readers = new ClusterReaders({ ...context, informers, logs, rounds, keyMemory });
    try {
      expect(await readers.keyRotation(0)).toBeUndefined();
      expect([keyMemory.history?.current.length, log.kept]).toEqual([1, []]);
    } finally {
      await informers.stop();
    }
  });

  it("read workloads and ServiceAccounts live, and pods from a watch of that namespace", async () => {
    const changed: string[] = [];
    const context = { api, clock: systemClock, random: systemRandom, log: keepingLog(), metrics: keepingMetrics() };
    const informers = new Informers(context, { onWake: name => void changed.push(name) }, [namespace]);
    const logs = new ApiLogReader({ ...context, api });
    const rounds = new ImmediateRounds(systemClock);
    const readers = new ClusterReaders({ clock: systemClock, api, informers, logs, rounds });
    try {
      const deployment = await createDeployment();
      expect(await readers.workload("Deployment", namespace, deployment.metadata.name)).toMatchObject({
        uid: deployment.metadata.uid,
        replicas: 2,
        serviceAccountName: "kai",
      });
      expect(await readers.workload("StatefulSet", namespace, "none")).toBeNull();
      expect((await readers.workloads("Deployment", namespace)).map(view => view.name)).toContain(
        deployment.metadata.name,
      );
      expect(await readers.serviceAccount(namespace, "kai")).toMatchObject({ name: "kai" });
      expect(await readers.serviceAccount(namespace, "none")).toBeNull();
      // Starts the watch, which then brings the pod; pods of the Deployment may come before it.
      await readers.pods(namespace);
      const { uid } = (await createPod()).metadata;
      const uids = async (): Promise<string[]> => (await readers.pods(namespace)).map(view => view.uid);
      expect(await eventually(uids, found => found.includes(uid))).toContain(uid);
      expect(new Set(changed)).toEqual(new Set([namespace]));
    } finally {
      await informers.stop();
    }
  });

  it("throw ForbiddenError per namespace", async () => {
    const log = keepingLog();
    const context = {
      api: apiOver(powerless),
      clock: systemClock,
      random: systemRandom,
      log,
      metrics: keepingMetrics(),
    };
    const informers = new Informers(context, { onWake: () => undefined });
    try {
      await expect(informers.pods(namespace)).rejects.toThrow(ForbiddenError);
    } finally {
      await informers.stop();
    }
  });
});

describe("the lease", () => {
  it("is created once, and updated only with the last resourceVersion", async () => {
    const store = new ApiLeaseStore(api, { namespace, name: "leader" });
    const record = {
      holderIdentity: "a",
      leaseDurationSeconds: 15,
      acquireTimeMs: 1_700_000_000_123,
      renewTimeMs: 1_700_000_000_456,
      leaseTransitions: 0,
    };
    expect(await store.get()).toBeNull();
    const first = await store.create(record);
    expect(first).toMatchObject(record);
    await expect(store.create(record)).rejects.toThrow(ConflictError);
    const second = await store.update({ ...first, holderIdentity: "b", leaseTransitions: 1 });
    expect(await store.get()).toEqual(second);
    await expect(store.update({ ...first, holderIdentity: "c" })).rejects.toThrow(ConflictError);
    expect(await store.update({ ...second, holderIdentity: "" })).toMatchObject({ holderIdentity: "" });
  });
});

describe("the restart breaker on the lease", () => {
  it("is written with an update, and read back after a person has removed the annotation", async () => {
    const store = new ApiLeaseStore(api, { namespace, name: "breaker" });
    const times = { acquireTimeMs: 1_700_000_000_123, renewTimeMs: 1_700_000_000_456 };
    const created = await store.create({
      ...{ holderIdentity: "a", leaseDurationSeconds: 15, leaseTransitions: 0, ...times },
    });
    expect(created).not.toHaveProperty("breaker");
    const tripped = await store.update({ ...created, breaker: "why" });
    expect(tripped.breaker).toBe("why");
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/breaker`;
    await admin.patch(path, { metadata: { annotations: { note: "kept", [BREAKER_ANNOTATION]: null } } });
    await expect(store.update(tripped)).rejects.toThrow(ConflictError);
    const reset = (await store.get())!;
    expect(reset).not.toHaveProperty("breaker");
    expect(await store.update(reset)).not.toHaveProperty("breaker");
    const { metadata } = await admin.get<{ metadata: { annotations: object } }>(path);
    expect(metadata.annotations).toEqual({ note: "kept" });
  });
});

describe("Events", () => {
  interface RawEvent {
    readonly note: string;
    readonly reason: string;
    readonly regarding: { name: string };
  }

  it("are recorded once also when they repeat, with notes cut to the API's limit", async () => {
    const metrics = keepingMetrics();
    const random = () => 0.5;
    const sink = new ApiEventSink({ api, clock: systemClock, random, log: keepingLog(), metrics, instance: "host-1" });
    const regarding = ref("v1", "Pod", await createPod());
    const event = { regarding, type: "Warning", reason: "Rejected", action: "Evict", note: "漢".repeat(600) } as const;
    sink.record(event);
    sink.record(event);
    sink.record({ ...event, note: "another" });
    sink.record({
      ...event,
      regarding: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name: "view" },
      note: "cluster-scoped",
    });
    await sink.stop(10_000);
    expect(metrics.counted).toEqual([]);
    const { items } = await admin.get<{ items: RawEvent[] }>(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`);
    const ours = items.filter(item => item.regarding.name === regarding.name);
    expect(ours.map(item => item.note.slice(0, 7)).sort()).toEqual(["another", "漢".repeat(7)]);
  });

  it("that can't be recorded are counted, and throw nothing", async () => {
    const metrics = keepingMetrics();
    const sink = new ApiEventSink({
      api: apiOver(powerless),
      clock: systemClock,
      random: () => 0.5,
      log: keepingLog(),
      metrics,
      instance: "host-1",
    });
    const regarding = ref("v1", "Pod", await createPod());
    sink.record({ regarding, type: "Normal", reason: "R", action: "A", note: "n" });
    await sink.stop(10_000);
    expect(metrics.counted).toEqual(["event lost"]);
  });
});
