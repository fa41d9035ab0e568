import { describe, expect, it } from "vitest";
import { bounded, DEFAULTS, Scene } from "./testing/scene";

describe("a pod with the skip annotation, which the rollout would replace as well,", () => {
  const spare = (scene: Scene, nodes: readonly string[] = ["node-3"]): void => {
    scene.podList = scene.podList.map(pod => (nodes.includes(pod.nodeName ?? "") ? { ...pod, skip: true } : pod));
  };

  it.each([[["node-3"]], [["node-1", "node-2", "node-3"]]])(
    "delays the change, and calls a person: %j",
    async nodes => {
      const scene = new Scene();
      spare(scene, nodes);
      await scene.run(361);
      expect(scene.last).toMatchObject({ reason: "Waiting", stalled: { reason: "Waiting" } });
      expect(scene.last.message).toContain("has the skip annotation, and the rollout would replace it");
      expect(scene.written).toEqual([]);
    },
  );

  it("is not replaced to restore the template", async () => {
    const scene = await bounded();
    spare(scene, ["node-1"]);
    scene.object.spec.tokenLifetime = { ...DEFAULTS, defaultToken: "Leave" };
    const before = scene.written.length;
    await scene.run(60);
    expect(scene.last).toMatchObject({ reason: "Waiting" });
    expect(scene.written).toHaveLength(before);
  });

  it.each([2, 10])("is not replaced by a trial that it joins after %d passes", async passes => {
    const scene = new Scene();
    await scene.run(passes);
    spare(scene);
    await scene.run(120);
    expect(scene.set()).toMatchObject({ updateStrategy: "OnDelete" });
    expect(scene.last.message).toContain("has the skip annotation");
    // In time the trial ends, and is repeated once the pod is no longer spared.
    await scene.run(400);
    expect(scene.last).toMatchObject({ reason: "Waiting" });
    expect(scene.set()).toMatchObject({ updateStrategy: "RollingUpdate" });
    scene.podList = scene.podList.map(pod => ({ ...pod, skip: false }));
    await scene.run(120);
    expect(scene.last).toMatchObject({ reason: "Bounded" });
  });
});

it("a pod on a node where the DaemonSet would start none, such as for a new taint, delays the change", async () => {
  const scene = new Scene();
  scene.edit({ replicas: 2, updatedPods: 2, availablePods: 2 });
  await scene.run(361);
  expect(scene.last).toMatchObject({ reason: "Waiting", stalled: { reason: "Waiting" } });
  expect(scene.last.message).toContain("on 1 node it would start no pod now");
  expect(scene.written).toEqual([]);
});
