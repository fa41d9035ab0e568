import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { bindValue, installChart } from "../cluster/chart";
import type { Binding, ClusterClient, Pod } from "../cluster/client";
import { OPERATOR } from "../cluster/installation";
import { Journal, type Kept } from "../cluster/journal";
import { clusterRoleBindingsOf, kubeScheduler } from "../controllers/kube-scheduler";
import { smallController } from "../controllers/small-controller";
import { tokenAgent } from "../controllers/token-agent";
import { binding } from "../enforcers/bindings";
import { Enforcer } from "../enforcers/enforcer";
import { dueMs, EXPIRY } from "../enforcers/rules";
import { suiteClient, suiteLab } from "./operator";
import { endRelease, leadingPod, makeRoomForRelease, releasePods, untilOneLeads, upgradeRelease } from "./release";

// The chart's two pods heal four things at the same time. Meanwhile the leader's pod is deleted, the kubelet restarted and an upgrade rolled
// out. Gapless watches of the API server, and its counters, prove that each action happened, and only once.

const STALE = "healing-stale";
const EXPIRING = "healing-expiring";
const YEARLONG = "healing-yearlong";
const RECKLESS = "healing-reckless";
const namespaces = [STALE, EXPIRING, YEARLONG, RECKLESS];
const NAME = "controller";
/** Of a ClusterRoleBinding of the same name. */
const WIDE = { kind: "ClusterRole", name: EXPIRING } as const;
/** Of a RoleBinding with the same life that nobody renews: the enforcer deletes it. */
const TWIN = "twin";
/** A binding is renewed when a third of its life is left. */
const LIFE_SECONDS = 90;
const RENEWALS = 2;
/** The throttle lasts until long after the end of this file. */
const REQUEST_RATE = { threshold: 25, for: "15s", onRunaway: "Throttle", release: "30m" };
const ONE = `fieldSelector=metadata.name%3D${NAME}`;
const MANAGED = "labelSelector=app.kubernetes.io%2Fmanaged-by%3Dcontroller-resilience";
const FLOW_CONTROL = "/apis/flowcontrol.apiserver.k8s.io/v1";

let client: ClusterClient;
let enforcer: Enforcer;
let journals: {
  readonly stale: Journal<Pod>;
  readonly yearlong: Journal<Pod>;
  readonly bindings: Journal<Binding & Kept>;
  readonly schemas: Journal<Kept>;
  readonly levels: Journal<Kept>;
};
/** The pods, and the number of evictions, before anything was broken. */
let before: { readonly stale: Pod; readonly yearlong: Pod; readonly evictions: number };
let firstLeader: string;

const scheduler = () => ({ namespace: STALE, name: NAME, image: inject("images").scheduler });
const small = (namespace: string, program: string) => ({
  namespace,
  name: NAME,
  image: inject("images").node,
  command: ["node", `/app/${program}.js`],
});

async function protect(namespace: string, kind: string, block: object): Promise<void> {
  await client.protect(namespace, NAME, { targets: [{ kind, name: NAME }], ...block });
}

function untilReason(namespace: string, type: string, reason: string): Promise<unknown> {
  return client.untilCondition({ namespace, name: NAME, type }, [reason]);
}

/** Waits until a shorter token is on trial, or has passed it. */
function untilTried(): Promise<unknown> {
  const type = "TokenLifetimeBounded";
  return client.untilCondition({ namespace: YEARLONG, name: NAME, type }, ["Rolling", "Bounded"]);
}

/** Number of evictions that the API server has accepted. */
function evictions(): Promise<number> {
  return client.counter("apiserver_request_total", 'code="2', 'subresource="eviction"');
}

/** Kinds of the objects that the operator's Events with one reason regard. */
async function told(namespace: string, reason: string): Promise<string[]> {
  const events = (await client.events(namespace)).filter(event => event.reason === reason);
  return events.map(({ involvedObject }) => involvedObject.kind).sort();
}

/** The objects that the operator created, without those of its chart. */
function made(journal: Journal<Kept>): Kept[] {
  return journal.objects().filter(({ metadata: { name } }) => !/^controller-resilience(-lease)?$/.test(name));
}

const names = (objects: readonly Kept[]): string[] => objects.map(({ metadata }) => metadata.name).sort();

/** The changes of the binding: how far each moved the expiry, and how long before the old expiry. */
function bindingChanges(): { uid: string; extendedMs: number; leftMs: number }[] {
  const changes = journals.bindings.changes();
  return changes.slice(1).map(({ object, heardMs }, i) => {
    const dueBefore = dueMs(changes[i]!.object);
    return { uid: object.metadata.uid, extendedMs: dueMs(object) - dueBefore, leftMs: dueBefore - heardMs };
  });
}

