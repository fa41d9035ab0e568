import { describe, expect, it } from "vitest";
import { Scene } from "./testing/scene";

describe("a pod with the skip annotation, which the rollout would replace as well,", () => {
  const spare = (scene: Scene): void => {
    scene.podList = scene.podList.map(pod => (pod.nodeName === "node-3" ? { ...pod, skip: true } : pod));
  };

  it("delays the change, and calls a person", async () => {
    const scene = new Scene();
    spare(scene);
    await scene.run(361);
    expect(scene.last).toMatchObject({ reason: "Waiting", stalled: { reason: "Waiting" } });
    expect(scene.last.message).toContain("has the skip annotation");
    expect(scene.written).toEqual([]);
  });

  it("is not replaced by a trial that it joins", async () => {
    const scene = new Scene();
    await scene.run(10);
    spare(scene);
    await scene.run(120);
    expect(scene.set()).toMatchObject({ updateStrategy: "OnDelete" });
    expect(scene.last.message).toContain("has the skip annotation");
  });
});
