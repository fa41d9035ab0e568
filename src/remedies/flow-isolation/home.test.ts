import { describe, expect, it } from "vitest";
import { FakeClock } from "../../core/testing/fake-clock";
import { onRunaway, Scene } from "./testing/scene";

const [SHARED, TAR_PIT] = ["controller-resilience-shared", "controller-resilience-tar-pit"];
const SETTINGS = { lendablePercent: 50, borrowingLimitPercent: 0, queues: 16, handSize: 4, queueLengthLimit: 50 };
const dedicated = (nominalConcurrencyShares: number) => ({ dedicated: { nominalConcurrencyShares, ...SETTINGS } });

function addLevel(scene: Scene, name: string, type: string): void {
  scene.world.cluster.set(name, {
    ...{ apiVersion: "flowcontrol.apiserver.k8s.io/v1", kind: "PriorityLevelConfiguration", name, uid: "theirs" },
    ...{ resourceVersion: "1", createdAtMs: 0, labels: {}, annotations: {}, spec: { type }, conditions: [] },
  });
}

/** Objects in one cluster that want so many shares each, in the order of their creation. */
async function objects(...shares: readonly number[]): Promise<Scene[]> {
  const clock = new FakeClock();
  const cluster: Scene["world"]["cluster"] = new Map();
  const scenes = shares.map((count, i) => {
    const scene = new Scene(dedicated(count), clock, { cluster, workloads: new Map(), versions: 0 }, `team-${i}/it`);
    scene.object = { ...scene.object, metadata: { ...scene.object.metadata, uid: `uid-${i}` } };
    return scene;
  });
  for (const scene of scenes) await settled(scene);
  return scenes;
}

async function settled(scene: Scene) {
  for (let i = 0; i < 3; i++) await scene.pass();
  return scene.pass();
}

const sharesOf = ({ world }: Scene, level: unknown): unknown =>
  (world.cluster.get(String(level))?.spec["limited"] as { nominalConcurrencyShares: number }).nominalConcurrencyShares;

describe("the level of a ServiceAccount of kube-system", () => {
  it("stays workload-high, where the built-in flow puts it", async () => {
    const scene = new Scene(onRunaway("Throttle"), undefined, undefined, "kube-system/it");
    scene.change({ requestRate: { ...scene.object.spec.flowIsolation!.requestRate, throttleSystem: true } });
    addLevel(scene, "workload-high", "Limited");
    await settled(scene);
    scene.perSecond.set("app", 5_000);
    await scene.run(61);
    expect(scene.level()).toBe(TAR_PIT);
    scene.perSecond.set("app", 0);
    await scene.run(15 * 60);
    expect(scene.level()).toBe("workload-high");
    expect(await scene.pass()).toMatchObject({ reason: "Isolated", intents: [] });
    expect([...scene.world.cluster.keys()]).not.toContain(SHARED);
    await scene.cleanUp();
    expect([...scene.world.cluster.keys()]).toEqual(["workload-high"]);
  });

  it("becomes workload-high again after the shared level of an earlier version, which is no contest", async () => {
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

describe("the dedicated levels of all objects", () => {
  it("have 100 shares together; one object more is isolated on the shared level, and says so", async () => {
    const scenes = await objects(20, 20, 20, 20, 19, 2);
    const decision = await settled(scenes[5]!);
    expect(scenes.map(scene => scene.level() === SHARED)).toEqual([false, false, false, false, false, true]);
    expect(decision).toMatchObject({ status: "False", reason: "TooManyShares", stalled: {}, intents: [] });
    expect(decision.message).toMatch(
      /^Level controller-resilience-team-5-it-[0-9a-f]{16} \(2 shares\) is not used; its flows are on level controller-resilience-shared: the dedicated levels of all objects may have 100 shares, and those of other objects have 99. Lower nominalConcurrencyShares here or there\./,
    );
    for (const scene of scenes.slice(0, 5)) expect(await scene.pass()).toMatchObject({ reason: "Isolated" });
    scenes[5]!.change(dedicated(1));
    expect(await settled(scenes[5]!)).toMatchObject({ reason: "Isolated" });
    expect(sharesOf(scenes[5]!, scenes[5]!.level())).toBe(1);
  });

  it("make room when one of them goes", async () => {
    const scenes = await objects(20, 20, 20, 20, 20, 20);
    await scenes[0]!.cleanUp();
    expect(await settled(scenes[5]!)).toMatchObject({ reason: "Isolated" });
    expect(scenes[5]!.level()).not.toBe(SHARED);
    expect(scenes[5]!.entry()).toMatchObject({ changes: 0 });
  });

  it("do not grow beyond the sum: a level keeps the shares that it has", async () => {
    const scenes = await objects(10, 20, 20, 20, 20, 10);
    scenes[0]!.change(dedicated(20));
    const decision = await settled(scenes[0]!);
    expect(decision).toMatchObject({ reason: "TooManyShares", intents: [] });
    expect(decision.message).toContain("(20 shares) keeps its 10 shares: ");
    expect(sharesOf(scenes[0]!, scenes[0]!.level())).toBe(10);
    for (const scene of scenes.slice(1)) expect(await scene.pass()).toMatchObject({ reason: "Isolated" });
  });

  it("that exceed the sum since before it was bounded shrink to it, the youngest first", async () => {
    const scenes = await objects(20, 20, 20, 20, 20, 0);
    const last = String(scenes[5]!.level());
    const view = scenes[5]!.world.cluster.get(last)!;
    const limited = { ...(view.spec["limited"] as object), nominalConcurrencyShares: 20 };
    scenes[5]!.world.cluster.set(last, { ...view, createdAtMs: 1, spec: { ...view.spec, limited } });
    scenes[5]!.change(dedicated(20));
    expect(await scenes[0]!.pass()).toMatchObject({ reason: "Isolated", intents: [] });
    expect(await settled(scenes[5]!)).toMatchObject({ reason: "TooManyShares", intents: [] });
    expect(scenes[5]!.level()).toBe(SHARED);
    expect(await settled(scenes[0]!)).toMatchObject({ reason: "Isolated", intents: [] });
  });
});
