import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FINALIZER } from "../../src/api/names";
import type { ClusterClient } from "../cluster/client";
import { OPERATOR } from "../cluster/installation";
import { inventory } from "../cluster/inventory";
import { forLab } from "../cluster/shipped";
import { IN_NODE } from "../controllers/images";
import { tokenAgent, tokenIn } from "../controllers/token-agent";
import { letOperatorBind } from "../enforcers/rights";
import { deployer } from "./example";
import { FluxLab } from "./flux-lab";
import { FluxRelease } from "./flux-release";
import { FluxStory } from "./flux-story";
import {
  agent,
  annotated,
  applyTimesOf,
  clusterResilience,
  controller,
  expiring,
  expiryOf,
  flowSchemas,
  generationOf,
  ofAgent,
  resilience,
  secondsOf,
  targets,
  untilNoResilience,
} from "./objects";

// Flux's real source-controller, kustomize-controller and helm-controller, and this project's operator, in one cluster. First a Kustomization
// installs everything; then each story has a namespace, a Git repository, a GitRepository and a Kustomization of its own, with pruning. At the end
// everything is removed, and a HelmRelease installs the chart.

/** Longer than the operator takes to change a DaemonSet, and Flux to revert it. */
const FIGHT_MS = 400_000;
/** Longer than the trials of all three DaemonSets, one after the other, with tokens of ten minutes. */
const TRIALS_MS = 2_400_000;
const PLATFORM = "platform";
const MANAGER = "kustomize-controller";

let flux: FluxLab;
let client: ClusterClient;
let platform: FluxStory;

/** A health check of the ControllerResilience `web`. */
const checkOf = (namespace: string): object => ({
  ...{ apiVersion: "controller-resilience.io/v1alpha1", kind: "ControllerResilience" },
  ...{ namespace, name: "web" },
});

/** The API and the operator. */
const operator = (): object[] => forLab(readFileSync(join(__dirname, "..", "..", "deploy", "install.yaml"), "utf8"));

/** With an object that protects a controller: all at once. */
const everything = (): object[] => [
  ...operator(),
  ...controller(PLATFORM),
  resilience(PLATFORM, { targets, tokenRestart: {}, flowIsolation: {} }),
];

beforeAll(async () => {
  flux = await FluxLab.up("gitops-flux");
  ({ client } = flux);
  platform = await FluxStory.begin(flux, PLATFORM, everything(), { timeout: "4m" });
  await platform.untilReady(FIGHT_MS);
});

afterAll(() => (flux as FluxLab | undefined)?.down());

const begin = (
  name: string,
  objects: readonly object[],
  spec?: Readonly<Record<string, unknown>>,
): Promise<FluxStory> => FluxStory.begin(flux, name, objects, spec);

const generationOfResilience = async (namespace: string): Promise<number> =>
  (await client.resilience(namespace, "web")).metadata.generation;

it("applies the API, the operator and an object at once, and is Ready once the object is", async () => {
  expect(await client.condition(PLATFORM, "web", "Ready")).toMatchObject({ status: "True" });
  const { inventory } = await platform.untilReady();
  const ids = inventory?.entries?.map(({ id }) => id) ?? [];
  expect(ids).toContain(`${PLATFORM}_web_controller-resilience.io_ControllerResilience`);
  expect(ids.filter(id => /controller-resilience.io_.*_CustomResourceDefinition$/.test(id))).toHaveLength(2);
});

