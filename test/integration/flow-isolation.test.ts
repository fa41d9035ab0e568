import { ImmediateRounds } from "../../src/core/testing/immediate-rounds";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import type { ControllerResilience, FlowStatus } from "../../src/api/controller-resilience";
import { Connection } from "../../src/cluster/http/connection";
import { loadKubeConfigFile } from "../../src/cluster/testing/kubeconfig";
import { Informers } from "../../src/cluster/watch/informers";
import { ApiLogReader } from "../../src/cluster/read/log-reader";
import { ApiObjectStore } from "../../src/cluster/write/object-store";
import { RequestCounts } from "../../src/cluster/measure/request-counts";
import { ClusterReaders } from "../../src/cluster/read/readers";
import { systemClock, systemRandom } from "../../src/cluster/system";
import { ApiWriter } from "../../src/cluster/write/writer";
import { RecordingEvents } from "../../src/engine/testing/fakes";
import { makeReconciler } from "../../src/engine/testing/reconciler";
import { makeRestarts } from "../../src/restarts/testing/ledger";
import { createFlowIsolation } from "../../src/remedies/flow-isolation/remedy";
import { shippedRules } from "../cluster/installation";
import { apiOver, clientWith } from "./cluster-operator";
import { Admin, eventually, keepingLog, keepingMetrics } from "./cluster-world";
import { suiteLab } from "./suite-lab";

// Whole passes of the remedy against a real API server, with the rights of deploy/ and a client that really floods the server. The tests of
// this file follow one object from its first pass to its end.

const FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1";
const UID_HEADER = "x-kubernetes-pf-flowschema-uid";
const [SHARED, QUARANTINE] = ["controller-resilience-shared", "controller-resilience-tar-pit"];
const LEASES = "controller-resilience-leases";
const SPEC = { requestRate: { threshold: 20, for: "5s", onRunaway: "Throttle", release: "10m" } };

interface FlowObject {
  metadata: { name: string; uid: string; resourceVersion: string };
  spec: { matchingPrecedence: number; priorityLevelConfiguration: { name: string } };
}

const admin = new Admin();
const connections: Connection[] = [admin.connection];
let namespace: string;
let objects: string;
let user: Connection;
let operator: ReturnType<typeof start>;

/** An operator process. */
function start(connection: Connection) {
  const api = apiOver(connection);
  const log = keepingLog();
  const context = { api, clock: systemClock, random: systemRandom, log, metrics: keepingMetrics() };
  const informers = new Informers(context, { onWake: () => undefined }, [namespace]);
  const events = new RecordingEvents();
  const store = new ApiObjectStore(api);
  const [logs, rounds] = [new ApiLogReader(context), new ImmediateRounds(systemClock)];
  // The API server of the lab has just started.
  const requestCounts = new RequestCounts({ api, clock: systemClock, settleMs: 0 });
  const reconciler = makeReconciler({
    ...{ store, events, log, writer: new ApiWriter(api), random: systemRandom },
    readers: new ClusterReaders({ ...context, informers, logs, rounds, requestCounts }),
    remedies: [createFlowIsolation()],
    restarts: makeRestarts(systemClock, 1),
  });
  const pass = async (): Promise<ControllerResilience | null> => {
    await reconciler.reconcile(`${namespace}/it`, () => true);
    return store.get(`${namespace}/it`);
  };
  return { pass, events, stop: () => informers.stop() };
}

/** Runs passes until the condition has a reason; returns the condition. */
async function untilReason(reason: string, withinMs = 30_000) {
  const read = async () =>
    (await operator.pass())?.status?.conditions?.find(({ type }) => type === "FlowsIsolated") ?? { reason: "none" };
  const condition = await eventually(read, found => found.reason === reason, withinMs);
  expect(condition).toMatchObject({ reason });
  return condition;
}

const flowNow = async (): Promise<FlowStatus> => (await operator.pass())!.status!.flows![0]!;
const flowPath = async (): Promise<string> => `${FLOWS}/flowschemas/${(await flowNow()).flowSchema}`;
const level = async (): Promise<string> =>
  (await admin.get<FlowObject>(await flowPath())).spec.priorityLevelConfiguration.name;

