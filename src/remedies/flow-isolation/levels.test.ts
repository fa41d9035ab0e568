import { describe, expect, it } from "vitest";
import { Scene } from "./testing/scene";

const SHARED = "controller-resilience-shared";

function addLevel(scene: Scene, name: string, type: string): void {
  scene.world.cluster.set(name, {
    ...{ apiVersion: "flowcontrol.apiserver.k8s.io/v1", kind: "PriorityLevelConfiguration", name, uid: "theirs" },
    ...{ resourceVersion: "1", createdAtMs: 0, labels: {}, annotations: {}, spec: { type }, conditions: [] },
  });
}

async function settled(scene: Scene) {
  for (let i = 0; i < 3; i++) await scene.pass();
  return scene.pass();
}

describe("the level of a ServiceAccount of kube-system", () => {
  it("becomes workload-high again after the shared level, which is no contest", async () => {
    const scene = new Scene({}, undefined, undefined, "kube-system/it");
    await settled(scene);
    expect(scene.level()).toBe(SHARED);
    addLevel(scene, "workload-high", "Limited");
    await scene.pass();
    await scene.pass();
    expect(await scene.pass()).toMatchObject({ reason: "Isolated", intents: [] });
    expect(scene.level()).toBe("workload-high");
    expect(scene.entry()).toMatchObject({ changes: 0 });
    expect([...scene.world.cluster.keys()]).not.toContain(SHARED);
  });
});
