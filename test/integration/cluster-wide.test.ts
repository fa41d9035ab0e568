import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClusterControllerResilience } from "../../src/api/cluster-controller-resilience";
import type { ControllerResilience } from "../../src/api/controller-resilience";
import { forEach } from "../cluster/for-each";
import { addDeployment, addNamespace as addEmptyNamespace } from "../bench/cluster-wide";
import { World } from "../bench/scale/world";
import { ClusterClient } from "../cluster/client";
import { ownLabName } from "./suite-lab";

// ClusterControllerResiliences on a real API server, with the operator as a process. The workloads have no replicas: nothing depends on their pods.

const NAMESPACES = 20;
const GROUP = "/apis/controller-resilience.io/v1alpha1";
const OWNERS = `${GROUP}/clustercontrollerresiliences`;
const OBJECTS = `${GROUP}/controllerresiliences`;
const LABEL = "controller-resilience.io/generated-for";

const silent = (): void => undefined;
let world: World;
let client: ClusterClient;

const spaceName = (index: number): string => `team-${String(index).padStart(3, "0")}`;

beforeAll(async () => {
  world = await World.up({ name: ownLabName("wide"), print: silent });
  client = ClusterClient.of(world.lab);
  await forEach(NAMESPACES, index => addNamespace(spaceName(index), { team: index % 2 === 0 ? "even" : "odd" }));
  const operator = world.startOperator();
  await client.until("the operator to lead", async () => operator.leads());
}, 600_000);

afterAll(() => (world as World | undefined)?.down());

/** Adds a namespace with a workload. */
async function addNamespace(name: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
  await addEmptyNamespace(world, name, labels);
  await addDeployment(world, name, "web");
}

async function apply(name: string, spec: object): Promise<void> {
  const kind = "ClusterControllerResilience";
  await client.apply([{ apiVersion: "controller-resilience.io/v1alpha1", kind, metadata: { name }, spec }]);
}

const generated = async (name: string): Promise<ControllerResilience[]> => {
  const path = `${OBJECTS}?labelSelector=${encodeURIComponent(`${LABEL}=${name}`)}`;
  return (await world.admin.get<{ items: ControllerResilience[] }>(path)).items;
};

/** Waits until the status is about the present spec and a condition has a reason. */
function until(name: string, type: string, reason: string, timeoutMs = 120_000): Promise<ClusterControllerResilience> {
  return client.until(
    `${type} of ${name} to say ${reason}`,
    async () => {
      const object = await world.admin.get<ClusterControllerResilience>(`${OWNERS}/${name}`);
      const condition = object.status?.conditions?.find(one => one.type === type);
      const isNew = object.status?.observedGeneration === object.metadata.generation;
      if (isNew && condition?.reason === reason) return object;
      throw new Error(JSON.stringify(object.status));
    },
    timeoutMs,
  );
}

const object = (namespace: string, name = "all"): Promise<ControllerResilience> =>
  world.admin.get<ControllerResilience>(`${GROUP}/namespaces/${namespace}/controllerresiliences/${name}`);

function untilObject(namespace: string, test: (found: ControllerResilience) => boolean): Promise<ControllerResilience> {
  return client.until(`the object of ${namespace}`, async () => {
    const found = await object(namespace);
    return test(found) && found;
  });
}

const SPEC = {
  namespaceSelector: { matchExpressions: [{ key: "team", operator: "Exists" }] },
  template: { tokenRestart: {} },
};

describe("a ClusterControllerResilience", () => {
  it(`protects ${String(NAMESPACES)} namespaces in Observe mode`, async () => {
    await apply("all", SPEC);
    const { status } = await until("all", "Covered", "AllProtected");
    expect(status).toMatchObject({
      namespaces: NAMESPACES,
      workloads: NAMESPACES,
      protected: NAMESPACES,
      conflicts: [],
    });
    const objects = await generated("all");
    expect(objects).toHaveLength(NAMESPACES);
    expect(new Set(objects.map(({ spec }) => spec.mode))).toEqual(new Set(["Observe"]));
  });

  it("goes on where a quota refuses its object, and says who has to act", async () => {
    await addNamespace("poor", { team: "none-yet" });
    await client.until("the object of poor", async () => (await generated("all")).length === NAMESPACES + 1);
    await client.output(["label", "namespace", "poor", "controller-resilience.io/protect=false"]);
    await client.until("the object of poor to go", async () => (await generated("all")).length === NAMESPACES);
    await world.admin.create("/api/v1/namespaces/poor/resourcequotas", {
      metadata: { name: "none" },
      spec: { hard: { "count/controllerresiliences.controller-resilience.io": "0" } },
    });
    await client.output(["label", "namespace", "poor", "controller-resilience.io/protect-", "--overwrite"]);
    const { status } = await until("all", "Stalled", "Refused");
    expect(status?.conflicts).toMatchObject([{ namespace: "poor", reason: "Refused" }]);
    expect(status?.conflicts?.[0]?.message).toContain("quota");
    await client.output(["delete", "namespace", "poor", "--wait=false"]);
    await until("all", "Stalled", "Idle");
  });

  it("removes what remedies made when a namespace is not selected any more", async () => {
    const namespace = spaceName(2);
    const schemas = async () =>
      (await client.output(["get", "flowschemas", "-l", "controller-resilience.io/owner-uid", "-o", "name"])).trim();
    await apply("all", {
      ...{ namespaceSelector: SPEC.namespaceSelector, template: { flowIsolation: {} } },
      enforce: { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } },
    });
    await client.until("a FlowSchema", async () => (await schemas()) !== "");
    await client.output(["label", "namespace", namespace, "controller-resilience.io/protect=false"]);
    await client.until("the object and what was made for it to go", async () => {
      const left = (await generated("all")).some(({ metadata }) => metadata.namespace === namespace);
      return !left && (await schemas()) === "";
    });
    await client.output(["label", "namespace", namespace, "controller-resilience.io/protect-"]);
    await untilObject(namespace, () => true);
  });

  it("is deleted with everything that was generated for it, and hands over to a younger one", async () => {
    await apply("younger", { ...SPEC, namespaceSelector: { matchLabels: { team: "odd" } } });
    const { status } = await until("younger", "Ready", "TargetNotFound");
    expect(status?.conflictsTotal).toBe(NAMESPACES / 2);
    await client.output(["delete", "ccres", "all"]);
    await client.until("its objects to go", async () => (await generated("all")).length === 0, 120_000);
    await until("younger", "Ready", "AllProtected");
    await client.output(["delete", "ccres", "younger"]);
    await client.until("no object to be left", async () => {
      const { items } = await world.admin.get<{ items: object[] }>(OBJECTS);
      return items.length === 0;
    });
  });
});
