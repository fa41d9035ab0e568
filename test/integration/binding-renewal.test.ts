import { ImmediateRounds } from "../../src/core/testing/immediate-rounds";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ControllerResilience } from "../../src/api/controller-resilience";
import { LATEST_EXPIRY_ANNOTATION, LIFE_ANNOTATION } from "../../src/api/names";
import type { Connection } from "../../src/cluster/http/connection";
import { Informers } from "../../src/cluster/watch/informers";
import { ApiLogReader } from "../../src/cluster/read/log-reader";
import { ApiObjectStore } from "../../src/cluster/write/object-store";
import { ClusterReaders } from "../../src/cluster/read/readers";
import { systemClock, systemRandom } from "../../src/cluster/system";
import { ApiWriter } from "../../src/cluster/write/writer";
import type { Clock } from "../../src/core/time";
import { ConflictError, ForbiddenError } from "../../src/core/errors";
import type { Intent } from "../../src/core/intent";
import { RecordingEvents, RecordingMetrics } from "../../src/engine/testing/fakes";
import { makeReconciler } from "../../src/engine/testing/reconciler";
import { makeRestarts } from "../../src/restarts/testing/ledger";
import { createBindingRenewal } from "../../src/remedies/binding-renewal/remedy";
import { shippedRules } from "../cluster/installation";
import { apiOver, clientWith } from "./cluster-operator";
import { Admin, eventually, keepingLog, keepingMetrics } from "./cluster-world";

// Whole passes of the remedy, as the operator's ServiceAccount, against a real API server with its real check against privilege escalation.
// The operator's clock is set ahead to cover events that take weeks.

const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const CRES = "/apis/controller-resilience.io/v1alpha1";
const DAY = 86_400_000;

interface Binding {
  metadata: {
    name: string;
    uid: string;
    creationTimestamp: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  roleRef: object;
  subjects: object[];
}

const admin = new Admin();
let operator: Connection;
let namespace: string;

beforeAll(async () => {
  namespace = await admin.namespace("bindings");
  operator = await clientWith(admin, namespace, shippedRules());
  // It does not run as ServiceAccount web, so each object handles only the bindings that it names.
  const labels = { app: "web" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web" }] } };
  await admin.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
    metadata: { name: "web" },
    spec: { replicas: 0, selector: { matchLabels: labels }, template },
  });
});

afterAll(() => {
  operator.close();
  admin.connection.close();
});

/** An operator process whose clock can be set ahead. */
function start() {
  const ahead = { ms: 0 };
  const clock: Clock = { ...systemClock, now: () => new Date(systemClock.now().getTime() + ahead.ms) };
  const api = apiOver(operator);
  const log = keepingLog();
  const context = { api, clock: systemClock, random: systemRandom, log, metrics: keepingMetrics() };
  const informers = new Informers(context, { onWake: () => undefined }, [namespace]);
  const logs = new ApiLogReader({ ...context, api });
  const readers = new ClusterReaders({ clock, api, informers, logs, rounds: new ImmediateRounds(systemClock) });
  const events = new RecordingEvents();
  const metrics = new RecordingMetrics();
  const store = new ApiObjectStore(api);
  const reconciler = makeReconciler({
    store,
    writer: new ApiWriter(api),
    events,
    readers,
    remedies: [createBindingRenewal()],
    restarts: makeRestarts(systemClock, 1),
    random: systemRandom,
    log,
    metrics,
  });
  const pass = async (name: string): Promise<ControllerResilience> => {
    await reconciler.reconcile(`${namespace}/${name}`, () => true);
    return (await store.get(`${namespace}/${name}`))!;
  };
  return { ahead, pass, readers, events, metrics, log, stop: () => informers.stop() };
}

const path = (name = ""): string => `${RBAC}/namespaces/${namespace}/rolebindings${name === "" ? "" : `/${name}`}`;
const rbacRef = (kind: string, name: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind, name });

function createBinding(name: string, metadata: object, over: object = {}): Promise<Binding> {
  return admin.create(path(), {
    metadata: { name, ...metadata },
    roleRef: rbacRef("ClusterRole", "edit"),
    subjects: [{ kind: "ServiceAccount", name: "web", namespace }],
    ...over,
  });
}

async function protect(name: string, bindings: object[], block: object = {}): Promise<void> {
  await admin.create(`${CRES}/namespaces/${namespace}/controllerresiliences`, {
    apiVersion: "controller-resilience.io/v1alpha1",
    kind: "ControllerResilience",
    metadata: { name },
    spec: { targets: [{ kind: "Deployment", name: "web" }], bindingRenewal: { bindings, ...block } },
  });
}

