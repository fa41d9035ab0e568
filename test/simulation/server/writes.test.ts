import { beforeEach, describe, expect, it } from "vitest";
import { ServerWorld, type Told } from "./testing";

let world: ServerWorld;

beforeEach(() => {
  world = new ServerWorld();
});

const PODS = "/api/v1/namespaces/default/pods";
const SETS = "/apis/apps/v1/namespaces/default/daemonsets";
const APPLY = "application/apply-patch+yaml";
const OURS = "/apis/controller-resilience.io/v1alpha1/namespaces/default/controllerresiliences";

const causesOf = ({ body }: Told) =>
  (body as { details?: { causes?: { reason?: string; message?: string }[] } }).details?.causes;

describe("an eviction", () => {
  const evict = (name: string, deleteOptions: object = {}) =>
    world.ask(`${PODS}/${name}/eviction`, { method: "POST", body: { metadata: { name }, deleteOptions } });
  const runPod = (name: string, ready = "True") => {
    const metadata = { name, namespace: "default", labels: { app: "x" } };
    const status = { phase: "Running", conditions: [{ type: "Ready", status: ready }] };
    return world.store.create("pods", { metadata, spec: { nodeName: "n", containers: [{ name: "main" }] }, status });
  };
  const budget = (status: object, spec: object = {}) =>
    world.store.create("poddisruptionbudgets", {
      metadata: { name: `b${world.store.revision}`, namespace: "default" },
      spec: { minAvailable: 1, selector: { matchLabels: { app: "x" } }, ...spec },
      status: { observedGeneration: 1, ...status },
    });

  it("ends a pod within its grace, and only the one that is meant", async () => {
    const { uid } = runPod("a").metadata;
    expect((await evict("a", { preconditions: { uid: "other" } })).code).toBe(409);
    expect((await evict("a", { preconditions: { uid } })).code).toBe(201);
    const { metadata, status } = world.store.get("pods", "default", "a")!;
    expect(metadata.deletionGracePeriodSeconds).toBe(30);
    expect(status).toMatchObject({ conditions: [{ type: "Ready" }, { type: "DisruptionTarget" }] });
    expect((await evict("b")).code).toBe(404);
  });

  it("is refused by a budget that allows none, and charged to one that does", async () => {
    runPod("a");
    const { name } = budget({ disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1 }).metadata;
    const refused = await evict("a");
    expect(refused.code).toBe(429);
    expect(causesOf(refused)).toEqual([
      { reason: "DisruptionBudget", message: `The disruption budget ${name} needs 1 healthy pods and has 1 currently` },
    ]);
    world.store.update(
      "poddisruptionbudgets",
      "default",
      name,
      draft => void Object.assign(draft["status"] as object, { disruptionsAllowed: 1 }),
    );
    expect((await evict("a")).code).toBe(201);
    expect(world.store.get("poddisruptionbudgets", "default", name)?.["status"]).toMatchObject({
      disruptionsAllowed: 0,
      disruptedPods: { a: expect.any(String) as string },
    });
  });

  it("waits for a budget that is not observed yet, and is never for a pod of two", async () => {
    runPod("a");
    budget({ observedGeneration: 0, disruptionsAllowed: 1 });
    expect(await evict("a")).toMatchObject({ code: 429, headers: { "retry-after": "10" } });
    budget({ disruptionsAllowed: 1 });
    expect((await evict("a")).code).toBe(500);
  });

  it("of a pod that is not Ready costs nothing, as the policy says", async () => {
    runPod("a", "False");
    budget(
      { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 1 },
      { unhealthyPodEvictionPolicy: "AlwaysAllow" },
    );
    expect((await evict("a")).code).toBe(201);
  });
});

