import { describe, expect, it } from "vitest";
import type { PodView } from "../../core/views";
import { bounded, PLAIN, Scene, tried, withImage } from "./testing/scene";

// What a shorter token harms is reverted, and nothing else is.

const MINUTE = 60_000;

const reverts = ({ written }: Scene): number =>
  written.filter(({ eventReason }) => eventReason === "TokenLifetimeRestored").length;

function rotateKeys(scene: Scene): void {
  const changedMs = scene.clock.now().getTime() + 1;
  scene.keyRotation = () => Promise.resolve({ beforeMs: changedMs, unchangedMs: changedMs, changedMs });
}

it("a trial that a rotation of the signing keys disturbs is repeated once all pods work", async () => {
  const scene = new Scene();
  await scene.run(10);
  rotateKeys(scene);
  scene.setLogs("persistent");
  await scene.run(2);
  expect(scene.entry()).toMatchObject({ outcome: "Waiting" });
  scene.setLogs("quiet");
  await scene.run(200);
  expect(scene.last).toMatchObject({ reason: "Bounded" });
});

describe("401s after the change", () => {
  it("revert it, and it is not retried for that template", async () => {
    const scene = await bounded();
    scene.setLogs("persistent", 600);
    // It is not urgent enough to be rolled out faster than its owner allows, but it does not wait for anything either.
    scene.edit({ maxUnavailable: "100%" });
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "Reverted" });
    expect(scene.written.at(-1)?.eventReason).toBe("TokenLifetimeRestored");
    expect(scene.set().template).toEqual(PLAIN);
    scene.roll("agent", 3607);
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "Reverted", stalled: { reason: "Reverted" } });
    expect(scene.entry()).not.toHaveProperty("appliedTime");
    scene.ask();
    expect(await scene.pass()).toMatchObject({ reason: "Reverted", intents: [] });
  });

  it("are not repeated by a leader that does not know of the revert", async () => {
    const scene = await bounded();
    scene.setLogs("persistent", 600);
    await scene.passAndCrash();
    expect(reverts(scene)).toBe(1);
    scene.roll("agent", 3607);
    await scene.clock.run(MINUTE);
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "Contested", intents: [] });
  });

  it("call a person while the skip annotation keeps the operator from a revert", async () => {
    const scene = await bounded();
    scene.edit({ skip: true });
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Bounded" });
    scene.setLogs("persistent", 600);
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "Reverted", stalled: {}, intents: [] });
    scene.edit({ skip: false });
    await scene.pass();
    expect(reverts(scene)).toBe(1);
  });

  it("are only reported in Observe mode", async () => {
    const scene = await bounded();
    scene.object.spec.mode = "Observe";
    scene.setLogs("persistent", 600);
    expect((await scene.pass()).message).toContain("in Enforce mode the operator would revert the template change");
    scene.object.spec.mode = "Enforce";
    scene.setLogs("quiet");
    await scene.pass();
    expect(reverts(scene)).toBe(0);
  });

  it("revert it hours later, after the owner has deployed another template", async () => {
    const scene = await bounded();
    await scene.clock.run(100 * MINUTE);
    scene.put("agent", withImage(scene.set().template, "agent:2"));
    scene.roll("agent", 600);
    const appliedTime = scene.clock.now().toISOString().replace(".000", "");
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Bounded", appliedTime });
    await scene.clock.run(79 * MINUTE);
    scene.setLogs("persistent", 600);
    expect(await scene.pass()).toMatchObject({ reason: "Reverted" });
    expect(scene.entry()).toMatchObject({ outcome: "Reverted" });
  });

  const recreated = ({ account, clock }: Scene) => ({ ...account, createdAtMs: clock.now().getTime() + 1 });
  const ending = (pod: PodView) => ({ ...pod, deletedAtMs: 1 });

  it.each<[string, (scene: Scene) => void]>([
    ["of a pod that is older than its ServiceAccount", scene => (scene.account = recreated(scene))],
    ["of pods that are older than a rotation of the signing keys", scene => rotateKeys(scene)],
    ["that are only suspected", scene => scene.setLogs("suspected", 600)],
    ["that are older than the watch", () => undefined],
    ["of pods that are being deleted", scene => (scene.podList = scene.podList.map(ending))],
  ])("%s revert nothing", async (name, arrange) => {
    const scene = await bounded();
    if (name.includes("watch")) await scene.clock.run(90 * MINUTE);
    scene.setLogs("persistent", 600);
    arrange(scene);
    for (let i = 0; i < 3; i++) await scene.pass();
    expect(reverts(scene)).toBe(0);
  });

  it("of old and new pods have another cause, until the old ones are quiet", async () => {
    const scene = await tried();
    scene.setLogs("persistent", 3607);
    expect(await scene.pass()).toMatchObject({ reason: "Rolling", intents: [] });
    scene.setLogs("persistent");
    expect((await scene.pass()).message).not.toContain("reverting");
    scene.setLogs("quiet", 3607);
    expect((await scene.pass()).message).toContain("reverting the template change");
  });

  it("of pods that also have a longer token count as those of old pods", async () => {
    const scene = await tried();
    const both = { tokenExpirationSeconds: 600, maxTokenExpirationSeconds: 3607 };
    scene.podList = scene.podList.map(pod => ({ ...pod, ...both }));
    scene.setLogs("persistent");
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Rolling" });
  });

  it("of an earlier template do not revert the current one", async () => {
    const scene = await bounded();
    scene.setLogs("persistent", 600);
    scene.put("agent", withImage(scene.set().template, "agent:2"));
    await scene.pass();
    expect(reverts(scene)).toBe(0);
  });
});