/** Those that moved it. The operator also notes the expiry that it has seen, once. */
const renewals = () => bindingChanges().filter(({ extendedMs }) => extendedMs !== 0);

beforeAll(async () => {
  client = suiteClient();
  const lab = suiteLab();
  await makeRoomForRelease();
  for (const namespace of namespaces) await client.createNamespace(namespace);
  await client.apply(kubeScheduler(scheduler()));
  await client.apply(smallController(small(RECKLESS, "reckless-controller")));
  await client.apply(tokenAgent(small(YEARLONG, "controller")));
  const withRights = smallController(small(EXPIRING, "controller")) as { kind: string }[];
  await client.apply(withRights.filter(({ kind }) => kind !== "RoleBinding"));
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }];
  await client.apply([
    { apiVersion: "rbac.authorization.k8s.io/v1", kind: WIDE.kind, metadata: { name: EXPIRING }, rules },
  ]);
  await installChart(lab, bindValue([{ kind: "Role", name: NAME, namespace: EXPIRING }, WIDE]));
  firstLeader = await untilOneLeads(client);

  await protect(STALE, "Deployment", { tokenRestart: {} });
  await protect(EXPIRING, "Deployment", { bindingRenewal: {} });
  await protect(RECKLESS, "Deployment", { flowIsolation: { requestRate: REQUEST_RATE } });
  await untilReason(STALE, "TokensAccepted", "Accepted");
  await untilReason(EXPIRING, "BindingsCurrent", "NothingToDo");
  await untilReason(RECKLESS, "FlowsIsolated", "Isolated");
  const [[stale], [yearlong]] = [await client.readyPods(STALE, NAME), await client.readyPods(YEARLONG, NAME)];
  before = { stale: stale!, yearlong: yearlong!, evictions: await evictions() };
  journals = {
    stale: Journal.start(lab, `/api/v1/namespaces/${STALE}/pods`),
    yearlong: Journal.start(lab, `/api/v1/namespaces/${YEARLONG}/pods`),
    bindings: Journal.start(lab, `/apis/rbac.authorization.k8s.io/v1/namespaces/${EXPIRING}/rolebindings?${ONE}`),
    schemas: Journal.start(lab, `${FLOW_CONTROL}/flowschemas?${MANAGED}`),
    levels: Journal.start(lab, `${FLOW_CONTROL}/prioritylevelconfigurations?${MANAGED}`),
  };
  await client.until("the watch to report the levels", () => Promise.resolve(made(journals.levels).length > 0));
  enforcer = Enforcer.start(client, { namespaces: [EXPIRING], clusterRoleBindings: [EXPIRING] });
});

afterAll(async () => {
  // Clean up everything, also if beforeAll failed halfway.
  await (enforcer as Enforcer | undefined)?.stop();
  for (const journal of Object.values((journals as Partial<typeof journals> | undefined) ?? {})) await journal.stop();
  // The leader's finalizers clean up after the objects; if it can't, the next leader does.
  await client.kubectl(["delete", "cres", "--all", "--all-namespaces", "--timeout=30s"]);
  for (const namespace of namespaces) await client.deleteNamespace(namespace);
  const bindings = [...clusterRoleBindingsOf(scheduler()), EXPIRING];
  await client.output(["delete", "clusterrolebinding", ...bindings, "--ignore-not-found"]);
  await client.output(["delete", "clusterrole", EXPIRING, "--ignore-not-found"]);
  await endRelease(client);
});

it("heals four things, although its leader's pod is deleted and the kubelet restarted meanwhile", async () => {
  await client.recreateServiceAccount(STALE, NAME);
  const labels = { [EXPIRY.kyverno]: `${LIFE_SECONDS}s` };
  const subject = { namespace: EXPIRING, name: NAME };
  const bound = { ...subject, role: { kind: "Role", name: NAME } as const, labels, serviceAccount: subject };
  await client.apply([
    binding(bound),
    binding({ ...bound, name: TWIN, serviceAccount: { ...subject, name: "default" }, renew: false }),
    binding({ name: EXPIRING, role: WIDE, labels, serviceAccount: subject }),
  ]);
  await client.deleteBinding("RoleBinding", NAME, RECKLESS);
  await protect(YEARLONG, "DaemonSet", { tokenLifetime: {} });

  // An eviction that was recorded but not yet sent may stay unsettled for minutes; test/simulation/crashes.test.ts covers that.
  await client.until("the eviction", async () => (await told(STALE, "PodEvicted")).includes("Pod"));
  await client.output(["delete", "pod", firstLeader, "-n", OPERATOR.namespace, "--wait=false"]);
  await suiteLab().restartKubelet();
  expect(await untilOneLeads(client)).not.toBe(firstLeader);

  await untilReason(RECKLESS, "FlowsIsolated", "Throttled");
  await untilTried();
  const restart = async () => (await client.resilience(STALE, NAME)).status?.restarts?.[0];
  const isHealed = async () => (await restart())?.outcome === "Recovered";
  await client.until("the restart to be recorded as Recovered", isHealed);
});

