import { describe, expect, it } from "vitest";
import { bounded, PLAIN, Scene } from "./testing/scene";

// What must not be tried again is remembered while something else holds up the DaemonSet.

const MINUTE = 60_000;

/** Others take the change back. */
async function takenBack(scene: Scene): Promise<void> {
  await scene.clock.run(2 * MINUTE);
  scene.put("agent", PLAIN, { ownedVolumes: [] });
  scene.roll("agent", 3607);
}

const PASTS: readonly [string, () => Promise<Scene>][] = [
  [
    "Reverted",
    async () => {
      const scene = await bounded();
      scene.setLogs("persistent", 600);
      await scene.pass();
      scene.roll("agent", 3607);
      scene.setLogs("quiet");
      return scene;
    },
  ],
  [
    "Contested",
    async () => {
      const scene = await bounded();
      await takenBack(scene);
      await scene.pass();
      return scene;
    },
  ],
  [
    "Unproven",
    async () => {
      const scene = new Scene();
      await scene.run(10);
      scene.setLogs("unreadable", 600);
      await scene.run(500);
      scene.setLogs("quiet");
      return scene;
    },
  ],
];

/** Something else that holds up the DaemonSet, and its end. */
const HOLDS: readonly [string, (scene: Scene) => void, (scene: Scene) => void][] = [
  ["the skip annotation", scene => scene.edit({ skip: true }), scene => scene.edit({ skip: false })],
  [
    "updateStrategy OnDelete",
    scene => scene.edit({ updateStrategy: "OnDelete" }),
    scene => scene.edit({ updateStrategy: "RollingUpdate" }),
  ],
  [
    "an owner",
    scene => scene.edit({ owner: { kind: "Agent", name: "a", uid: "a" } }),
    scene => scene.put("agent", scene.set().template, { owner: undefined as never }),
  ],
  [
    "another object",
    scene => scene.share("older"),
    scene => void Object.assign(scene, { objects: () => Promise.resolve([scene.object]) }),
  ],
];

describe.each(PASTS)("a change that was %s", (outcome, past) => {
  it.each(HOLDS)("is not made again after %s has held it up", async (_, hold, end) => {
    const scene = await past();
    expect(scene.entry()).toMatchObject({ outcome });
    const count = scene.written.length;
    hold(scene);
    await scene.pass();
    end(scene);
    await scene.run(10);
    expect(scene.written).toHaveLength(count);
    expect(scene.entry()).toMatchObject({ outcome });
  });
});

it.each(HOLDS)("a change that others take back while %s holds it up is not made again", async (_, hold, end) => {
  const scene = await bounded();
  const count = scene.written.length;
  hold(scene);
  await scene.pass();
  await takenBack(scene);
  await scene.pass();
  end(scene);
  await scene.run(10);
  expect(scene.written).toHaveLength(count);
  expect(scene.last).toMatchObject({ reason: "Contested" });
});

it("a change that others take back is not made again although a clock that was ahead has stamped it", async () => {
  const scene = await bounded();
  scene.entry()!.appliedTime = "2035-01-01T00:00:00Z";
  await scene.pass();
  await takenBack(scene);
  await scene.run(10);
  expect(scene.last).toMatchObject({ reason: "Contested", stalled: { reason: "Contested" } });
});

it("a change that others took back is made again if another life is asked for while something else holds it up", async () => {
  const scene = await bounded();
  await takenBack(scene);
  await scene.pass();
  scene.edit({ skip: true });
  await scene.pass();
  scene.ask();
  await scene.pass();
  scene.edit({ skip: false });
  const count = scene.written.length;
  await scene.run(10);
  expect(scene.written.length).toBeGreaterThan(count);
});
