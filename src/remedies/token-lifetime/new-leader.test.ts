import { describe, expect, it } from "vitest";
import { PLAIN, Scene } from "./testing/scene";

// A new leader remembers nothing: what a trial needs is in status or in the cluster, or the trial waits for it again.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const KINDS: readonly (readonly [string, boolean])[] = [
  ["an ordinary DaemonSet", false],
  ["a CNI agent", true],
];

/** Passes every ten seconds; pods start on every node once per minute. No pass ends the trial. */
async function runOn(scene: Scene, passes: number): Promise<void> {
  for (let i = 0; i < passes; i++) {
    if (scene.clock.now().getTime() % MINUTE === 0) ["node-1", "node-2", "node-3"].forEach(node => scene.start(node));
    await scene.run(1);
    const { reason } = scene.last;
    expect(["Contested", "Reverted", "RolloutStuck"]).not.toContain(reason);
  }
}

/** The first pod was replaced. */
async function begun(isAgent: boolean): Promise<Scene> {
  const scene = new Scene({}, isAgent);
  await runOn(scene, 20);
  expect(scene.lines).toEqual(["apply DaemonSet", "evict Pod"]);
  return scene;
}

describe.each(KINDS)("the trial of %s", (_, isAgent) => {
  it.each([
    ["at once", 0],
    ["after five hours, as after a suspension", 5 * HOUR],
  ])("is finished by a new leader that begins %s, at any pass of the trial", async (_when, gapMs) => {
    for (const before of [1, 3, 4, 13, 15, 17, 40, 70, 82]) {
      const scene = new Scene({}, isAgent);
      await runOn(scene, before);
      scene.newLeader();
      await scene.gap(gapMs);
      await runOn(scene, 120);
      expect([before, scene.count(600)]).toEqual([before, 3]);
      expect(scene.lines.filter(line => line === "apply DaemonSet")).toHaveLength(2);
      expect((await scene.pass()).reason).toBe("Bounded");
    }
  });

  it("is finished by a new leader that comes after a crash between any write and its record", async () => {
    const whole = new Scene({}, isAgent);
    const writes: number[] = [];
    for (let pass = 0; pass < 100; pass++) {
      const count = whole.written.length;
      await runOn(whole, 1);
      if (whole.written.length > count) writes.push(pass);
    }
    expect(writes).toHaveLength(3);
    for (const [before, gapMs] of writes.flatMap(pass => [[pass, 0] as const, [pass, 20 * MINUTE] as const])) {
      const scene = new Scene({}, isAgent);
      await runOn(scene, before);
      await scene.passAndCrash();
      scene.newLeader();
      await scene.gap(gapMs);
      await runOn(scene, 140);
      expect([before, scene.count(600)]).toEqual([before, 3]);
      expect(scene.lines.filter(line => line === "apply DaemonSet")).toHaveLength(2);
    }
  });

  it("ends without proof an hour after its time, but not before a new leader has read the log", async () => {
    const scene = await begun(isAgent);
    scene.setLogs("unread");
    await scene.run(449);
    expect(scene.set().updateStrategy).toBe("OnDelete");
    scene.setLogs("unreadable");
    await scene.run(2);
    expect(scene.entry()).toMatchObject({ outcome: "Unproven" });
    expect(scene.set().template).toEqual(PLAIN);
  });

  it("ends without proof in the end, although no leader reads the log", async () => {
    const scene = await begun(isAgent);
    scene.setLogs("unread");
    await scene.run(6 * 5 * 75 + 30);
    expect(scene.entry()).toMatchObject({ outcome: "Unproven" });
  });

  it("is not contested if the owner changed the template after a crash", async () => {
    const scene = new Scene({}, isAgent);
    while (scene.entry()?.outcome !== "Planned") await runOn(scene, 1);
    await scene.passAndCrash();
    expect(scene.set().updateStrategy).toBe("OnDelete");
    scene.setImage("agent:2");
    scene.newLeader();
    await runOn(scene, 140);
    expect(scene.count(600)).toBe(3);
  });
});
