import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FINALIZER } from "../../src/api/names";
import type { ClusterClient } from "../cluster/client";
import { letOperatorBind } from "../enforcers/rights";
import { ArgoCd } from "./argo-cd";
import { deployer, exampleFiles, fillPlatform, rootOf, TEAM, teamObjects } from "./example";
import {
  agent,
  annotated,
  clusterResilience,
  controller,
  expiring,
  expiryOf,
  flowSchemas,
  generationOf,
  ofAgent,
  replaced,
  resilience,
  secondsOf,
  targets,
  untilNoResilience,
} from "./objects";
import { Story, type StoryOptions, storyProject } from "./story";

// The real Argo CD and this project's operator in one cluster. First Argo CD installs everything as deploy/argocd/example says; then each story has
// a separate namespace and Application, with self-heal and pruning.

/** The Application of the operator, and its Deployment. */
const OPERATOR = "controller-resilience";
/** Longer than the operator takes to change a DaemonSet, and Argo CD to revert it. */
const FIGHT_MS = 400_000;
/** Longer than the trial of a token of ten minutes, for which the fight about another DaemonSet waits, or the other way round. */
const TRIAL_MS = 1_200_000;

let argo: ArgoCd;
let client: ClusterClient;

/** The commits of the example, once Argo CD has applied it. */
let revisions: Record<"platform" | "team", string>;

beforeAll(async () => {
  argo = await ArgoCd.up("gitops-argo");
  ({ client } = argo);
  await argo.waitForApplications();
  // The project of the example's team applies objects as a ServiceAccount of the team.
  await argo.configure({ "application.sync.impersonation.enabled": "true" });
  await client.apply([storyProject()]);
  const [platform, team] = [await argo.repository("platform"), await argo.repository("team")];
  const files = exampleFiles({ platform, team });
  revisions = {
    platform: await fillPlatform(platform, files),
    team: await team.commit({ [`${TEAM}/objects.yaml`]: teamObjects() }),
  };
  await client.apply(deployer());
  await client.apply(rootOf(files));
  await argo.untilSynced("controllers", revisions.platform, "Healthy", FIGHT_MS);
});

afterAll(() => (argo as ArgoCd | undefined)?.down());

/** A time that kubectl reads from an object, in milliseconds. */
const timeIn = async (path: string, ...object: string[]): Promise<number> =>
  Date.parse(await client.output(["get", ...object, "-o", `jsonpath={${path}}`]));
const createdAt = (application: string): Promise<number> =>
  timeIn(".metadata.creationTimestamp", "application", application, "-n", "argocd");
/** When a condition became what it is. */
const since = (type: string): string => `.status.conditions[?(@.type=="${type}")].lastTransitionTime`;

it("applies the example in waves, each after the one before is Healthy", async () => {
  await argo.untilSynced(TEAM, revisions.team);
  const crd = ["crd", "controllerresiliences.controller-resilience.io"];
  expect(await createdAt(OPERATOR)).toBeGreaterThanOrEqual(await timeIn(since("Established"), ...crd));
  const deployment = ["deployment", OPERATOR, "-n", "controller-resilience-system"];
  expect(await createdAt(TEAM)).toBeGreaterThanOrEqual(await timeIn(since("Available"), ...deployment));
  expect(await client.condition(TEAM, TEAM, "Ready")).toMatchObject({ status: "True" });
  const pods = await client.output(["get", "pods", "-n", "controller-resilience-system", "-o", "name"]);
  // A hook of `helm test` is no hook of Argo CD.
  expect(pods).not.toContain("test");
});

const begin = async (name: string, objects: readonly object[], options?: StoryOptions): Promise<Story> =>
  Story.begin(argo, name, objects, options);

/** Due immediately, then not for 15 hours. */
const RENEWAL = { bindingRenewal: { bindings: [{ kind: "RoleBinding", name: "web" }], extendBy: "24h" } };