describe.concurrent("a Kustomization", () => {
  it("keeps what the operator adds to objects, and applies nothing again", async () => {
    const name = "drift";
    const plain = tokenAgent({ namespace: name, name: "agent", ...IN_NODE });
    const both = [...targets, { kind: "DaemonSet", name: "agent" }];
    const spec = { targets: both, tokenRestart: {}, tokenLifetime: {}, flowIsolation: {} };
    const story = await begin(name, [...controller(name), ...plain, resilience(name, spec)]);
    await story.untilReady(TRIALS_MS);
    const object = await client.resilience(name, "web");
    expect(object.metadata).toMatchObject({ finalizers: [FINALIZER], generation: 1 });
    expect(object.status?.conditions).not.toEqual([]);
    const volumes = async (): Promise<string> =>
      client.output(["get", "daemonset", "agent", "-n", name, "-o", "jsonpath={.spec.template.spec.volumes[*].name}"]);
    expect(await volumes()).toContain("controller-resilience-token");
    const schemas = await flowSchemas(client, name);
    const before = await applyTimesOf(client, name, MANAGER);
    expect(Object.values(before)).toEqual([expect.any(String), expect.any(String), expect.any(String)]);
    await story.reconcile(5);
    expect(await applyTimesOf(client, name, MANAGER)).toEqual(before);
    expect((await client.resilience(name, "web")).metadata).toMatchObject({ finalizers: [FINALIZER], generation: 1 });
    expect(await volumes()).toContain("controller-resilience-token");
    expect(await flowSchemas(client, name)).toEqual(schemas);
    // The trial is over, which is longer than its first token lives.
    const [pod] = await client.readyPods(name, "agent");
    expect(pod!.status.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0, 0]);
    const container = { namespace: name, pod: pod!.metadata.name, container: "agent" };
    expect((await tokenIn(client, container)).lifeSeconds).toBe(600);
    expect((await client.exec(container, ["node", "/app/token-request.js"])).trim()).toBe("200");
    expect(await client.output(["logs", pod!.metadata.name, "-n", name, "-c", "agent"])).not.toContain(
      "HTTP-Code: 401",
    );
  });

  it.each([
    { title: "wait: true", name: "waits", spec: {} },
    { title: "healthChecks", name: "checks", spec: { wait: false, healthChecks: [checkOf("checks")] } },
  ])(
    "with $title fails at once for a Stalled object, waits for a suspended one, and is Ready after the repair",
    async ({ name, spec }) => {
      const inGit = (changes: object): object[] => [
        ...controller(name),
        resilience(name, { targets, tokenRestart: {}, ...changes }),
      ];
      const story = await begin(name, inGit({}), { timeout: "40s", ...spec });
      await story.untilReady();
      expect(await client.condition(name, "web", "Ready")).toMatchObject({ status: "True" });
      const malformed = inGit({ bindingRenewal: {} }).map(object => expiring(object, "soon"));
      await story.commit(malformed);
      expect(
        await story.untilFailed("HealthCheckFailed", `ControllerResilience/${name}/web status: 'Failed'`),
      ).not.toContain("timeout");
      await story.commit(inGit({ suspend: true }));
      await story.untilFailed("HealthCheckFailed", `ControllerResilience/${name}/web status: 'InProgress'`);
      await story.apply(inGit({}));
    },
  );

  it("is Ready with a ClusterControllerResilience, and fails where a quota refuses what it generates", async () => {
    const name = "wide";
    const hard = (count: number): object => ({
      ...{ apiVersion: "v1", kind: "ResourceQuota", metadata: { namespace: name, name } },
      spec: { hard: { "count/controllerresiliences.controller-resilience.io": `${count}` } },
    });
    const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": name } };
    const wide = clusterResilience(name, { namespaceSelector, template: { tokenRestart: {} } });
    const story = await begin(name, [...controller(name), hard(1), wide], { timeout: "40s" });
    await story.untilReady();
    const { uid } = (await client.resilience(name, name)).metadata;
    await story.reconcile();
    expect((await client.resilience(name, name)).metadata.uid).toBe(uid);
    await story.apply([...controller(name), hard(0)]);
    await untilNoResilience(client, name);
    await client.until("the quota to hold", async () => {
      const path = "jsonpath={.status.hard.count/controllerresiliences\\.controller-resilience\\.io}";
      return (await client.output(["get", "resourcequota", name, "-n", name, "-o", path])) === "0";
    });
    await story.commit([...controller(name), hard(0), wide]);
    await story.untilFailed("HealthCheckFailed", `ClusterControllerResilience/${name} status: 'Failed'`);
  });

  it("prunes an object, and everything with the Kustomization: the operator first removes what it made", async () => {
    const name = "pruned";
    const story = await begin(name, [...controller(name), resilience(name, { targets, flowIsolation: {} })]);
    await story.untilReady();
    expect(await flowSchemas(client, name)).toHaveLength(2);
    await story.apply(controller(name));
    await untilNoResilience(client, name);
    expect(await flowSchemas(client, name)).toEqual([]);
    await story.apply([...controller(name), resilience(name, { targets, flowIsolation: {} })]);
    expect(await flowSchemas(client, name)).toHaveLength(2);
    await story.remove();
    await untilNoResilience(client, name);
    expect(await flowSchemas(client, name)).toEqual([]);
  });

  it("prunes the objects of a file that `spec.ignore` of the GitRepository leaves out", async () => {
    const name = "left-out";
    const story = await begin(name, controller(name));
    await story.source.change({ ignore: "local.yaml" });
    const revision = await story.source.commit({
      "resilience.yaml": [resilience(name, { targets, flowIsolation: {} })],
      "local.yaml": [resilience(name, { targets, tokenRestart: {} }, "local")],
    });
    await story.untilApplied(revision);
    expect(await client.output(["get", "cres", "-n", name, "-o", "name"])).toMatch(/^[^\n]*\/web\n?$/);
    expect(await flowSchemas(client, name)).toHaveLength(2);
    await story.source.change({ ignore: "resilience.yaml\nlocal.yaml" });
    await untilNoResilience(client, name);
    expect(await flowSchemas(client, name)).toEqual([]);
    await story.source.change({ ignore: "local.yaml" });
    await client.untilCondition({ namespace: name, name: "web", type: "FlowsIsolated" }, ["Isolated"], FIGHT_MS);
    expect(await flowSchemas(client, name)).toHaveLength(2);
  });

  it("with `dependsOn` waits until the objects of another are healthy; the removal of that one does not wait for it", async () => {
    const [name, later] = ["earlier", "later"];
    const inGit = (suspend: boolean): object[] => [
      ...controller(name),
      resilience(name, { targets, tokenRestart: {}, suspend }),
    ];
    const story = await begin(name, inGit(true), { timeout: "20s" });
    const dependsOn = [{ namespace: name, name }];
    const dependent = await begin(later, [...controller(later), resilience(later, { targets, flowIsolation: {} })], {
      dependsOn,
    });
    await story.untilFailed("HealthCheckFailed", `ControllerResilience/${name}/web status: 'InProgress'`);
    await dependent.untilFailed("DependencyNotReady", `dependency '${name}/${name}' is not ready`);
    expect(await client.output(["get", "deployments,cres", "-n", later, "-o", "name"])).toBe("");
    await story.apply(inGit(false));
    await dependent.untilReady();
    await story.remove();
    await untilNoResilience(client, name);
    await dependent.untilFailed("DependencyNotReady", `dependency '${name}/${name}' not found`);
    expect(await flowSchemas(client, later)).toHaveLength(2);
  });

  it("reverts the operator, which gives way after one change", async () => {
    const name = "contested";
    const object = resilience(name, { targets: ofAgent, tokenLifetime: {} });
    const story = await begin(name, [...agent(name), object], { wait: false });
    const contested = { namespace: name, name: "web", type: "TokenLifetimeBounded" };
    const { message } = await client.untilCondition(contested, ["Contested"], TRIALS_MS + FIGHT_MS);
    expect(message).toContain(MANAGER);
    await story.reconcile();
    expect(await secondsOf(client, name)).toBe(3600);
    // One of creation, then the change, its revert, and the strategy of the trial.
    expect(await generationOf(client, name)).toBe(4);
  });

  it("with the documented `ignore` keeps the operator's value, also after a change of the DaemonSet", async () => {
    const name = "ignored";
    const ignore = [
      { paths: ["/spec/template/spec/volumes/0/projected/sources"], target: { kind: "DaemonSet", name: "web" } },
    ];
    const object = resilience(name, { targets: ofAgent, tokenLifetime: {} });
    const story = await begin(name, [...agent(name), object], { ignore });
    await story.untilReady(TRIALS_MS);
    expect(await secondsOf(client, name)).toBe(600);
    const generation = await generationOf(client, name);
    await story.reconcile();
    expect(await generationOf(client, name)).toBe(generation);
    await story.apply([...agent(name).map(annotated), object], FIGHT_MS);
    expect(await generationOf(client, name)).toBe(generation + 1);
    expect(await secondsOf(client, name)).toBe(600);
  });

  it("with an expiry in Git and the documented `ignore` keeps the renewed one", async () => {
    const name = "renewed";
    const ignored = "/metadata/annotations/controller-resilience.io~1expires-at";
    const ignore = [{ paths: [ignored], target: { kind: "RoleBinding", name: "web" } }];
    const due = new Date(Date.now() + 7 * 3_600_000).toISOString();
    await client.createNamespace(name);
    await letOperatorBind(client, { kind: "Role", name: "web", namespace: name });
    const inGit = [
      ...controller(name).map(object => expiring(object, due)),
      resilience(name, {
        targets,
        bindingRenewal: { bindings: [{ kind: "RoleBinding", name: "web" }], extendBy: "24h" },
      }),
    ];
    const story = await begin(name, inGit, { ignore });
    await client.until(
      "the renewal",
      async () => (await expiryOf(client, name)) > Date.now() + 20 * 3_600_000,
      180_000,
    );
    await story.reconcile();
    expect(await expiryOf(client, name)).toBeGreaterThan(Date.now() + 20 * 3_600_000);
    await story.untilReady();
  });

  it("with a ServiceAccount applies only what this one may have the operator do", async () => {
    const name = "tenant";
    await client.createNamespace(name);
    // Who may not bind a Role cannot create it together with its binding: Flux first tries all objects by a dry run.
    const isRight = (object: object): boolean => /^Role/.test((object as { kind: string }).kind);
    await client.apply([...deployer(name), ...controller(name).filter(isRight)]);
    const inGit = (changes: object): object[] => [
      ...controller(name).filter(object => !isRight(object)),
      resilience(name, { targets, tokenRestart: {}, ...changes }),
    ];
    const story = await begin(name, inGit({}), { serviceAccountName: "deployer" });
    await story.untilReady();
    await story.commit(inGit({ flowIsolation: {} }));
    const message = await story.untilFailed("ReconciliationFailed", "spec.flowIsolation would have the operator do it");
    expect(message).toContain(`system:serviceaccount:${name}:deployer`);
    expect(await generationOfResilience(name)).toBe(1);
    await story.apply(inGit({}));
  });
});