/** Gives the operator the right to renew bindings of a role, as an installer does. */
async function allowToBind(resource: string, role: string): Promise<void> {
  const name = `bind-${role}-${Math.random().toString(36).slice(2, 8)}`;
  const who = (
    await admin.get<{ items: { metadata: { name: string } }[] }>(`/api/v1/namespaces/${namespace}/serviceaccounts`)
  ).items.find(({ metadata }) => metadata.name.startsWith("operator-"))!.metadata.name;
  const rules = [
    { apiGroups: ["rbac.authorization.k8s.io"], resources: [resource], resourceNames: [role], verbs: ["bind", "get"] },
  ];
  await admin.create(`${RBAC}/clusterroles`, { metadata: { name }, rules });
  await admin.create(`${RBAC}/clusterrolebindings`, {
    metadata: { name },
    roleRef: rbacRef("ClusterRole", name),
    subjects: [{ kind: "ServiceAccount", name: who, namespace }],
  });
}

const condition = (object: ControllerResilience) =>
  object.status?.conditions?.find(({ type }) => type === "BindingsCurrent");

const inDays = (days: number): string =>
  new Date(Math.floor(Date.now() / 1000) * 1000 + days * DAY).toISOString().replace(".000Z", "Z");

describe("without the right to bind the role", () => {
  it("the API server refuses even a change of an annotation, and the remedy knows that beforehand", async () => {
    const expiry = inDays(30);
    const { metadata } = await createBinding("forbidden", {
      annotations: { "controller-resilience.io/expires-at": expiry },
    });
    const intent: Intent = {
      verb: "patch",
      target: {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "RoleBinding",
        namespace,
        name: "forbidden",
        uid: metadata.uid,
      },
      body: { metadata: { annotations: { "controller-resilience.io/expires-at": inDays(60) } } },
      why: "a test",
      eventReason: "BindingRenewed",
    };
    await expect(new ApiWriter(apiOver(operator)).write(intent)).rejects.toThrow(ForbiddenError);

    const one = start();
    await protect("forbidden", [{ kind: "RoleBinding", name: "forbidden" }]);
    one.ahead.ms = 24 * DAY;
    const object = await one.pass("forbidden");
    expect(condition(object)).toMatchObject({ status: "False", reason: "Forbidden" });
    expect(condition(object)?.message).toContain('resources: [clusterroles], resourceNames: ["edit"], verbs: [bind]');
    expect(one.metrics.seen.filter(line => line.startsWith("intent"))).toEqual([]);
    await one.stop();

    await allowToBind("clusterroles", "edit");
    const two = start();
    two.ahead.ms = 29.5 * DAY;
    // The API server's authorizer sees a new role after a short delay.
    await eventually(
      () =>
        two.readers.may({
          apiGroup: "rbac.authorization.k8s.io",
          resource: "clusterroles",
          verb: "bind",
          name: "edit",
          namespace,
        }),
      Boolean,
      1_000,
    );
    await eventually(
      async () => condition(await two.pass("forbidden"))?.reason,
      reason => reason === "Current",
      60_000,
    );
    const renewed = new Date(Date.parse(expiry) + 30 * DAY).toISOString().replace(".000Z", "Z");
    expect((await admin.get<Binding>(path("forbidden"))).metadata.annotations).toMatchObject({
      "controller-resilience.io/expires-at": renewed,
      [LATEST_EXPIRY_ANNOTATION]: renewed,
    });
    await two.stop();
  });
});