describe.concurrent("an Application", () => {
  it("has the health that docs/gitops.md says, and is not synced because of what the operator writes", async () => {
    const name = "health";
    const spec = { targets, tokenRestart: {}, flowIsolation: {} };
    const inGit = (changes: object): object[] => [...controller(name), resilience(name, { ...spec, ...changes })];
    const story = await begin(name, inGit({}));
    await story.untilHealth("Healthy");
    expect((await client.resilience(name, "web")).metadata.finalizers).toEqual([FINALIZER]);
    expect(await story.syncsWhileCompared()).toBe(0);
    await story.commit(inGit({ suspend: true }));
    await story.untilHealth("Suspended");
    await story.commit(inGit({ targets: [{ kind: "Deployment", name: "wbe" }] }));
    await story.untilHealth("Progressing");
    await story.commit(inGit({}));
    await story.untilHealth("Healthy");
  });

  it("keeps a suspension by hand, unless Git names spec.suspend", async () => {
    const name = "emergency";
    const spec = { targets, tokenRestart: {} };
    const story = await begin(name, [...controller(name), resilience(name, spec)]);
    await story.untilHealth("Healthy");
    const suspend = (): Promise<string> =>
      client.output(["patch", "cres", "web", "-n", name, "--type=merge", "-p", '{"spec":{"suspend":true}}']);
    await suspend();
    await story.untilHealth("Suspended");
    expect(await story.syncsWhileCompared(6)).toBe(0);
    await story.commit([...controller(name), resilience(name, { ...spec, suspend: false })]);
    await story.untilHealth("Healthy");
    await suspend();
    await client.until("Argo CD to restore spec.suspend", async () => {
      return !(await client.resilience(name, "web")).spec.suspend;
    });
  });

  it("is OutOfSync for ever without ServerSideDiff if a block is empty; syncs change nothing", async () => {
    const name = "structured";
    const object = resilience(name, { targets, tokenRestart: {} });
    const story = await begin(name, [...controller(name), object], { serverSideDiff: false });
    await story.untilHealth("Healthy");
    expect(await story.syncsWhileCompared()).toBeGreaterThan(0);
    const { status } = await argo.application(name);
    const odd = status?.resources?.filter(one => one.status !== "Synced").map(({ kind }) => kind);
    expect(odd).toEqual(["ControllerResilience"]);
    expect((await client.resilience(name, "web")).metadata.generation).toBe(1);
  });

  it("stays Synced with the documented ignoreDifferences, also after a change of the DaemonSet", async () => {
    const name = "ignored";
    const ignoreDifferences = [{ group: "apps", kind: "DaemonSet", managedFieldsManagers: ["controller-resilience"] }];
    const object = resilience(name, { targets: ofAgent, tokenLifetime: {} });
    const story = await begin(name, [...agent(name), object], {
      ignoreDifferences,
      syncOptions: ["RespectIgnoreDifferences=true"],
    });
    await story.untilHealth("Healthy", "ControllerResilience", TRIAL_MS);
    expect(await secondsOf(client, name)).toBe(600);
    const generation = await generationOf(client, name);
    expect(await story.syncsWhileCompared()).toBe(0);
    await story.commit([...agent(name).map(annotated), object]);
    expect(await generationOf(client, name)).toBe(generation + 1);
    expect(await secondsOf(client, name)).toBe(600);
    await story.untilHealth("Healthy", "ControllerResilience", FIGHT_MS);
    expect(await story.syncsWhileCompared(6)).toBe(0);
  });

  it("is Degraded without ignoreDifferences: the operator gives way after one change", async () => {
    const name = "contested";
    const story = await begin(name, [...agent(name), resilience(name, { targets: ofAgent, tokenLifetime: {} })]);
    await story.untilHealth("Degraded", "ControllerResilience", TRIAL_MS + FIGHT_MS);
    const contestedField = { namespace: name, name: "web", type: "TokenLifetimeBounded" };
    const { message } = await client.untilCondition(contestedField, ["Contested"], TRIAL_MS + FIGHT_MS);
    expect(message).toContain("argocd-controller");
    await client.until("Argo CD to restore its value", async () => (await secondsOf(client, name)) === 3600);
    const generation = await generationOf(client, name);
    // One of creation, then the change, its revert, and the strategy of the trial.
    expect(generation).toBe(4);
    expect(await story.syncsWhileCompared()).toBe(0);
    expect(await generationOf(client, name)).toBe(generation);
  });

  it("does not begin a later wave while an object of an earlier one is Suspended", async () => {
    const name = "waits";
    const later = { namespace: name, name, annotations: { "argocd.argoproj.io/sync-wave": "1" } };
    const suspended = resilience(name, { targets, tokenRestart: {}, suspend: true });
    await begin(name, [...controller(name), suspended, { apiVersion: "v1", kind: "ConfigMap", metadata: later }]);
    const isThere = async (): Promise<boolean> =>
      (await client.output(["get", "configmap", name, "-n", name, "--ignore-not-found", "-o", "name"])) !== "";
    await client.untilCondition({ namespace: name, name: "web", type: "Ready" }, ["Suspended"]);
    await sleep(20_000);
    expect((await argo.application(name)).status?.operationState?.phase).toBe("Running");
    expect(await isThere()).toBe(false);
    await client.output(["patch", "cres", "web", "-n", name, "--type=merge", "-p", '{"spec":{"suspend":false}}']);
    await client.until("the later wave", isThere);
  });

  it("prunes an object: the operator first removes what it made", async () => {
    const name = "pruned";
    const story = await begin(name, [...controller(name), resilience(name, { targets, flowIsolation: {} })]);
    await story.untilHealth("Healthy");
    expect(await flowSchemas(client, name)).toHaveLength(2);
    await story.commit(controller(name));
    await untilNoResilience(client, name);
    expect(await flowSchemas(client, name)).toEqual([]);
  });

  it("replaces an object, and deletes and creates it again: the operator keeps and restores what it made", async () => {
    const name = "replaced";
    const inGit = (options: string, maxRestarts: number): object[] => [
      ...controller(name),
      replaced(resilience(name, { targets, tokenRestart: { maxRestarts }, flowIsolation: {} }), options),
    ];
    const story = await begin(name, inGit("Replace=true", 3));
    const isWhole = async (): Promise<string> => {
      await story.untilHealth("Healthy");
      const { metadata } = await client.until("the finalizer", async () => {
        const object = await client.resilience(name, "web");
        return object.metadata.finalizers?.includes(FINALIZER) && object;
      });
      expect(await flowSchemas(client, name)).toHaveLength(2);
      return metadata.uid;
    };
    const first = await isWhole();
    await story.commit(inGit("Replace=true", 2));
    expect(await isWhole()).toBe(first);
    expect(await story.syncsWhileCompared(6)).toBe(0);
    await story.commit(inGit("Replace=true,Force=true", 1));
    expect(await isWhole()).not.toBe(first);
    expect(await story.syncsWhileCompared(6)).toBe(0);
  });

  it("restores a ServiceAccount by self-heal: the operator evicts the pod, which is no drift", async () => {
    const name = "recreated";
    const object = resilience(name, { targets, tokenRestart: {} });
    const story = await begin(name, [...controller(name), object]);
    await story.untilHealth("Healthy");
    await client.untilTokens(name, "web", ["Accepted"]);
    await client.output(["delete", "serviceaccount", "web", "-n", name]);
    await client.until(
      "the workload to recover",
      async () => (await client.resilience(name, "web")).status?.restarts?.[0]?.outcome === "Recovered",
      240_000,
    );
    expect(await story.syncsWhileCompared(6)).toBe(0);
  });

  it("renames an object: the new one takes over", async () => {
    const name = "renamed";
    const inGit = (own: string): object[] => [
      ...controller(name),
      resilience(name, { targets, flowIsolation: {} }, own),
    ];
    const story = await begin(name, inGit("before"));
    await story.untilHealth("Healthy");
    const before = await flowSchemas(client, name);
    await story.commit(inGit("after"));
    await client.untilCondition({ namespace: name, name: "after", type: "FlowsIsolated" }, ["Isolated"], 180_000);
    await story.untilHealth("Healthy");
    expect(await client.output(["get", "cres", "-n", name, "-o", "name"])).toMatch(/\/after\n$/);
    const after = await flowSchemas(client, name);
    expect(after).toHaveLength(2);
    expect(after).not.toEqual(before);
  });

  it("does not adopt or prune what a ClusterControllerResilience generates", async () => {
    const name = "wide";
    const spec = {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": name } },
      template: { tokenRestart: {} },
      mode: "Enforce",
    };
    const inGit = (changes: object): object[] => [
      ...controller(name),
      clusterResilience(name, { ...spec, ...changes }),
    ];
    const story = await begin(name, inGit({}));
    await story.untilHealth("Healthy", "ClusterControllerResilience");
    const uid = async (): Promise<string | undefined> => (await client.resilience(name, name)).metadata.uid;
    const before = await uid();
    expect(await story.syncsWhileCompared()).toBe(0);
    expect(await uid()).toBe(before);
    expect((await story.resources()).filter(one => one.startsWith("ControllerResilience "))).toEqual([]);
    await story.commit(inGit({ suspend: true }));
    await story.untilHealth("Suspended", "ClusterControllerResilience");
    await story.commit(inGit({ namespaceSelector: { matchLabels: { none: "such" } } }));
    await story.untilHealth("Progressing", "ClusterControllerResilience");
    await story.commit(controller(name));
    await untilNoResilience(client, name);
  });

  it("is Degraded where a quota refuses what a ClusterControllerResilience generates", async () => {
    const name = "refused";
    const hard = { "count/controllerresiliences.controller-resilience.io": "0" };
    const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { namespace: name, name }, spec: { hard } };
    const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": name } };
    const story = await begin(name, [quota]);
    await client.until("the quota to hold", async () => {
      return (await client.output(["get", "resourcequota", name, "-n", name, "-o", "jsonpath={.status.hard}"])) !== "";
    });
    await story.commit([
      ...[quota, ...controller(name)],
      clusterResilience(name, { namespaceSelector, template: { tokenRestart: {} } }),
    ]);
    await story.untilHealth("Degraded", "ClusterControllerResilience");
  });

  it("has an expiry in Git: the operator renews it if the key is ignored, and otherwise gives way after one renewal", async () => {
    const jsonPointers = ["/metadata/annotations/controller-resilience.io~1expires-at"];
    const ignored = { group: "rbac.authorization.k8s.io", kind: "RoleBinding", jsonPointers };
    const options = { ignoreDifferences: [ignored], syncOptions: ["RespectIgnoreDifferences=true"] };
    const start = async (name: string, more?: StoryOptions): Promise<Story> => {
      const due = new Date(Date.now() + 7 * 3_600_000).toISOString();
      const objects = [
        ...controller(name).map(object => expiring(object, due)),
        resilience(name, { targets, ...RENEWAL }),
      ];
      await client.createNamespace(name);
      const story = await begin(name, objects, more);
      await letOperatorBind(client, { kind: "Role", name: "web", namespace: name });
      return story;
    };
    const [kept, contested] = [await start("renewed", options), await start("not-renewed")];
    await kept.untilHealth("Healthy");
    expect(await expiryOf(client, "renewed")).toBeGreaterThan(Date.now() + 20 * 3_600_000);
    expect(await kept.syncsWhileCompared(6)).toBe(0);
    await contested.untilHealth("Degraded");
    await client.untilCondition({ namespace: "not-renewed", name: "web", type: "BindingsCurrent" }, ["Contested"]);
    expect(await expiryOf(client, "not-renewed")).toBeLessThan(Date.now() + 20 * 3_600_000);
    expect(await contested.syncsWhileCompared(6)).toBe(0);
  });
});
