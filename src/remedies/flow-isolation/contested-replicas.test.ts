import { describe, expect, it } from "vitest";
import { onRunaway, Scene } from "./testing/scene";

// Another client, such as a GitOps tool with self-heal, sets the replicas of a workload that the operator has scaled to zero.

const scalings = (scene: Scene): string[] =>
  scene.written.filter(({ eventReason }) => eventReason === "WorkloadScaledToZero").map(({ target }) => target.name);

/** A runaway in its first throttle, scaled to zero, with a StatefulSet beside the Deployment. */
async function scaled(): Promise<Scene> {
  const scene = new Scene(onRunaway("ScaleToZero"));
  scene.object.spec.targets = [
    { kind: "Deployment", name: "app" },
    { kind: "StatefulSet", name: "db" },
  ];
  scene.put("StatefulSet", "db", { replicas: 3 });
  await scene.pass();
  await scene.pass();
  scene.perSecond.set("app", 5_000);
  await scene.run(61);
  expect(scene.entry()).toMatchObject({ state: "Throttled" });
  scene.written.length = 0;
  return scene;
}

/** By server-side apply or a patch, which keeps the annotations. */
const applied = { replicas: 2, scaledDown: { replicas: 2, owner: "team/it" } };
/** By an update of the whole object, or by deleting and creating it again. */
const replaced = { replicas: 2 };

describe.each([
  ["applies", applied],
  ["replaces", replaced],
])("a client that %s the replicas again", (_, view) => {
  it("keeps them until the next relapse, however often", async () => {
    const scene = await scaled();
    for (let round = 0; round < 10; round++) {
      scene.put("Deployment", "app", view);
      await scene.run(10);
      expect(scene.workloadNow()?.replicas).toBe(2);
    }
    expect(scalings(scene)).toEqual([]);
    expect(scene.workloadNow("db", "StatefulSet")?.replicas).toBe(0);
  });

  it("is reported: the workload is throttled only", async () => {
    const scene = await scaled();
    scene.put("Deployment", "app", view);
    const { message, reason } = await scene.pass();
    expect(reason).toBe("ScaledToZero");
    expect(message).toContain("Its Deployments and StatefulSets are scaled to zero until then.");
    expect(message).toContain("Deployment app has replicas that another client has set, and is throttled only.");
    scene.put("StatefulSet", "db", { ...view, replicas: 3 });
    const both = await scene.pass();
    expect(both.reason).toBe("Throttled");
    expect(both.message).not.toContain("scaled to zero until then");
    expect(both.message).toContain("Deployment app, StatefulSet db have replicas that another client has set");
  });

  it("loses them once more with each relapse, until the operator gives up", async () => {
    const scene = await scaled();
    for (let seconds = 0; seconds < 6 * 3_600 && scene.entry()?.state !== "GivenUp"; seconds += 30) {
      scene.put("Deployment", "app", view);
      scene.put("StatefulSet", "db", { ...view, replicas: 3 });
      await scene.run(30);
    }
    expect(scene.entry()).toMatchObject({ state: "GivenUp", relapses: 5 });
    expect(scalings(scene)).toHaveLength(10);
  });
});

it("retries a workload whose scaling was refused", async () => {
  const scene = new Scene(onRunaway("ScaleToZero"));
  scene.isRefused = ({ target }) => target.kind === "Deployment";
  await scene.pass();
  await scene.pass();
  scene.perSecond.set("app", 5_000);
  await scene.run(90);
  expect(scene.entry()).toMatchObject({ state: "Throttled" });
  expect(scene.workloadNow()?.replicas).toBe(2);
  scene.isRefused = () => false;
  await scene.run(30);
  expect(scene.workloadNow()?.replicas).toBe(0);
});

it("scales to zero again after a change of the spec", async () => {
  const scene = await scaled();
  scene.put("Deployment", "app", replaced);
  await scene.pass();
  scene.change(onRunaway("ScaleToZero"));
  await scene.pass();
  expect(scalings(scene)).toEqual(["app"]);
});

describe("in one throttle", () => {
  const ofOthers = "replicas that another client has set";

  it("scales a workload that joins, and not again one that a client has replaced", async () => {
    const scene = await scaled();
    scene.put("Deployment", "app", replaced);
    await scene.pass();
    scene.object.spec.targets.push({ kind: "Deployment", name: "new" });
    scene.put("Deployment", "new");
    await scene.run(30);
    expect(scalings(scene)).toEqual(["new"]);
    expect([scene.workloadNow("new")?.replicas, scene.workloadNow()?.replicas]).toEqual([0, 2]);
    expect(scene.entry()?.scaled).toEqual(["Deployment/app", "Deployment/new", "StatefulSet/db"]);
    const { message } = await scene.pass();
    expect(message).toContain(`Deployment app has ${ofOthers}, and is throttled only.`);
  });

  it("scales a runaway that comes back under another name", async () => {
    const scene = await scaled();
    scene.world.workloads.delete("Deployment/app");
    scene.object.spec.targets[0] = { kind: "Deployment", name: "new" };
    scene.put("Deployment", "new");
    const { message } = await scene.pass();
    expect(message).not.toContain(ofOthers);
    expect([scalings(scene), scene.workloadNow("new")?.replicas]).toEqual([["new"], 0]);
  });

  it("does not blame another client for replicas that the operator has restored", async () => {
    const scene = await scaled();
    scene.put("Deployment", "app", { replicas: 0, skip: true, scaledDown: applied.scaledDown });
    await scene.pass();
    scene.put("Deployment", "app", { replicas: 2 });
    const { message } = await scene.run(30);
    expect(message).not.toContain(ofOthers);
    expect(message).toContain("Deployment app keeps its replicas, and is throttled only.");
    expect([scalings(scene), scene.workloadNow()?.replicas]).toEqual([[], 2]);
    expect(scene.entry()).toMatchObject({ scaled: ["StatefulSet/db"], restored: ["Deployment/app"] });
  });

  it("blames the client that has set the replicas before the skip annotation", async () => {
    const scene = await scaled();
    scene.put("Deployment", "app", { ...applied, skip: true });
    await scene.pass();
    scene.put("Deployment", "app", replaced);
    const { message } = await scene.pass();
    expect(message).toContain(`Deployment app has ${ofOthers}, and is throttled only.`);
  });

  it("knows what it has scaled although status was lost", async () => {
    const scene = await scaled();
    const flows = (scene.object.status?.flows ?? []).map(entry => ({ ...entry, scaled: [] }));
    scene.object = { ...scene.object, status: { flows } };
    await scene.pass();
    scene.put("Deployment", "app", replaced);
    await scene.run(30);
    expect([scalings(scene), scene.workloadNow()?.replicas]).toEqual([[], 2]);
  });

  it("scales 64 workloads at most, and names some of the others", async () => {
    const scene = new Scene(onRunaway("ScaleToZero"));
    scene.object.spec.targets = [{ kind: "Deployment", selector: { matchLabels: { app: "app" } } }];
    for (let i = 0; i < 70; i++) scene.put("Deployment", `app-${i}`, { labels: { app: "app" } });
    await scene.pass();
    await scene.pass();
    scene.perSecond.set("app", 5_000);
    const { message } = await scene.run(90);
    expect(scalings(scene)).toHaveLength(64);
    expect(scene.entry()?.scaled).toHaveLength(64);
    expect(message).toMatch(/ (Deployment app-\d+, ){5}and \d more keep their replicas, and are throttled only\./);
  });
});