/** Waits until all objects are gone, which the operator must not hold. */
const untilNoObjects = (): Promise<unknown> =>
  client.until(
    "all objects to be gone",
    async () => (await client.output(["get", "cres,ccres", "-A", "-o", "name"])) === "",
    FIGHT_MS,
  );

/** Waits until the definitions and Pepr's store are left, and nothing else. */
async function untilOnlyKept(): Promise<void> {
  const kept = [
    "APIService <none> v1alpha1.controller-resilience.io",
    "CustomResourceDefinition <none> clustercontrollerresiliences.controller-resilience.io",
    "CustomResourceDefinition <none> controllerresiliences.controller-resilience.io",
    "CustomResourceDefinition <none> peprstores.pepr.dev",
    "Namespace <none> pepr-system",
    "PeprStore pepr-system pepr-controller-resilience-schedule",
    "PeprStore pepr-system pepr-controller-resilience-store",
  ];
  await client.until(
    "nothing else to be left",
    async () => {
      const isOurs = (line: string): boolean => /controller-?resilience| peprstores| pepr-system$/.test(line);
      // Stories keep the rights that they gave the operator by hand.
      const left = (await inventory(client)).filter(
        line => isOurs(line) && !line.includes("controller-resilience-bind-"),
      );
      if (isDeepStrictEqual(left.toSorted(), kept)) return true;
      throw new Error(left.join(", "));
    },
    120_000,
  );
}