/** The FlowSchemas of this object, and the levels that it shares with others. */
async function made(): Promise<string[]> {
  const lists = await Promise.all(
    ["flowschemas", "prioritylevelconfigurations"].map(plural =>
      admin.get<{ items: FlowObject[] }>(`${FLOWS}/${plural}`),
    ),
  );
  const names = lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
  return names.filter(name => [SHARED, LEASES, QUARANTINE].includes(name) || name.includes(namespace));
}

/** Sends a request as the ServiceAccount, which has no rights. Returns the uid of the matching FlowSchema, and the duration. */
async function request(path: string, signal = AbortSignal.timeout(60_000)): Promise<{ uid: string; ms: number }> {
  const began = performance.now();
  const answer = await user.send(await user.access(), { method: "GET", path, headers: {} }, signal);
  answer.resume();
  return { uid: String(answer.headers[UID_HEADER]), ms: performance.now() - began };
}

/** Runs eight clients in tight loops until the returned function is called. */
function flood(): () => void {
  const ended = new AbortController();
  const loop = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await request(`/api/v1/namespaces/${namespace}/configmaps`, ended.signal).catch(() => undefined);
    }
  };
  for (let i = 0; i < 8; i++) void loop();
  return () => ended.abort();
}

beforeAll(async () => {
  namespace = await admin.namespace("flows");
  objects = `/apis/controller-resilience.io/v1alpha1/namespaces/${namespace}/controllerresiliences`;
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await admin.create(accounts, { metadata: { name: "web" } });
  const { status } = await admin.create<{ status: { token: string } }>(`${accounts}/web/token`, { spec: {} });
  const config = new KubeConfig();
  const cluster = loadKubeConfigFile(suiteLab().kubeconfigPath).getCurrentCluster();
  config.loadFromClusterAndUser(cluster!, { name: "web", token: status.token });
  user = new Connection(() => config, systemClock);
  const labels = { app: "web" };
  await admin.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
    metadata: { name: "web" },
    spec: {
      replicas: 3,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { serviceAccountName: "web", containers: [{ name: "web", image: "none", imagePullPolicy: "Never" }] },
      },
    },
  });
  await admin.create(objects, {
    apiVersion: "controller-resilience.io/v1alpha1",
    kind: "ControllerResilience",
    metadata: { name: "it" },
    spec: { targets: [{ kind: "Deployment", name: "web" }], flowIsolation: SPEC },
  });
  const connection = await clientWith(admin, namespace, shippedRules());
  connections.push(connection, user);
  operator = start(connection);
});

afterAll(async () => {
  await operator.stop();
  for (const connection of connections) connection.close();
});

it("gives a ServiceAccount flows that the API server stores unchanged and uses for its requests", async () => {
  await untilReason("Isolated");
  const names = await made();
  expect(names.toSorted()).toEqual([
    expect.stringMatching(`^controller-resilience-${namespace}-web-`),
    LEASES,
    expect.stringMatching(`^controller-resilience-leases-${namespace}-web-`),
    SHARED,
    QUARANTINE,
  ]);
  const own = await admin.get<FlowObject>(await flowPath());
  const uid = (path: string) => async (): Promise<string> => (await request(path)).uid;
  const configMaps = uid(`/api/v1/namespaces/${namespace}/configmaps`);
  expect(await eventually(configMaps, found => found === own.metadata.uid)).toBe(own.metadata.uid);
  const leases = await admin.get<FlowObject>(
    `${FLOWS}/flowschemas/${names.find(name => name.startsWith(`${LEASES}-`))}`,
  );
  const lease = uid(`/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/web`);
  expect(await eventually(lease, found => found === leases.metadata.uid)).toBe(leases.metadata.uid);
  // Fields that the API server has defaulted are no drift.
  await operator.pass();
  expect((await admin.get<FlowObject>(await flowPath())).metadata.resourceVersion).toBe(own.metadata.resourceVersion);
});

