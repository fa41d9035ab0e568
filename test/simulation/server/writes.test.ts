import { beforeEach, describe, expect, it } from "vitest";
import { ServerWorld, type Told } from "./testing";

let world: ServerWorld;

beforeEach(() => {
  world = new ServerWorld();
});

const PODS = "/api/v1/namespaces/default/pods";
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
  it("changes nothing if it is the same", async () => {
    const path = "/api/v1/namespaces/default/configmaps/a?fieldManager=us&force=true";
    const { uid } = world.store.create("configmaps", { metadata: { name: "a", namespace: "default" } }).metadata;
    const body = { apiVersion: "v1", kind: "ConfigMap", data: { a: "b" }, metadata: { uid } };
    const apply = () => world.ask(path, { method: "PATCH", contentType: "application/apply-patch+yaml", body });
    await apply();
    expect(world.store.get("configmaps", "default", "a")).toMatchObject({ data: { a: "b" } });
    const { revision } = world.store;
    await world.pass(2_000);
    expect((await apply()).code).toBe(200);
    expect(world.store.revision).toBe(revision);
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
        const { versions } = draft.spec as unknown as {
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