describe("with the right to bind the role", () => {
  const marks = {
    own: { annotations: { "controller-resilience.io/expires-at": inDays(30) } },
    seconds: { annotations: { "controller-resilience.io/expiration-seconds": "2592000" } },
    kyverno: { labels: { "cleanup.kyverno.io/ttl": "30d" } },
    "kyverno-date": { labels: { "cleanup.kyverno.io/ttl": inDays(30).replaceAll(":", "") } },
    janitor: { annotations: { "janitor/ttl": "30d" } },
    "janitor-date": { annotations: { "janitor/expires": inDays(30).slice(0, 16) } },
  };
  const names = Object.keys(marks);

  it("renews a binding of each convention once, and changes nothing but the expiry and its memory of it", async () => {
    await allowToBind("clusterroles", "edit");
    const before = new Map<string, Binding>();
    for (const [name, mark] of Object.entries(marks)) before.set(name, await createBinding(name, mark));
    await protect(
      "each",
      names.map(name => ({ kind: "RoleBinding", name })),
    );
    const process = start();
    await process.pass("each");
    process.ahead.ms = 29.5 * DAY;
    const object = await eventually(
      () => process.pass("each"),
      found => found.status?.bindings?.filter(entry => entry.lastRenewalTime !== undefined).length === names.length,
      60_000,
    );
    expect(condition(object)).toMatchObject({ status: "True", reason: "Current" });
    await process.pass("each");
    const renewed = process.events.records.filter(({ reason }) => reason === "BindingRenewed");
    expect(renewed).toHaveLength(names.length);
    for (const name of names) {
      const after = await admin.get<Binding>(path(name));
      const { metadata, ...rest } = before.get(name)!;
      expect(after, name).toMatchObject(rest);
      expect(after.metadata.uid, name).toBe(metadata.uid);
      const entry = object.status?.bindings?.find(binding => binding.name === name);
      expect(Date.parse(entry?.expiryTime ?? ""), name).toBeGreaterThan(Date.now() + 59.5 * DAY);
      expect(entry?.lastRenewalTime, name).toBeDefined();
    }
    const value = async (name: keyof typeof marks): Promise<unknown> => {
      const { labels, annotations } = (await admin.get<Binding>(path(name))).metadata;
      const [key = ""] = Object.values<object>(marks[name]).flatMap(Object.keys);
      return { ...labels, ...annotations }[key];
    };
    expect(await value("kyverno")).toBe("60d");
    expect(await value("janitor")).toBe("60d");
    expect(await value("seconds")).toBe("5184000");
    await process.stop();
  });

  it("counts an expiry that was added to an older binding from the time of the change", async () => {
    const { metadata } = await createBinding("older", {});
    await new Promise(wake => setTimeout(wake, 3_000));
    const expiry = inDays(30);
    await admin.patch(path("older"), { metadata: { annotations: { "controller-resilience.io/expires-at": expiry } } });
    await protect("older", [{ kind: "RoleBinding", name: "older" }]);
    const process = start();
    process.ahead.ms = 29.5 * DAY;
    const sinceCreation = (Date.parse(expiry) - Date.parse(metadata.creationTimestamp)) / 1000;
    const life = async (): Promise<number> => {
      await process.pass("older");
      return Number((await admin.get<Binding>(path("older"))).metadata.annotations?.[LIFE_ANNOTATION]);
    };
    const lifeSeconds = await eventually(life, seconds => !Number.isNaN(seconds), 60_000);
    expect(lifeSeconds).toBeLessThanOrEqual(sinceCreation - 2);
    expect(lifeSeconds).toBeGreaterThan(sinceCreation - 60);
    await process.stop();
  });

  it("does not overwrite a binding that was changed meanwhile", async () => {
    const { metadata } = await createBinding("changed", { annotations: { "janitor/ttl": "30d" } });
    const { resourceVersion } = metadata as unknown as { resourceVersion: string };
    await admin.patch(path("changed"), { metadata: { annotations: { "janitor/ttl": "1d" } } });
    const target = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", namespace, name: "changed" };
    const renewal: Intent = {
      verb: "patch",
      target: { ...target, uid: metadata.uid, resourceVersion },
      body: { metadata: { annotations: { "janitor/ttl": "60d" } } },
      why: "a test",
      eventReason: "BindingRenewed",
    };
    await expect(new ApiWriter(apiOver(operator)).write(renewal)).rejects.toThrow(ConflictError);
  });

  it("recreates no binding that is gone, and says how to do it", async () => {
    const annotations = { "janitor/ttl": "30d" };
    await createBinding("expired", { annotations });
    await createBinding("revoked", { annotations });
    await protect(
      "gone",
      ["expired", "revoked"].map(name => ({ kind: "RoleBinding", name })),
    );
    const first = start();
    first.ahead.ms = 28.5 * DAY;
    await first.pass("gone");
    await admin.delete(path("revoked"));
    await eventually(
      async () => condition(await first.pass("gone"))?.reason,
      reason => reason === "AccessEnded",
    );
    await first.stop();

    await admin.delete(path("expired"));
    const second = start();
    second.ahead.ms = 30.5 * DAY;
    const object = await eventually(
      () => second.pass("gone"),
      found => found.status?.bindings?.some(({ state }) => state === "Expired") === true,
      60_000,
    );
    expect(condition(object)?.message).toContain(
      `kubectl create rolebinding expired --namespace ${namespace} --clusterrole edit`,
    );
    await second.pass("gone");
    await expect(admin.get(path("expired"))).rejects.toThrow();
    await expect(admin.get(path("revoked"))).rejects.toThrow();
    await second.stop();
  });
});
