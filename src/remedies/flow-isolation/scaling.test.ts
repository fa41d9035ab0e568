import { describe, expect, it } from "vitest";
import { onRunaway, Scene } from "./testing/scene";

const [SHARED, QUARANTINE_LEVEL] = ["controller-resilience-shared", "controller-resilience-tar-pit"];
const reasons = (scene: Scene): string[] => scene.written.map(({ eventReason }) => eventReason);
const MINUTES = 60;

async function provisioned(scene: Scene): Promise<Scene> {
  await scene.pass();
  await scene.pass();
  scene.written.length = 0;
  return scene;
}

/** Runs passes until the runaway is throttled. */
async function throttled(scene = new Scene(onRunaway("Throttle"))): Promise<Scene> {
  await provisioned(scene);
  scene.perSecond.set("app", 5_000);
  await scene.run(61);
  expect(scene.entry()).toMatchObject({ state: "Throttled" });
  return scene;
}

describe("workloads of a runaway with onRunaway: ScaleToZero", () => {
  const scene = (): Scene => {
    const made = new Scene(onRunaway("ScaleToZero"));
    made.object.spec.targets = [
      { kind: "Deployment", name: "app" },
      { kind: "StatefulSet", name: "db" },
      { kind: "DaemonSet", name: "agent" },
    ];
    made.put("StatefulSet", "db", { replicas: 3 });
    made.put("DaemonSet", "agent");
    return made;
  };

  it("lose their replicas and get them back; a DaemonSet is throttled only", async () => {
    const given = await throttled(scene());
    expect(given.level()).toBe(QUARANTINE_LEVEL);
    expect(given.written).toMatchObject([
      { eventReason: "FlowThrottled" },
      {
        ...{ verb: "patch", eventReason: "WorkloadScaledToZero", target: { kind: "Deployment", namespace: "team" } },
        body: {
          metadata: {
            annotations: {
              "controller-resilience.io/replicas-before": "2",
              "controller-resilience.io/owner": "team/it",
            },
          },
          spec: { replicas: 0 },
        },
      },
      { eventReason: "WorkloadScaledToZero", target: { kind: "StatefulSet", name: "db" } },
    ]);
    expect(given.workloadNow()).toMatchObject({ replicas: 0, scaledDown: { replicas: 2, owner: "team/it" } });
    const decision = await given.pass();
    expect(decision).toMatchObject({ status: "False", reason: "ScaledToZero", intents: [] });
    expect(decision.message).toContain("DaemonSet agent cannot be scaled to zero and is throttled only");
    expect(given.entry()).toMatchObject({ held: "ScaleToZero" });
    given.perSecond.set("app", 0);
    await given.run(5 * MINUTES);
    expect(given.workloadNow()?.replicas).toBe(2);
    expect(given.workloadNow("db", "StatefulSet")?.replicas).toBe(3);
    expect(given.workloadNow()).not.toHaveProperty("scaledDown");
    await given.pass();
    expect(given.entry()).not.toHaveProperty("held");
  });

  it("stay recorded until their replicas could be restored", async () => {
    const given = await throttled(scene());
    given.perSecond.set("app", 0);
    given.outcome = { result: "Failed", message: "no" };
    await given.run(6 * MINUTES);
    expect(given.entry()).toMatchObject({ state: "Throttled", held: "ScaleToZero" });
  });

  it("keep their ServiceAccount from probation until they have them back, and a person is told how", async () => {
    const given = await throttled(scene());
    given.perSecond.set("app", 0);
    given.isRefused = ({ target }) => target.kind === "Deployment";
    const late = await given.run(10 * MINUTES);
    expect([given.level(), given.workloadNow()?.replicas]).toEqual([SHARED, 0]);
    expect(given.workloadNow("db", "StatefulSet")?.replicas).toBe(3);
    expect(given.entry()).toMatchObject({ state: "Throttled", held: "ScaleToZero" });
    expect(late).toMatchObject({ reason: "ReleaseFailed", stalled: { reason: "ReleaseFailed" } });
    expect(late.stalled?.message).toContain("kubectl scale deployment app -n team --replicas=2");
    expect(late.stalled?.message).not.toContain("kubectl patch flowschema");
    given.isRefused = () => false;
    await given.run(60);
    expect(given.workloadNow()?.replicas).toBe(2);
    expect(given.entry()).toMatchObject({ state: "Probation" });
  });

  it("keep replicas that another client has set meanwhile", async () => {
    const given = await throttled(scene());
    given.put("Deployment", "app", { replicas: 1, scaledDown: { replicas: 2, owner: "team/it" } });
    given.written.length = 0;
    await given.pass();
    expect(given.written).toEqual([]);
    given.perSecond.set("app", 0);
    await given.run(5 * MINUTES);
    expect(given.workloadNow()?.replicas).toBe(1);
    expect(given.workloadNow()).not.toHaveProperty("scaledDown");
    expect(reasons(given)).toContain("ReplicasLeft");
  });

  it("stay at zero if another client has removed the record of their replicas", async () => {
    const given = await throttled(scene());
    given.put("Deployment", "app", { replicas: 0 });
    given.perSecond.set("app", 0);
    await given.run(10 * MINUTES);
    expect(given.entry()).toMatchObject({ state: "Normal" });
    expect(given.workloadNow()?.replicas).toBe(0);
    expect(given.workloadNow("db", "StatefulSet")?.replicas).toBe(3);
  });

  it("stay unchanged without the right, which is reported", async () => {
    const given = scene();
    given.isAllowed = false;
    await throttled(given);
    expect(reasons(given)).toEqual(["FlowThrottled"]);
    const decision = await given.pass();
    expect(decision).toMatchObject({ reason: "Throttled" });
    expect(decision.message).toContain("lacks the right to patch deployments and statefulsets");
  });

  it("get their replicas back at once when the spec changes to Throttle", async () => {
    const given = await throttled(scene());
    given.change(onRunaway("Throttle"));
    await given.pass();
    expect([given.workloadNow()?.replicas, given.level()]).toEqual([2, QUARANTINE_LEVEL]);
  });

  it("get their replicas back also if they are no longer targets, and stay recorded until then", async () => {
    const given = await throttled(scene());
    given.object.spec.targets = [{ kind: "Deployment", name: "other" }];
    given.put("Deployment", "other", { serviceAccountName: "other" });
    given.outcome = { result: "Failed", message: "no" };
    await given.pass();
    expect(given.entry()).toMatchObject({ held: "ScaleToZero" });
    given.outcome = undefined;
    await given.pass();
    expect(given.workloadNow()?.replicas).toBe(2);
    await given.pass();
    expect(given.entry()).toBeUndefined();
  });

  it("get their replicas back also if status was lost and the spec only reports by then", async () => {
    const given = await throttled(scene());
    given.object = { ...given.object, status: {} };
    given.change(onRunaway("Report"));
    given.outcome = { result: "Failed", message: "no" };
    await given.pass();
    expect(given.entry()).toMatchObject({ state: "Throttled", held: "ScaleToZero" });
    given.outcome = undefined;
    await given.pass();
    expect([given.workloadNow()?.replicas, given.level()]).toEqual([2, SHARED]);
    await given.pass();
    expect(given.entry()).not.toHaveProperty("held");
  });

  it("keep the finalizer of the object until they have their replicas back", async () => {
    const given = await throttled(scene());
    given.object.spec.targets = [];
    given.object = { ...given.object, status: {} };
    given.world.cluster.clear();
    given.outcome = { result: "Failed", message: "no" };
    expect(await given.pass()).toMatchObject({ needsCleanup: true });
    given.outcome = undefined;
    await given.pass();
    expect(given.workloadNow()?.replicas).toBe(2);
    expect(await given.pass()).toMatchObject({ needsCleanup: false });
  });

  it("get their replicas back when the object is deleted, unlike those of another object", async () => {
    const given = await throttled(scene());
    given.put("Deployment", "theirs", { replicas: 0, scaledDown: { replicas: 4, owner: "team/that" } });
    await given.cleanUp();
    expect(given.workloadNow()?.replicas).toBe(2);
    expect(given.workloadNow("theirs")?.replicas).toBe(0);
  });

  it("that get the skip annotation get their replicas back at once, and are not scaled again", async () => {
    const given = await throttled(scene());
    given.put("Deployment", "app", { replicas: 0, skip: true, scaledDown: { replicas: 2, owner: "team/it" } });
    await given.pass();
    expect(given.workloadNow()?.replicas).toBe(2);
    expect(given.workloadNow("db", "StatefulSet")?.replicas).toBe(0);
    given.written.length = 0;
    expect(await given.pass()).toMatchObject({ reason: "ScaledToZero" });
    expect(given.written).toEqual([]);
  });

  it("that have the skip annotation get their replicas back when the object is deleted", async () => {
    const given = await throttled(scene());
    given.put("Deployment", "app", { replicas: 0, skip: true, scaledDown: { replicas: 2, owner: "team/it" } });
    await given.cleanUp();
    expect(given.workloadNow()?.replicas).toBe(2);
  });
});
