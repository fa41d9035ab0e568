import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Connection } from "../../src/cluster/http/connection";
import { Informers } from "../../src/cluster/watch/informers";
import { systemClock, systemRandom } from "../../src/cluster/system";
import { ForbiddenError } from "../../src/core/errors";
import type { SandboxEventView } from "../../src/core/views";
import { persistenceOf } from "../../src/logs/persistence";
import { SandboxTraces } from "../../src/logs/sandboxes";
import { apiOver, clientWith, RULES } from "./cluster-operator";
import { Admin, eventually, keepingLog, keepingMetrics } from "./cluster-world";

// Events of sandboxes in both APIs, in namespaces without a ControllerResilience, read with the operator's own rights.

const admin = new Admin();
let connection: Connection;
let own: string;
let shop: string;
let changed: string[] = [];
let informers: Informers;

const CAUSE = "error getting ClusterInformation: connection is unauthorized: Unauthorized";
const said = (cause: string): string =>
  `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "5d": plugin type="calico" failed (add): ${cause}`;
const RULE = { occasions: 3, windowMs: 900_000, minDurationMs: 60_000 };
const at = (ms: number): string => new Date(Math.floor(ms / 1000) * 1000).toISOString().replace(".000Z", "Z");
const micro = (ms: number): string => at(ms).replace("Z", ".000000Z");

const corePath = (): string => `/api/v1/namespaces/${shop}/events`;
const newPath = (): string => `/apis/events.k8s.io/v1/namespaces/${shop}/events`;

interface Created {
  readonly metadata: { readonly name: string; readonly uid: string };
}

/** An Event as the kubelet's recorder writes it. */
function viaCore(node: string, over: object = {}): Promise<Created> {
  return admin.create(corePath(), {
    metadata: { generateName: "web-" },
    involvedObject: { kind: "Pod", namespace: shop, name: "web-1" },
    reason: "FailedCreatePodSandBox",
    message: said(CAUSE),
    type: "Warning",
    source: { component: "kubelet", host: node },
    firstTimestamp: at(Date.now()),
    lastTimestamp: at(Date.now()),
    count: 1,
    ...over,
  });
}

/** An Event as a recorder of the newer API writes it. */
function viaEvents(node: string, over: object = {}): Promise<Created> {
  return admin.create(newPath(), {
    metadata: { generateName: "web-" },
    regarding: { kind: "Pod", namespace: shop, name: "web-1" },
    reason: "FailedCreatePodSandBox",
    action: "CreateSandbox",
    note: said(CAUSE),
    type: "Warning",
    reportingController: "kubelet",
    reportingInstance: node,
    eventTime: micro(Date.now()),
    ...over,
  });
}

const find = (views: readonly SandboxEventView[], { metadata }: Created): SandboxEventView | undefined =>
  views.find(({ uid }) => uid === metadata.uid);

/** Waits for the view of an Event that meets an expectation. */
async function seen(
  event: Created,
  hoped: (view: SandboxEventView) => boolean = () => true,
): Promise<SandboxEventView> {
  const views = await eventually(
    () => informers.sandboxEvents(own),
    all => {
      const view = find(all, event);
      return view !== undefined && hoped(view);
    },
  );
  return find(views, event)!;
}

beforeAll(async () => {
  own = await admin.namespace("cni");
  shop = await admin.namespace("shop");
  connection = await clientWith(admin, own, RULES);
  const shared = { clock: systemClock, random: systemRandom, log: keepingLog(), metrics: keepingMetrics() };
  informers = new Informers(
    { api: apiOver(connection), ...shared },
    { onWake: namespace => void changed.push(namespace) },
    [own],
  );
});

afterAll(async () => {
  await informers.stop();
  for (const each of [connection, admin.connection]) each.close();
});

