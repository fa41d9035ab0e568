import { describe, expect, it } from "vitest";
import { Scene, type PLAIN } from "./testing/scene";

// A refused change is no change: it causes neither a rollout nor 401s.

const MINUTE = 60_000;

/** Requests another lifetime, as a new generation. */
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

/** Bounded so long ago that logs are not watched any more; every later change is refused. */
async function boundedLongAgo(): Promise<Scene> {
  const scene = new Scene();
  await passes(scene, 2);
  scene.roll("agent", 600);
  await passes(scene, 300, MINUTE);
  scene.outcome = { result: "Forbidden", message: "a policy says no" };
  return scene;
}

/** Neither the change nor the watch is recorded. */
async function expectUntouched(scene: Scene): Promise<void> {
  await passes(scene, 2);
  expect(scene.entry()).toMatchObject({ outcome: "Bounded", appliedTime: "2025-01-01T00:00:10Z" });
  scene.outcome = undefined;
  scene.setLogs("persistent");
  await passes(scene, 5);
  expect(scene.written).toHaveLength(1);
}

describe("a refused change", () => {
  it("is not counted when the spec returns to the current lifetime", async () => {
    const scene = await boundedLongAgo();
    ask(scene, 1_200);
    await passes(scene, 5);
    expect(scene.entry()).toMatchObject({ outcome: "Planned" });
    ask(scene, 600);
    await expectUntouched(scene);
    expect(scene.entry()).toMatchObject({ changes: 0 });
  });

  it("is not counted when the owner reverts the template that it was for", async () => {
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

  it("does not turn a later pod replacement into a rollout by the operator", async () => {
    const scene = await boundedLongAgo();
    ask(scene, 1_200);
    await passes(scene, 5);
    ask(scene, 600);
    scene.sets.set("agent", { ...scene.set(), availablePods: 2 });
    await passes(scene, 2);
    expect(scene.entry()).toMatchObject({ outcome: "Bounded" });
  });

  it("does not start a watch of new pods", async () => {
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

  it("is planned again for another generation, so that a crash after it can be detected", async () => {
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