// The last ones: afterwards there is no operator.
it("is removed backwards, the objects before the operator; the definitions and Pepr's store stay, as with Helm", async () => {
  const kustomizations = "kustomizations.kustomize.toolkit.fluxcd.io";
  const others = ["-A", `--field-selector=metadata.namespace!=${PLATFORM}`];
  await client.output(["delete", kustomizations, ...others, "--wait=false"]);
  await client.until(
    "the Kustomizations of the stories to be gone",
    async () => (await client.output(["get", kustomizations, ...others, "-o", "name"])) === "",
    FIGHT_MS,
  );
  await platform.apply(operator());
  await untilNoObjects();
  await platform.remove();
  await untilOnlyKept();
});

it("installs the chart as a HelmRelease over what was kept, tests it, corrects no drift by the operator, upgrades and uninstalls", async () => {
  const name = "release";
  const release = await FluxRelease.begin(flux, name);
  const { history } = await release.untilAt(1);
  expect(Object.values(history?.[0]?.testHooks ?? {})).toContainEqual(expect.objectContaining({ phase: "Succeeded" }));
  await client.apply([...controller(name), resilience(name, { targets, tokenRestart: {}, flowIsolation: {} })]);
  await client.untilCondition({ namespace: name, name: "web", type: "Ready" }, ["AllHold"], FIGHT_MS);
  await release.reconcile();
  const events = async (): Promise<string> =>
    client.output(["get", "events", "-n", name, "-o", "jsonpath={.items[*].reason}"]);
  expect(await events()).not.toMatch(/Drift/);
  // It does look for drift.
  await client.output(["delete", "poddisruptionbudget", OPERATOR.serviceAccount, "-n", OPERATOR.namespace]);
  await client.until("the drift to be corrected", async () => (await events()).includes("DriftCorrected"), 120_000);
  await release.change({ values: { replicas: 1 } });
  await release.untilAt(2);
  expect(await generationOfResilience(name)).toBe(1);
  expect(await flowSchemas(client, name)).toHaveLength(2);
  await client.output(["delete", "cres", "web", "-n", name, "--timeout=120s"]);
  await release.remove();
  // Helm leaves a namespace that it has created.
  await client.deleteNamespace(OPERATOR.namespace);
  await untilOnlyKept();
});