describe("Events of sandboxes", () => {
  it("are listed and watched, in both formats and from any namespace", async () => {
    const nowMs = Date.now();
    // The clock of the node is an hour behind.
    const slowMs = nowMs - 3_600_000;
    const times = { firstTimestamp: at(slowMs - 70_000), lastTimestamp: at(slowMs), count: 6 };
    const before = await viaCore("listed", times);
    const first = await seen(before);
    expect(first).toMatchObject({ node: "listed", namespace: shop, count: 6, unauthorized: true });
    expect(first.storedMs).toBeGreaterThanOrEqual(Date.parse(at(nowMs)));
    const series = { count: 6, lastObservedTime: micro(slowMs) };
    const second = await seen(await viaEvents("watched", { eventTime: micro(slowMs - 70_000), series }));
    expect(second).toMatchObject({ node: "watched", count: 6, unauthorized: true });
    expect(second.storedMs).toBeGreaterThanOrEqual(Date.parse(at(nowMs)));
    const deprecated = {
      eventTime: null,
      deprecatedSource: { component: "kubelet", host: "old" },
      deprecatedFirstTimestamp: at(nowMs - 70_000),
      deprecatedLastTimestamp: at(nowMs),
      deprecatedCount: 6,
    };
    // The newer API rejects such an Event, but shows those of the core API in this format.
    await expect(viaEvents("old", deprecated)).rejects.toThrow();
    expect(await admin.get(`${newPath()}/${before.metadata.name}`)).toMatchObject({ deprecatedCount: 6 });
    expect(JSON.stringify(await informers.sandboxEvents(own))).not.toMatch(/calico|rpc error/);
  });

  it("are counted once per growth that was seen, and finally prove a rejected credential", async () => {
    const traces = new SandboxTraces();
    const startMs = Date.now() - 75_000;
    const event = await viaCore("growing", { firstTimestamp: at(startMs), lastTimestamp: at(startMs) });
    const newer = await viaEvents("series", { eventTime: micro(startMs) });
    await seen(event);
    await seen(newer);
    traces.take(await informers.sandboxEvents(own), RULE.windowMs, startMs + 1_000);
    for (let i = 1; i <= 5; i++) {
      const ms = startMs + i * 15_000;
      await admin.patch(`${corePath()}/${event.metadata.name}`, { count: i + 1, lastTimestamp: at(ms) });
      // A series begins with a count of two.
      const series = { count: i + 1, lastObservedTime: micro(ms) };
      await admin.patch(`${newPath()}/${newer.metadata.name}`, { series });
      await seen(event, ({ count }) => count === i + 1);
      await seen(newer, ({ count }) => count === i + 1);
      for (let again = 0; again < 3; again++)
        traces.take(await informers.sandboxEvents(own), RULE.windowMs, ms + 1_000 + again);
      for (const node of ["growing", "series"]) {
        const { all, byNamespace } = traces.of(node);
        expect(all.occasions).toHaveLength(i + 1);
        expect([...byNamespace.keys()]).toEqual([shop]);
        const state = i < 4 ? "suspected" : "persistent";
        expect(persistenceOf(all, RULE, ms + 1_000).state).toBe(state);
      }
    }
  });

  it("count for their own namespace: the newer API accepts an Event about a pod of another one", async () => {
    const involvedObject = { kind: "Pod", namespace: own, name: "web-1" };
    await expect(viaCore("forged", { involvedObject })).rejects.toThrow(/namespace/);
    const forged = await viaEvents("forged", { regarding: involvedObject });
    expect(await seen(forged)).toMatchObject({ namespace: shop, node: "forged" });
  });

  it("of other causes trigger no pass, and Events of other reasons are not even sent", async () => {
    const other = await viaCore("other", { message: said("no IP addresses available in range set") });
    expect(await seen(other)).toMatchObject({ node: "other", unauthorized: false });
    const foreign = await viaCore("foreign", { reason: "BackOff" });
    changed = [];
    const rejected = await viaEvents("rejected");
    await seen(rejected);
    expect(changed).toEqual([own]);
    expect(find(await informers.sandboxEvents(own), foreign)).toBeUndefined();
    const selected = await admin.get<{ items: Created[] }>(
      "/api/v1/events?fieldSelector=reason=FailedCreatePodSandBox",
    );
    const uids = selected.items.map(({ metadata }) => metadata.uid);
    expect(uids).toContain(other.metadata.uid);
    expect(uids).not.toContain(foreign.metadata.uid);
    await admin.delete(`${corePath()}/${rejected.metadata.name}`);
    const gone = await eventually(
      () => informers.sandboxEvents(own),
      all => find(all, rejected) === undefined,
    );
    expect(find(gone, rejected)).toBeUndefined();
    expect(changed).toEqual([own]);
  });

  it("throw an error that names the missing right without the right to list", async () => {
    const rules = RULES.filter(({ resources, apiGroups }) => !(resources.includes("events") && apiGroups.includes("")));
    const powerless = await clientWith(admin, own, rules);
    const shared = { clock: systemClock, random: systemRandom, log: keepingLog(), metrics: keepingMetrics() };
    const blind = new Informers({ api: apiOver(powerless), ...shared }, { onWake: () => undefined }, [own]);
    try {
      const error: unknown = await blind.sandboxEvents(own).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ForbiddenError);
      expect((error as Error).message).toMatch(/list events.*cannot list resource "events"/);
      expect(await blind.pods(own)).toEqual([]);
    } finally {
      await blind.stop();
      powerless.close();
    }
  });
});