it("restores a FlowSchema twice after another client changed it, then reports the field manager", async () => {
  const path = await flowPath();
  const change = (): Promise<unknown> =>
    admin.api.json({
      ...{ what: "change a FlowSchema", method: "PATCH", path, query: { fieldManager: "somebody" } },
      ...{ body: { spec: { matchingPrecedence: 3000 } }, contentType: "application/merge-patch+json" },
    });
  for (const changes of [1, 2]) {
    await change();
    expect(await flowNow()).toMatchObject({ changes });
    expect((await admin.get<FlowObject>(path)).spec.matchingPrecedence).toBe(1000);
  }
  await change();
  expect(await untilReason("Contested")).toMatchObject({ message: expect.stringContaining("somebody") as string });
  expect((await admin.get<FlowObject>(path)).spec.matchingPrecedence).toBe(3000);
  await admin.patch(`${objects}/it`, { spec: { flowIsolation: { requestRate: { threshold: 21 } } } });
  await untilReason("Isolated");
  expect((await admin.get<FlowObject>(path)).spec.matchingPrecedence).toBe(1000);
});

it("throttles a flooding client but not its leases", async () => {
  const stop = flood();
  try {
    await untilReason("Throttled", 90_000);
    expect(await flowNow()).toMatchObject({ state: "Throttled", priorityLevel: QUARANTINE });
    expect(await level()).toBe(QUARANTINE);
    const lease = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/web`;
    // The API server applies the change after a short delay.
    const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
    const slow = await eventually(
      () =>
        request(configMaps, AbortSignal.timeout(3_000)).then(
          () => "answered",
          () => "waits",
        ),
      answer => answer === "waits",
    );
    expect(slow).toBe("waits");
    expect((await request(lease)).ms).toBeLessThan(2_000);
    const told = operator.events.records.map(({ reason, note }) => `${reason}: ${note}`);
    expect(told).toContainEqual(
      expect.stringMatching(
        /^FlowThrottled: ServiceAccount web is throttled for \w+: \d+ requests\/s, threshold 21 requests\/s for 5s/,
      ),
    );
  } finally {
    stop();
  }
});

it("releases the client after the documented command", async () => {
  await admin.patch(`${objects}/it`, { spec: { flowIsolation: { requestRate: { onRunaway: "Report" } } } });
  await untilReason("Watched");
  expect(await level()).toBe(SHARED);
  const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
  const quick = await eventually(
    () => request(configMaps, AbortSignal.timeout(20_000)),
    ({ ms }) => ms < 2_000,
  );
  expect(quick.ms).toBeLessThan(2_000);
});

it("deletes everything that it created with the object", async () => {
  await admin.delete(`${objects}/it`);
  expect(
    await eventually(
      () => operator.pass(),
      object => object === null,
    ),
  ).toBeNull();
  expect(await made()).toEqual([]);
});

const EMERGENCY = ["emergency-quarantine.yaml", "emergency-quarantine-user.yaml"];
it.each(EMERGENCY)("the API server accepts %s of the runbook verbatim", async file => {
  const text = readFileSync(join(__dirname, "..", "..", "docs", "examples", file), "utf8");
  const filled = text
    .replaceAll("NAMESPACE,", `${namespace},`)
    .replaceAll("SERVICEACCOUNT", "other")
    .replaceAll("USERNAME", "kai@example.com");
  const plurals = { PriorityLevelConfiguration: "prioritylevelconfigurations", FlowSchema: "flowschemas" };
  const manifests = parseAllDocuments(filled).map(one => one.toJS() as FlowObject & { kind: keyof typeof plurals });
  const paths = manifests.map(({ kind, metadata }) => `${FLOWS}/${plurals[kind]}/${metadata.name}`);
  for (const one of manifests) await admin.create(`${FLOWS}/${plurals[one.kind]}`, one);
  const specs = await Promise.all(paths.map(path => admin.get<{ spec: object }>(path)));
  expect(specs.map(({ spec }) => spec)).toEqual(manifests.map(({ spec }) => expect.objectContaining(spec) as object));
  for (const path of paths.reverse()) await admin.delete(path);
});