it("a reverted change is remembered for the same template of a recreated DaemonSet only", async () => {
  const scene = await bounded();
  scene.setLogs("persistent", 600);
  await scene.pass();
  scene.sets.delete("agent");
  scene.put("agent", PLAIN, { uid: "uid-2" });
  expect(await scene.pass()).toMatchObject({ reason: "Reverted", intents: [] });
  expect(scene.entry()).toMatchObject({ outcome: "Reverted", uid: "uid-2" });
  scene.put("agent", withImage(PLAIN, "agent:2"), { updatedPods: 3 });
  scene.podList = [{ ...scene.podList[0]!, owner: { kind: "DaemonSet", name: "agent", uid: "uid-2" } }];
  scene.setLogs("quiet");
  await scene.pass();
  expect(scene.entry()).toMatchObject({ outcome: "Planned" });
});

// Without its ServiceAccount every pod gets 401 responses, and a deleted pod gets no successor.
describe.each<[string, (scene: Scene) => void]>([
  ["that is missing", scene => (scene.hasAccount = false)],
  ["that is being deleted", scene => (scene.account = { ...scene.account, deletedAtMs: 1 })],
])("a ServiceAccount %s", (_, go) => {
  function comeBack(scene: Scene): void {
    scene.hasAccount = true;
    scene.account = { namespace: "team", name: "agent", uid: "sa-2", createdAtMs: scene.clock.now().getTime() };
  }

  it("explains the 401s, also after it was recreated", async () => {
    const scene = await bounded();
    const before = scene.written.length;
    go(scene);
    scene.setLogs("persistent", 600);
    for (let i = 0; i < 3; i++) {
      await scene.pass();
      await scene.clock.run(MINUTE);
    }
    expect(scene.entry()?.outcome).not.toMatch(/^Revert/);
    comeBack(scene);
    for (let i = 0; i < 3; i++) await scene.pass();
    expect(scene.entry()?.outcome).not.toMatch(/^Revert/);
    expect(scene.written).toHaveLength(before);
  });

  it("delays the first eviction, and ends the trial once it is recreated, since that heals no old pod", async () => {
    const scene = new Scene();
    await scene.run(2);
    go(scene);
    await scene.run(5);
    expect(scene.last.message).toContain("replacing the first pod is delayed: its ServiceAccount agent is missing");
    expect(scene.count(3607)).toBe(3);
    comeBack(scene);
    await scene.run(2);
    expect([scene.lines, scene.set().template]).toEqual([["apply DaemonSet", "apply DaemonSet"], PLAIN]);
  });

  it("delays a template restore that the spec requests, until it exists again", async () => {
    const scene = await bounded();
    const before = scene.written.length;
    scene.object.spec.tokenLifetime!.defaultToken = "Leave";
    go(scene);
    await scene.pass();
    expect((await scene.pass()).message).toContain("restoring its template is delayed: its ServiceAccount agent");
    expect(scene.written).toHaveLength(before);
    comeBack(scene);
    await scene.pass();
    await scene.pass();
    expect(scene.set().template).toEqual(PLAIN);
  });
});
