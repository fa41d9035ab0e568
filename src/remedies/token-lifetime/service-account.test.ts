import { describe, expect, it } from "vitest";
import { AdmissionScene } from "./testing/admission-scene";
import { PLAIN, Scene } from "./testing/scene";

// Without its ServiceAccount every pod gets 401 responses, and a deleted pod gets no successor.

const SECOND = 1_000;
const MINUTE = 60_000;

/** The template was changed, and all pods have the shorter token. */
async function changed(): Promise<Scene> {
  const scene = new Scene();
  await scene.pass();
  await scene.pass();
  await scene.clock.run(MINUTE);
  scene.roll("agent", 600);
  await scene.pass();
  return scene;
}

/** The policy is in effect, and the first pod was replaced. */
async function onTrial(): Promise<AdmissionScene> {
  const scene = new AdmissionScene();
  for (let i = 0; i < 20 && scene.count(600) === 0; i++) await scene.passes(2);
  await scene.clock.run(10 * SECOND);
  await scene.passes(4);
  return scene;
}

/** Deleted, or being deleted. */
const ABSENCES: readonly [string, (scene: Scene) => void][] = [
  ["that is missing", scene => (scene.hasAccount = false)],
  ["that is being deleted", scene => (scene.account = { ...scene.account, deletedAtMs: 1 })],
];

/** Both ways, each with a scene after the change. */
const WAYS = [
  ["template", changed],
  ["policy", onTrial],
] as const;

/** Recreates the ServiceAccount. */
function comeBack(scene: Scene): void {
  scene.hasAccount = true;
  scene.account = { namespace: "team", name: "agent", uid: "sa-2", createdAtMs: scene.clock.now().getTime() };
}

function leave(scene: Scene): void {
  scene.object.spec.tokenLifetime!.defaultToken = "Leave";
}

describe.each(ABSENCES)("a ServiceAccount %s", (_, go) => {
  it.each(WAYS)("explains the 401s, also after it was recreated: by %s", async (_way, make) => {
    const scene = await make();
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

  it("delays the template change and is named", async () => {
    const scene = new Scene();
    scene.object.spec.tokenLifetime!.revertOnUnauthorized = false;
    go(scene);
    await scene.pass();
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "Waiting", intents: [] });
    expect(decision.message).toContain("is delayed: its ServiceAccount agent is missing or being deleted");
    comeBack(scene);
    await scene.pass();
    await scene.pass();
    expect(scene.written).toHaveLength(1);
  });

  it("delays evictions", async () => {
    const scene = new AdmissionScene();
    await scene.pass();
    await scene.clock.run(MINUTE);
    go(scene);
    expect((await scene.passes(5)).message).toContain("ServiceAccount agent is missing");
    expect(scene.count(3607)).toBe(3);
    comeBack(scene);
    await scene.pass();
    expect(scene.count(3607)).toBe(2);
  });

  it("delays a template restore that the spec requests, until it exists again", async () => {
    const scene = await changed();
    leave(scene);
    go(scene);
    await scene.pass();
    expect((await scene.pass()).message).toContain(
      "DaemonSet agent: restoring its template is delayed: its ServiceAccount agent",
    );
    expect(scene.written).toHaveLength(1);
    comeBack(scene);
    await scene.pass();
    await scene.pass();
    expect(scene.set().template).toEqual(PLAIN);
  });

  it.each(WAYS)("delays a recorded revert: by %s", async (_way, make) => {
    const scene = await make();
    const before = scene.written.length;
    scene.setLogs("persistent", 600);
    expect(await scene.pass()).toMatchObject({ reason: "Reverting", intents: [] });
    go(scene);
    const decision = await scene.pass();
    expect(decision).toMatchObject({ reason: "Reverting", intents: [], recheckAfterMs: 10 * SECOND });
    expect(decision.message).toContain("the revert is delayed: its ServiceAccount agent is missing");
    await scene.clock.run(SECOND);
    comeBack(scene);
    // Now it explains all 401s.
    for (let i = 0; i < 3; i++) await scene.pass();
    expect(scene.written).toHaveLength(before);
    expect(scene.entry()?.outcome).not.toMatch(/^Revert/);
  });

  it("that exists again with the same uid does not delay a revert any more", async () => {
    const scene = await changed();
    scene.setLogs("persistent", 600);
    await scene.pass();
    const { account } = scene;
    go(scene);
    await scene.pass();
    [scene.account, scene.hasAccount] = [account, true];
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Reverted" });
  });

  it("delays evictions of pods that a policy left without access", async () => {
    const scene = await onTrial();
    scene.setLogs("persistent", 600);
    await scene.passes(2);
    expect(scene.entry()).toMatchObject({ outcome: "Reverted" });
    go(scene);
    expect((await scene.passes(20)).message).toContain("are not replaced yet: its ServiceAccount agent");
    expect(scene.count(600)).toBe(1);
  });
});
