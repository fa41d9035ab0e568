import { describe, expect, it } from "vitest";
import { AdmissionScene } from "./testing/admission-scene";
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

describe("another template while the change is in place", () => {
  it("is watched like the first: by template", async () => {
    const scene = new Scene();
    await scene.pass();
    await scene.pass();
    scene.roll("agent", 600);
    await scene.pass();
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

  it("is watched like the first: at admission, while the policy stays in effect", async () => {
    const scene = new AdmissionScene();
    await scene.passes(60, 30 * SECOND);
    await scene.clock.run(100 * MINUTE);
    const { appliedTime } = scene.entry()!;
    deploy(scene, "agent:2");
    await scene.passes(2);
    expect(scene.entry()).toMatchObject({ outcome: "Bounded", appliedTime });
    await scene.clock.run(79 * MINUTE);
    scene.setLogs("persistent", 600);
    await scene.passes(2);
    expect(scene.policies).toEqual([]);
    expect(scene.entry()).toMatchObject({ outcome: "Reverted" });
  });

  it("is not watched forever", async () => {
    const scene = new AdmissionScene();
    await scene.passes(60, 30 * SECOND);
    deploy(scene, "agent:2");
    await scene.pass();
    await scene.clock.run(81 * MINUTE);
    scene.setLogs("persistent", 600);
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Bounded" });
  });
});

describe("the replacement of pods by eviction", () => {
  /** Replaces `count` pods, the last one just now. */
  async function replaced(count: number, scene = new AdmissionScene()): Promise<AdmissionScene> {
    for (let i = 0; i < 400 && scene.count(600) < count; i++) await scene.passes(2);
    await scene.clock.run(10 * SECOND);
    return scene;
  }

  it("is watched while 401s are only suspected, also in a late pod", async () => {
    const scene = new AdmissionScene();
    scene.evictionOutcome = { result: "Blocked", message: "its budget says no", retryAfterMs: 10_000 };
    await scene.passes(90, MINUTE);
    scene.evictionOutcome = undefined;
    await replaced(1, scene);
    await scene.passes(5);
    scene.setLogs("suspected", 600);
    await scene.passes(2, MINUTE);
    expect(scene.entry()).toMatchObject({ outcome: "Waiting" });
    scene.setLogs("persistent", 600);
    await scene.passes(2);
    expect(scene.policies).toEqual([]);
  });

  it("is watched while it is blocked", async () => {
    const scene = await replaced(1);
    scene.evictionOutcome = { result: "Blocked", message: "its budget says no", retryAfterMs: 10_000 };
    await scene.passes(200, MINUTE);
    scene.setLogs("persistent", 600);
    await scene.passes(2);
    expect(scene.policies).toEqual([]);
  });

  it("is watched in full after the last one", async () => {
    const scene = await replaced(1);
    scene.evictionOutcome = { result: "Blocked", message: "its budget says no", retryAfterMs: 10_000 };
    await scene.passes(90, MINUTE);
    scene.evictionOutcome = undefined;
    await replaced(3, scene);
    await scene.passes(79, MINUTE);
    expect(scene.entry()).toMatchObject({ outcome: "Bounded" });
    scene.setLogs("persistent", 600);
    await scene.passes(2);
    expect(scene.policies).toEqual([]);
  });
});
