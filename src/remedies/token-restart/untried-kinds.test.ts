import { describe, expect, it } from "vitest";
import type { TargetSelector } from "../../api/controller-resilience";
import { UNAUTHORIZED, workload, type ScenePass } from "./testing/scene";
import { Shop } from "./testing/shop";

const MACHINES: readonly string[] = ["a", "b", "c", "d"];

function machine(name: string): { owner: { group: string; kind: string; name: string; uid: string } } {
  return { owner: { group: "example.com", kind: "Machine", name: `m-${name}`, uid: `m-${name}` } };
}

/** Machines with one rejected pod each. */
function machines(names: readonly string[] = MACHINES): Shop {
  const scene = new Shop({ cooldown: "30s" });
  for (const name of names) scene.add(name, machine(name));
  return scene;
}

/** The first pod was evicted, and its owner has not replaced it. */
async function evicted(names: readonly string[] = MACHINES): Promise<Shop> {
  const scene = machines(names);
  scene.execute(await scene.sick(...names));
  expect(scene.podList.map(({ name }) => name)).toEqual(names.slice(1));
  return scene;
}

function changeSpec(scene: Shop, targets: TargetSelector[] = scene.object.spec.targets): void {
  const { metadata, spec } = scene.object;
  const generation = metadata.generation + 1;
  scene.object = { ...scene.object, metadata: { ...metadata, generation }, spec: { ...spec, targets } };
}

async function passes(scene: Shop, count: number, ...sick: string[]): Promise<ScenePass> {
  return scene.passes(count, () => sick.forEach(name => scene.log(UNAUTHORIZED, name)));
}

describe("an owner of unknown kind that has lost its only pod", () => {
  it("is still watched, and a person must act after two minutes", async () => {
    const scene = await evicted(["a"]);
    expect(await scene.passes(20)).toMatchObject({ reason: "Restarting" });
    const pass = await scene.passes(6);
    expect(pass).toMatchObject({ reason: "NotRecreated", stalled: { reason: "NotRecreated" } });
    expect(pass.message).toContain("Machine.example.com/m-a: evicted pod a, and no pod that the targets select");
    expect(pass.lists?.targets).toMatchObject([
      { kind: "Machine.example.com", name: "m-a", pods: 0, rejectedPods: 0, unreplacedGeneration: 1 },
    ]);
    scene.clock.advance(48 * 3_600_000);
    scene.failOver();
    expect(await scene.pass()).toMatchObject({ reason: "NotRecreated", restarts: [{ outcome: "Restarted" }] });
  });

  it("is watched too if the answer to the eviction was lost", async () => {
    const scene = machines(["a"]);
    const { intents } = await scene.sick("a");
    intents.forEach(intent => scene.noteRestart(intent, "Requested"));
    scene.remove("a");
    expect(await scene.passes(30)).toMatchObject({ reason: "NotRecreated", restarts: [{ outcome: "Restarted" }] });
  });

  it("may still replace it", async () => {
    const scene = await evicted(["a"]);
    await scene.passes(30);
    scene.add("a2", machine("a"), 0);
    scene.log("started", "a2");
    const pass = await scene.passes(30, () => scene.log("fine", "a2"));
    expect(pass).toMatchObject({ status: "True", reason: "Accepted", restarts: [{ outcome: "Recovered" }] });
  });

  it("is forgotten with a change of the spec, as it may have been deleted", async () => {
    const scene = await evicted(["a"]);
    await scene.passes(30);
    changeSpec(scene);
    expect((await scene.pass()).restarts).toMatchObject([{ outcome: "Ineffective" }]);
    const pass = await scene.pass();
    expect(pass).toMatchObject({ reason: "TargetNotFound", lists: { targets: [] } });
    expect(pass.stalled?.reason).not.toBe("NotRecreated");
  });

  it("is forgotten when no target selects pods any more", async () => {
    const scene = await evicted(["a"]);
    changeSpec(scene, [{ kind: "Deployment", name: "web" }]);
    expect(await scene.pass()).toMatchObject({ reason: "TargetNotFound", lists: { targets: [] } });
  });
});

