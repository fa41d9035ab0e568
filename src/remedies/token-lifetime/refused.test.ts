import { describe, expect, it } from "vitest";
import { Scene, type PLAIN } from "./testing/scene";

// What was planned and refused is no change: neither of a rollout nor of a 401 is it the cause.

const MINUTE = 60_000;

/** Asks for such a life, as a new generation. */
function ask(scene: Scene, expirationSeconds: number): void {
  const { metadata, spec } = scene.object;
  scene.object = {
    ...scene.object,
    metadata: { ...metadata, generation: metadata.generation + 1 },
    spec: { ...spec, tokenLifetime: { ...spec.tokenLifetime!, expirationSeconds } },
  };
}

async function passes(scene: Scene, count: number, everyMs = 10_000): Promise<void> {
  for (let i = 0; i < count; i++) {
    await scene.pass();
    await scene.clock.run(everyMs);
  }
}

/** Bounded so long ago that nothing is watched any more; every change from now on is refused. */
async function boundedLongAgo(): Promise<Scene> {
  const scene = new Scene();
  await passes(scene, 2);
  scene.roll("agent", 600);
  await passes(scene, 300, MINUTE);
  scene.outcome = { result: "Forbidden", message: "a policy says no" };
  return scene;
}

/** As it was before the refusal: neither another change nor another watch. */
async function expectUntouched(scene: Scene): Promise<void> {
  await passes(scene, 2);
  expect(scene.entry()).toMatchObject({ outcome: "Bounded", appliedTime: "2025-01-01T00:00:10Z" });
  scene.outcome = undefined;
  scene.setLogs("persistent");
  await passes(scene, 5);
  expect(scene.written).toHaveLength(1);
}

describe("a change that was refused", () => {
  it("is not counted when the object asks for what is there again", async () => {
    const scene = await boundedLongAgo();
    ask(scene, 1_200);
    await passes(scene, 5);
    expect(scene.entry()).toMatchObject({ outcome: "Planned" });
    ask(scene, 600);
    await expectUntouched(scene);
    expect(scene.entry()).toMatchObject({ changes: 0 });
  });

  it("is not counted when another template, which it was meant for, is taken back by its owner", async () => {
    const scene = await boundedLongAgo();
    const before = scene.set().template;
    const template = structuredClone(before) as typeof PLAIN;
    template.spec.containers.push({ name: "beside", image: "beside:1" });
    scene.put("agent", template, { updatedPods: 3 });
    await passes(scene, 5);
    expect(scene.entry()).toMatchObject({ outcome: "Planned" });
    await scene.clock.run(300 * MINUTE);
    scene.put("agent", before, { updatedPods: 3 });
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Bounded", appliedTime: "2025-01-01T00:00:10Z", changes: 0 });
  });

  it("does not make it a rollout of the operator's when a pod is replaced afterwards", async () => {
    const scene = await boundedLongAgo();
    ask(scene, 1_200);
    await passes(scene, 5);
    ask(scene, 600);
    scene.sets.set("agent", { ...scene.set(), availablePods: 2 });
    await passes(scene, 2);
    expect(scene.entry()).toMatchObject({ outcome: "Bounded" });
  });

  it("does not have the pods watched that come while it is tried", async () => {
    const scene = await boundedLongAgo();
    const { watchTime } = scene.entry()!;
    ask(scene, 1_200);
    await passes(scene, 5);
    scene.podList = scene.podList.map((pod, i) =>
      i > 0 ? pod : { ...pod, name: "late", uid: "uid-late", createdAtMs: scene.clock.now().getTime() },
    );
    await passes(scene, 2);
    expect(scene.entry()).toMatchObject({ outcome: "Planned", watchTime });
  });

  it("is planned anew for another generation, so that one who dies after it is known to have made it", async () => {
    const scene = await boundedLongAgo();
    ask(scene, 1_200);
    await passes(scene, 5);
    ask(scene, 1_800);
    scene.outcome = undefined;
    expect(await scene.pass()).toMatchObject({ reason: "Planned", intents: [] });
    await scene.passAndCrash();
    expect(scene.written).toHaveLength(2);
    await scene.pass();
    expect(scene.entry()).toMatchObject({ changes: 1, generation: 3 });
  });
});
