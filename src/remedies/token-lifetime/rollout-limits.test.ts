import { describe, expect, it } from "vitest";
import type { DaemonSetView } from "../../core/views";
import { PLAIN, Scene } from "./testing/scene";

// A change of a template replaces few pods at once, and no wait lasts forever.

const MINUTE = 60_000;

function edit(scene: Scene, view: Partial<DaemonSetView>): void {
  scene.sets.set("agent", { ...scene.set(), ...view });
}

/** A DaemonSet on this many nodes with these limits. */
function sceneWith(replicas: number, view: Partial<DaemonSetView>): Scene {
  const scene = new Scene();
  edit(scene, { replicas, updatedPods: replicas, availablePods: replicas, ...view });
  return scene;
}

describe("a DaemonSet that replaces many pods at once", () => {
  it.each<[number, Partial<DaemonSetView>, number, number]>([
    [3, { maxUnavailable: "100%" }, 3, 1],
    [3, { maxUnavailable: 2 }, 2, 1],
    [10, { maxUnavailable: "11%" }, 2, 1],
    [25, { maxUnavailable: 4 }, 4, 3],
    [200, { maxUnavailable: "33%" }, 66, 20],
    [3, { maxUnavailable: 0, maxSurge: "50%" }, 2, 1],
    [3, { maxUnavailable: "many" }, 3, 1],
  ])("of %i is not changed with %j", async (replicas, view, atOnce, most) => {
    const scene = sceneWith(replicas, view);
    await scene.pass();
    const decision = await scene.pass();
    expect(decision).toMatchObject({ reason: "TooManyAtOnce", intents: [], stalled: { reason: "TooManyAtOnce" } });
    expect(decision.message).toContain(`replaces ${atOnce} pods at once, and the operator accepts at most ${most} of`);
    expect(scene.entry()).toMatchObject({ outcome: "LeftAlone" });
  });

  it.each<[number, Partial<DaemonSetView>]>([
    [3, {}],
    [3, { maxUnavailable: "10%" }],
    [1, { maxUnavailable: "100%" }],
    [20, { maxUnavailable: 2 }],
    [25, { maxUnavailable: "10%" }],
    [3, { maxUnavailable: 0, maxSurge: 1 }],
  ])("is changed within the bound: %i, %j", async (replicas, view) => {
    const scene = sceneWith(replicas, view);
    await scene.pass();
    await scene.pass();
    expect(scene.written).toHaveLength(1);
  });

  it("does not delay a revert", async () => {
    const scene = new Scene();
    await scene.pass();
    await scene.pass();
    scene.roll("agent", 600);
    await scene.pass();
    edit(scene, { maxUnavailable: "100%" });
    scene.setLogs("persistent", 600);
    await scene.pass();
    await scene.pass();
    expect(JSON.stringify(scene.set().template)).toBe(JSON.stringify(PLAIN));
  });
});

describe("a change that waits", () => {
  it.each<[string, (scene: Scene) => void, string]>([
    ["a rollout in progress", scene => edit(scene, { updatedPods: 1 }), "a rollout is in progress"],
    ["401s of its pods", scene => scene.setLogs("persistent"), "its pods already get 401 responses"],
  ])("for %s is Stalled after an hour, and goes on afterwards", async (_, hinder, cause) => {
    const scene = new Scene();
    hinder(scene);
    expect(await scene.pass()).toMatchObject({ reason: "Waiting", progressing: true });
    expect(scene.entry()).toMatchObject({ outcome: "Waiting", waitStartTime: "2025-01-01T00:00:00Z" });
    await scene.clock.run(59 * MINUTE);
    expect((await scene.pass()).stalled).toBeUndefined();
    await scene.clock.run(MINUTE);
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", progressing: false, stalled: { reason: "Waiting" } });
    expect(decision.message).toContain(cause);
    expect(decision.message).toContain(". Waiting since 2025-01-01T00:00:00Z.");
    expect((await scene.pass()).message).toBe(decision.message);
    edit(scene, { updatedPods: 3 });
    scene.setLogs("quiet");
    await scene.pass();
    await scene.pass();
    expect(scene.written).toHaveLength(1);
    expect(scene.entry()).not.toHaveProperty("waitStartTime");
  });

  it("in Observe mode never counts as waiting", async () => {
    const scene = new Scene();
    scene.object.spec.mode = "Observe";
    await scene.pass();
    await scene.clock.run(90 * MINUTE);
    expect((await scene.pass()).stalled).toBeUndefined();
  });
});

describe("a change that waits for the rollout of another object", () => {
  it("is reported as deferred, and is Stalled after an hour", async () => {
    const scene = new Scene();
    const detail = "waiting for the rollout of DaemonSet/cni by kube-system/cni";
    scene.outcome = { result: "Limited", limit: "Rollout", retryAfterMs: 10_000, detail };
    await scene.pass();
    const decision = await scene.pass();
    expect(decision).toMatchObject({ reason: "RestartDeferred", progressing: true });
    expect(decision.message).toContain(`apply DaemonSet agent: ${detail}`);
    await scene.clock.run(61 * MINUTE);
    expect((await scene.pass()).stalled).toMatchObject({ reason: "Waiting" });
    scene.outcome = undefined;
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Rolling" });
  });
});

describe("a rollout whose DaemonSet the object no longer has", () => {
  it.each<[string, (scene: Scene) => void]>([
    ["is gone", scene => void scene.sets.delete("agent")],
    ["is no target any more", scene => void scene.object.spec.targets.splice(0, 1)],
  ])("does not count for ever: the DaemonSet %s", async (_, then) => {
    const scene = new Scene();
    await scene.pass();
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Rolling" });
    then(scene);
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Waiting" });
  });
});
