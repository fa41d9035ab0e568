import { setTimeout as sleep } from "node:timers/promises";
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Api } from "../../src/cluster/http/api";
import { Connection } from "../../src/cluster/http/connection";
import { KINDS } from "../../src/core/kinds";
import { systemClock } from "../../src/cluster/system";
import type { Delta } from "../../src/cluster/watch/view-cache";
import { serviceAccountView } from "../../src/cluster/read/views";
import { Watch } from "../../src/cluster/watch/watch";
import type { ServiceAccountView } from "../../src/core/views";
import type { Fault } from "../chaos/fault";
import { FaultProxy } from "../chaos/fault-proxy";
import { kubeconfigVia } from "../chaos/kubeconfig";
import { Admin, eventually, keepingLog, keepingMetrics, options } from "./cluster-world";
import { suiteLab } from "./suite-lab";

// Each fault hits a watch of a real API server while objects are created and deleted. Afterwards the cache must equal the server's state, and
// a listener that applied every delta must have the same objects: no change was missed.

const admin = new Admin();
const lab = suiteLab();
const { ca, ...serving } = lab.certificates;
const proxy = new FaultProxy({ server: lab.server, ca, serving });
const config = new KubeConfig();
let namespace: string;
let listening: Connection;
let watch: Watch<ServiceAccountView>;
let told: Map<string, string>;
let log: ReturnType<typeof keepingLog>;
let metrics: ReturnType<typeof keepingMetrics>;

beforeAll(async () => {
  await proxy.start();
  namespace = await admin.namespace("watch");
  await admin.create(path(), { metadata: { name: "watcher" } });
  await admin.create(`/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`, {
    metadata: { name: "watcher" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
    subjects: [{ kind: "ServiceAccount", namespace, name: "watcher" }],
  });
  config.loadFromString(kubeconfigVia(proxy.url, await lab.serviceAccountKubeconfig(namespace, "watcher")));
});

afterAll(async () => {
  await proxy.stop();
  admin.connection.close();
});

beforeEach(() => listenWith({ stallMs: 1_500 }));

afterEach(async () => {
  proxy.end();
  await hangUp();
});

async function listenWith({ stallMs }: { stallMs: number }): Promise<void> {
  listening = new Connection(() => config, systemClock);
  told = new Map();
  log = keepingLog();
  metrics = keepingMetrics();
  const api = new Api(listening, systemClock, options);
  const timing = { stallMs, steadyMs: 200, serverTimeoutMs: 5_000 };
  // A random number of 0.1 makes all delays short.
  const context = { api, clock: systemClock, random: () => 0.1, log, metrics, timing };
  watch = new Watch(context, {
    resource: KINDS.ServiceAccount,
    namespace,
    project: serviceAccountView,
    onDelta: listen,
  });
  watch.start();
  await watch.attempted();
}

/** Long enough that a slow machine's pauses between events are not mistaken for a stalled connection. */
async function listenPatiently(): Promise<void> {
  await hangUp();
  await listenWith({ stallMs: 600_000 });
}

async function hangUp(): Promise<void> {
  await watch.stop();
  listening.close();
}

/** Applies a delta to the listener's own picture, and fails on one that does not fit. */
function listen({ before, after }: Delta<ServiceAccountView>): void {
  if (before !== null) expect(told.has(before.uid)).toBe(true);
  if (after === null) told.delete(before?.uid ?? "");
  else told.set(after.uid, after.name);
}

const path = (name = ""): string => `/api/v1/namespaces/${namespace}/serviceaccounts${name === "" ? "" : `/${name}`}`;
let sequence = 0;

async function create(): Promise<string> {
  const name = `grüße-${sequence++}`.replace("ü", "u").replace("ß", "ss");
  // Characters of two to four bytes, so that some are split across chunks.
  await admin.create(path(), { metadata: { name, annotations: { note: "ÄÖ→漢字🙂".repeat(50) } } });
  return name;
}

/** Creates and deletes objects for a while; each deleted object existed during a part of the fault. */
async function churn(rounds: number): Promise<void> {
  const alive: string[] = [];
  for (let i = 0; i < rounds; i++) {
    alive.push(await create());
    if (i % 2 === 1) await admin.delete(path(alive.shift()));
    await sleep(20);
  }
}

async function truth(): Promise<string[]> {
  const { items } = await admin.get<{ items: { metadata: { uid: string } }[] }>(path());
  return items.map(item => item.metadata.uid).sort();
}

async function expectTruth(): Promise<void> {
  const expected = await truth();
  const isAll = (uids: string[]): boolean => uids.join() === expected.join();
  const held = (): string[] => [...watch.views().map(view => view.uid)].sort();
  expect(await eventually(held, isAll)).toEqual(expected);
  // Deltas are delivered in slices, so a little later.
  expect(await eventually(() => [...told.keys()].sort(), isAll)).toEqual(expected);
}

describe("a watch of a real API server", () => {
  it.each<[string, Fault, string]>([
    ["resets", "reset", "ended broken"],
    ["events that are cut by a reset", "truncate", "ended broken"],
    ["events that are cut by a clean end", "cut", "ended broken"],
    ["clean closes", "close", "ended closed"],
    ["silence", "silence", "ended stalled"],
    ["nonsense", "nonsense", "ended malformed"],
    ["410 within the stream", "gone-event", "ended expired"],
    ["401", { code: 401 }, "ended unauthorized"],
    ["403", { code: 403 }, "ended forbidden"],
    ["410 as the answer", { code: 410 }, "ended expired"],
    ["429", { code: 429, retryAfter: "1" }, "ended throttled"],
    ["500", { code: 500 }, "ended broken"],
    ["503", { code: 503 }, "ended broken"],
  ])("misses nothing after %s", async (_, fault, counted) => {
    await churn(4);
    proxy.begin(fault);
    await churn(30);
    await eventually(
      () => metrics.counted,
      counts => counts.includes(counted),
    );
    proxy.end();
    await churn(2);
    await expectTruth();
    expect(metrics.counted).toContain(counted);
    if (counted !== "ended closed") expect(log.kept.map(entry => entry.message)).toContain("watch failed, backing off");
  });

  it("parses an answer that arrives byte by byte", async () => {
    await listenPatiently();
    proxy.begin("drip");
    await churn(10);
    await expectTruth();
    expect(log.kept).toEqual([]);
  });

  it("pages through a list of more than 1,000 objects", async () => {
    await Promise.all(Array.from({ length: 1_100 }, () => create()));
    proxy.begin({ code: 410 });
    const expired = (counts: string[]): boolean => counts.includes("ended expired");
    expect(expired(await eventually(() => metrics.counted, expired))).toBe(true);
    proxy.end();
    await expectTruth();
  });

  it("uses one socket, and none after it is stopped", async () => {
    await listenPatiently();
    await churn(2);
    await expectTruth();
    expect(proxy.sockets.size).toBeLessThanOrEqual(2);
    await hangUp();
    expect(
      await eventually(
        () => proxy.sockets.size,
        sockets => sockets === 0,
      ),
    ).toBe(0);
  });
});
