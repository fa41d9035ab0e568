import { describe, expect, it } from "vitest";
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

/** Deleted, or being deleted. */
const ABSENCES: readonly [string, (scene: Scene) => void][] = [
  ["that is missing", scene => (scene.hasAccount = false)],
  ["that is being deleted", scene => (scene.account = { ...scene.account, deletedAtMs: 1 })],
];

/** Recreates the ServiceAccount. */
function comeBack(scene: Scene): void {
  scene.hasAccount = true;
  scene.account = { namespace: "team", name: "agent", uid: "sa-2", createdAtMs: scene.clock.now().getTime() };
}

function leave(scene: Scene): void {
  scene.object.spec.tokenLifetime!.defaultToken = "Leave";
}

describe.each(ABSENCES)("a ServiceAccount %s", (_, go) => {
  it("explains the 401s, also after it was recreated", async () => {
    const scene = await changed();
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

  it("delays a recorded revert", async () => {
    const scene = await changed();
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
});