it("keeps that state during an upgrade, and renews the binding when due", async () => {
  const old = (await releasePods(client)).map(({ metadata }) => metadata.name);
  await upgradeRelease("--set logLevel=debug");
  expect(old).not.toContain(await untilOneLeads(client));
  await client.until("the binding to be renewed", () => Promise.resolve(renewals().length >= RENEWALS));
  expect(old).not.toContain(await leadingPod(client));
  await untilReason(STALE, "TokensAccepted", "Accepted");
  await untilReason(EXPIRING, "BindingsCurrent", "Current");
  await untilTried();
  await untilReason(RECKLESS, "FlowsIsolated", "Throttled");
});

it("has restarted the controller once", async () => {
  const after = (await client.readyPods(STALE, NAME))[0]!;
  expect(journals.stale.objects().map(({ metadata }) => metadata.uid)).toEqual([
    before.stale.metadata.uid,
    after.metadata.uid,
  ]);
  // The other one is that of the trial of a shorter token.
  expect((await evictions()) - before.evictions).toBe(2);
  expect(await told(STALE, "PodEvicted")).toEqual(["Pod"]);
  expect((await client.resilience(STALE, NAME)).status?.restarts).toMatchObject([
    { podUID: before.stale.metadata.uid, outcome: "Recovered" },
  ]);
});

it("has renewed the binding when it was due, and at no other time", () => {
  const [created] = journals.bindings.objects();
  const due = { uid: created!.metadata.uid, extendedMs: LIFE_SECONDS * 1000 };
  expect(renewals()).toMatchObject(renewals().map(() => due));
  expect(bindingChanges().length - renewals().length).toBeLessThanOrEqual(1);
  expect(Math.max(...renewals().map(({ leftMs }) => leftMs))).toBeLessThanOrEqual((LIFE_SECONDS / 3) * 1000);
  // On a slow machine the test takes longer, and more renewals are due.
  expect(renewals().length).toBeGreaterThanOrEqual(RENEWALS);
  // The ClusterRoleBinding has outlived its first life, too.
  expect(enforcer.deletions.map(({ metadata }) => metadata.name)).toEqual([TWIN]);
});

it("has tried a shorter token on the only pod of the DaemonSet, which was replaced once", async () => {
  const after = (await client.readyPods(YEARLONG, NAME))[0]!;
  // The trial ends after the life of the token, which may be before this test does.
  await client.until("the generation to be that of the trial, or of its end", async () => {
    const { outcome } = (await client.resilience(YEARLONG, NAME)).status?.daemonSets?.[0] ?? {};
    return (await client.daemonSet(YEARLONG, NAME)).metadata.generation === (outcome === "Trial" ? 2 : 3);
  });
  expect(journals.yearlong.objects().map(({ metadata }) => metadata.uid)).toEqual([
    before.yearlong.metadata.uid,
    after.metadata.uid,
  ]);
  expect(await told(YEARLONG, "PodEvicted")).toEqual(["Pod"]);
});

it("has created each level and FlowSchema once, and has moved one flow once", async () => {
  const { schemas, levels } = journals;
  expect(names(made(levels))).toEqual([
    "controller-resilience-leases",
    "controller-resilience-shared",
    "controller-resilience-tar-pit",
  ]);
  expect(names(made(schemas))).toEqual([
    expect.stringMatching(new RegExp(`^controller-resilience-${RECKLESS}-${NAME}-`)),
    expect.stringMatching(new RegExp(`^controller-resilience-leases-${RECKLESS}-${NAME}-`)),
  ]);
  expect([...schemas.changes(), ...levels.changes()].filter(({ type }) => type === "DELETED")).toEqual([]);
  expect(made(levels).map(({ metadata }) => metadata.generation)).toEqual([1, 1, 1]);
  // Generation 2: created, then moved to the quarantine level.
  const generations = made(schemas).map(({ metadata: { name, generation } }) => [
    name.includes("-leases-"),
    generation,
  ]);
  expect(Object.fromEntries(generations)).toEqual({ true: 1, false: 2 });
  expect(await told(RECKLESS, "FlowThrottled")).toEqual(["ControllerResilience"]);
});