describe("owners of one unknown kind", () => {
  it("are tried one at a time, also within one pass", async () => {
    const scene = machines();
    const pass = await scene.sick(...MACHINES);
    expect(pass.intents).toMatchObject([{ target: { name: "a" } }]);
    expect(pass.message).toContain(
      "Machine.example.com/m-b: 1 of 1 pod rejected; no owner of kind Machine.example.com has replaced an evicted pod yet, so it waits until Machine.example.com/m-a has replaced pod a.",
    );
  });

  it("lose one pod if the first does not replace it, and the object is Stalled", async () => {
    const scene = await evicted();
    expect(await passes(scene, 20, "b", "c", "d")).toMatchObject({ reason: "RestartDeferred", intents: [] });
    expect(await passes(scene, 6, "b", "c", "d")).toMatchObject({ reason: "NotRecreated", intents: [] });
    scene.clock.advance(48 * 3_600_000);
    scene.failOver();
    const pass = await scene.sick("b", "c", "d");
    expect(pass).toMatchObject({ reason: "NotRecreated", stalled: { reason: "NotRecreated" }, intents: [] });
  });

  it("follow once the first has replaced its pod", async () => {
    const scene = await evicted();
    await passes(scene, 2, "b", "c", "d");
    scene.add("a2", machine("a"), 0);
    scene.log("started", "a2");
    const pass = await scene.passes(25, () => {
      for (const name of ["b", "c", "d"]) scene.log(UNAUTHORIZED, name);
      scene.log("fine", "a2");
    });
    expect(pass.restarts).toMatchObject([{ pod: "a", outcome: "Recovered" }]);
    expect(pass.intents.map(({ target }) => target.name)).toEqual(["b", "c", "d"]);
    scene.execute({ ...pass, intents: pass.intents.slice(0, 1) });
    expect((await passes(scene, 1, "c", "d")).intents).toHaveLength(2);
  });

  it("are tried once more after a change of the spec", async () => {
    const scene = await evicted();
    await passes(scene, 26, "b", "c", "d");
    changeSpec(scene);
    const pass = await passes(scene, 2, "b", "c", "d");
    expect(pass.intents).toMatchObject([{ target: { name: "b" } }]);
    scene.execute(pass);
    expect(await passes(scene, 40, "c", "d")).toMatchObject({ reason: "NotRecreated", intents: [] });
  });

  it("do not wait for one whose eviction the API server refuses", async () => {
    const scene = machines();
    const first = await scene.sick(...MACHINES);
    scene.report(first, { result: "Blocked", message: "disruption budget", retryAfterMs: 300_000 });
    expect((await passes(scene, 1, ...MACHINES)).intents).toMatchObject([{ target: { name: "b" } }]);
    const other = machines();
    const failed = await other.sick(...MACHINES);
    other.report(failed, { result: "Failed", message: "webhook" }, 300_000);
    expect((await passes(other, 1, ...MACHINES)).intents).toMatchObject([{ target: { name: "b" } }]);
  });

  it("with proof go first", async () => {
    const scene = machines();
    const account = "recreated";
    scene.accounts.set(account, scene.account("sa-2", -600_000, account));
    scene.add("e", { ...machine("e"), serviceAccountName: account }, -1_800_000);
    expect((await scene.sick(...MACHINES, "e")).intents).toMatchObject([{ target: { name: "e" } }]);
  });

  it("wait while the evicted pod terminates, and a person must act after an hour", async () => {
    const scene = await evicted(["a", "b"]);
    scene.add("a", { ...machine("a"), deletedAtMs: scene.clock.now().getTime() });
    expect((await passes(scene, 30, "b")).intents).toEqual([]);
    for (let minute = 0; minute < 60; minute++) {
      scene.clock.advance(60_000);
      scene.log(UNAUTHORIZED, "b");
      await scene.pass();
    }
    const pass = await passes(scene, 1, "b");
    expect(pass).toMatchObject({ intents: [], stalled: { reason: "RestartDeferred" } });
    expect(pass.message).toContain("check why pod a was not replaced");
  });

  it("are not tried if Kubernetes itself has the kind", async () => {
    const scene = new Shop();
    scene.workloadList = ["x", "y"].map(name => workload({ kind: "StatefulSet", name, uid: name, replicas: 2 }));
    const owner = (name: string) => ({ owner: { group: "apps", kind: "StatefulSet", name, uid: name } });
    for (const name of ["x", "y"]) {
      scene.add(`${name}-0`, owner(name));
      scene.add(`${name}-1`, { ...owner(name), labels: {} });
    }
    const pass = await scene.sick("x-0", "y-0");
    expect(pass.intents).toHaveLength(2);
    scene.execute(pass);
    expect(await scene.pass()).toMatchObject({ reason: "TargetNotFound", lists: { targets: [] } });
  });

  it("do not delay owners of another kind", async () => {
    const scene = await evicted(["a", "b"]);
    scene.add("x");
    expect((await scene.sick("b", "x")).intents).toMatchObject([{ target: { name: "x" } }]);
    expect((await passes(scene, 30, "b", "x")).intents).toMatchObject([{ target: { name: "x" } }]);
  });
});
