import { describe, expect, it } from "vitest";
import { Scene, type PLAIN } from "./testing/scene";

// A token that is too short for its client is detected, whenever its pods are created.

const SECOND = 1_000;
const MINUTE = 60_000;

/** Deploys another image, which replaces all pods and keeps the operator's fields in the template. */
function deploy(scene: Scene, image: string): void {
  const template = structuredClone(scene.set().template) as typeof PLAIN;
  template.spec.containers[0]!.image = image;
  scene.put("agent", template);
  scene.roll("agent", 600);
}

async function bounded(): Promise<Scene> {
  const scene = new Scene();
  await scene.pass();
  await scene.pass();
  scene.roll("agent", 600);
  await scene.pass();
  return scene;
}

describe("another template while the change is in place", () => {
  it("is watched like the first", async () => {
    const scene = await bounded();
    await scene.clock.run(100 * MINUTE);
    deploy(scene, "agent:2");
    expect((await scene.pass()).recheckAfterMs).toBe(SECOND);
    expect(scene.entry()).toMatchObject({ outcome: "Bounded", watchTime: "2025-01-01T01:40:00Z", changes: 0 });
    await scene.clock.run(79 * MINUTE);
    scene.setLogs("persistent", 600);
    expect(await scene.pass()).toMatchObject({ reason: "Reverting" });
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Reverted" });
    expect(scene.entry()).not.toHaveProperty("watchTime");
  });

  it("is not watched forever", async () => {
    const scene = await bounded();
    deploy(scene, "agent:2");
    await scene.pass();
    await scene.clock.run(81 * MINUTE);
    scene.setLogs("persistent", 600);
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Bounded" });
  });
});