describe("server-side apply", () => {
  const template = {
    metadata: { labels: { app: "x" } },
    spec: {
      containers: [{ name: "main", image: "x:1" }],
      volumes: [{ name: "api", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }],
    },
  };
  const apply = (manager: string, spec: object, force = true) =>
    world.ask(`${SETS}/a?fieldManager=${manager}&force=${force}`, {
      method: "PATCH",
      contentType: APPLY,
      body: { apiVersion: "apps/v1", kind: "DaemonSet", spec },
    });
  const sources = (expirationSeconds: number) => ({
    template: {
      spec: {
        volumes: [
          { name: "api", projected: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds } }] } },
        ],
      },
    },
  });
  const secondsOf = () =>
    JSON.stringify(world.store.get("daemonsets", "default", "a")?.["spec"]).match(/"expirationSeconds":(\d+)/)?.[1];

  beforeEach(async () => {
    const spec = { selector: { matchLabels: { app: "x" } }, template };
    await world.ask(`${SETS}?fieldManager=helm`, { method: "POST", body: { metadata: { name: "a" }, spec } });
  });

  it("changes its fields, keeps the others, and takes the fields over", async () => {
    expect(secondsOf()).toBe("3600");
    expect((await apply("us", sources(600))).code).toBe(200);
    const { spec, metadata } = world.store.get("daemonsets", "default", "a")!;
    expect(spec).toMatchObject({ template: { spec: { containers: [{ name: "main", image: "x:1" }] } } });
    expect(secondsOf()).toBe("600");
    expect(metadata.annotations).toEqual({ "deprecated.daemonset.template.generation": "2" });
    expect(metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`)).toEqual([
      "us Apply",
      "helm Update",
    ]);
    expect(JSON.stringify(metadata.managedFields?.[1])).not.toContain("f:sources");
  });

  it("conflicts without force, and changes nothing if it is the same", async () => {
    const refused = await apply("us", sources(600), false);
    expect([refused.code, causesOf(refused)?.[0]?.reason]).toEqual([409, "FieldManagerConflict"]);
    await apply("us", sources(600));
    const { revision } = world.store;
    await apply("us", sources(600));
    expect(world.store.revision).toBe(revision);
  });

  it("removes what it no longer has and nobody else owns", async () => {
    const two = { template: { spec: { volumes: [{ name: "more", emptyDir: {} }] } } };
    await apply("us", two);
    await apply("us", {});
    const { volumes } = (
      world.store.get("daemonsets", "default", "a")?.["spec"] as { template: { spec: { volumes: { name: string }[] } } }
    ).template.spec;
    expect(volumes.map(({ name }) => name)).toEqual(["api"]);
  });
});

describe("our own kind", () => {
  const DEFINITION = "controllerresiliences.controller-resilience.io";
  const make = (spec: object, name = "a") =>
    world.ask(OURS, {
      method: "POST",
      body: { apiVersion: "controller-resilience.io/v1alpha1", kind: "ControllerResilience", metadata: { name }, spec },
    });
  const targets = [{ kind: "Deployment", name: "kai" }];

  it("has its defaults, and its rules", async () => {
    expect((await make({ targets, tokenRestart: {} })).body).toMatchObject({
      spec: { mode: "Enforce", suspend: false, tokenRestart: { minDuration: "60s", maxRestarts: 3 } },
    });
    expect(causesOf(await make({ targets: [] }, "b"))?.[0]?.reason).toBe("FieldValueInvalid");
    expect((await make({ targets, mode: "Maybe" }, "b")).code).toBe(422);
  });

  it("has a status that only its subresource writes", async () => {
    const { body } = await make({ targets });
    const object = body as { metadata: object };
    const put = (path: string) =>
      world.ask(path, { method: "PUT", body: { ...object, status: { observedGeneration: 1, restartsTotal: 4 } } });
    await put(`${OURS}/a`);
    expect(world.store.get("controllerresiliences", "default", "a")?.["status"]).not.toMatchObject({
      restartsTotal: 4,
    });
    expect((await put(`${OURS}/a/status`)).body).toMatchObject({
      status: { restartsTotal: 4 },
      metadata: { generation: 1 },
    });
    expect((await put(`${OURS}/a/status`)).code).toBe(409);
  });

  it("is read as its definition of now has it", async () => {
    await make({ targets });
    const define = (name: string, field: object | undefined): void =>
      void world.store.update("customresourcedefinitions", undefined, DEFINITION, draft => {
        const { versions } = draft["spec"] as {
          versions: [{ schema: { openAPIV3Schema: { properties: { spec: { properties: object } } } } }];
        };
        Object.assign(versions[0].schema.openAPIV3Schema.properties.spec.properties, { [name]: field });
      });
    const read = async (): Promise<unknown> => (await world.ask(`${OURS}/a`)).body;
    define("future", { type: "object", default: {} });
    world.store.update("controllerresiliences", "default", "a", draft => void (draft.metadata.labels = { a: "b" }));
    expect(await read()).toHaveProperty("spec.future");
    define("future", undefined);
    expect(await read()).not.toHaveProperty("spec.future");
    expect((await world.ask(OURS)).body).not.toHaveProperty("items.0.spec.future");
  });

  it("goes with its definition", async () => {
    await make({ targets });
    world.store.delete("customresourcedefinitions", undefined, DEFINITION);
    expect((await world.ask(OURS)).code).toBe(404);
    expect(world.store.list("controllerresiliences")).toEqual([]);
  });
});

describe("a binding", () => {
  it("is patched only by who may bind its role or has its rights", async () => {
    const rules = [{ verbs: ["patch"], apiGroups: ["rbac.authorization.k8s.io"], resources: ["rolebindings"] }];
    const kai = { kind: "User", name: "kai" };
    world.store.create("clusterroles", { metadata: { name: "renew" }, rules });
    world.store.create("clusterrolebindings", {
      metadata: { name: "renew" },
      roleRef: { kind: "ClusterRole", name: "renew" },
      subjects: [kai],
    });
    world.store.create("rolebindings", {
      metadata: { name: "x", namespace: "default" },
      roleRef: { kind: "ClusterRole", name: "view" },
      subjects: [],
    });
    world.addUser("kai", { user: "kai", groups: ["system:authenticated"] });
    const patch = () =>
      world.ask("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings/x", {
        method: "PATCH",
        contentType: "application/merge-patch+json",
        token: "kai",
        body: { metadata: { annotations: { a: "b" } } },
      });
    expect((await patch()).code).toBe(403);
    const bind = {
      verbs: ["bind"],
      apiGroups: ["rbac.authorization.k8s.io"],
      resources: ["clusterroles"],
      resourceNames: ["view"],
    };
    world.store.update("clusterroles", undefined, "renew", draft => void (draft["rules"] = [...rules, bind]));
    expect((await patch()).code).toBe(200);
  });
});

describe("a FlowSchema", () => {
  it("says whether its level exists", () => {
    const spec = { priorityLevelConfiguration: { name: "mine" }, rules: [] };
    world.store.create("flowschemas", { metadata: { name: "x" }, spec });
    const dangling = () => JSON.stringify(world.store.get("flowschemas", undefined, "x")?.["status"]);
    expect(dangling()).toContain('"status":"True"');
    world.store.create("prioritylevelconfigurations", { metadata: { name: "mine" }, spec: { type: "Limited" } });
    expect(dangling()).toContain('"status":"False"');
    world.store.delete("prioritylevelconfigurations", undefined, "mine");
    expect(dangling()).toContain('"status":"True"');
  });
});
