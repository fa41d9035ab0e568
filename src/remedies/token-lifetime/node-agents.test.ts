import { describe, expect, it } from "vitest";
import { ForbiddenError } from "../../core/errors";
import { PLAIN, Scene } from "./testing/scene";

// A CNI agent that copies its token to the node fails when that copy dies, and only pods that start there show it.

const SECOND = 1_000;

describe("Events about sandboxes before the change", () => {
  it("are watched for two minutes before anything is changed", async () => {
    const scene = new Scene({}, true);
    for (let i = 0; i < 12; i++) {
      await scene.pass();
      await scene.clock.run(10 * SECOND);
    }
    expect(scene.written).toEqual([]);
    await scene.pass();
    await scene.pass();
    expect(scene.written).toHaveLength(1);
  });

  it("block the change while pods cannot start on a node of the agent", async () => {
    const scene = new Scene({}, true);
    await scene.run(40, ["node-1"]);
    expect(scene.written).toEqual([]);
    expect((await scene.pass()).message).toContain("pods on its nodes already fail to start");
  });

  it("that cannot be read block the change, and are named", async () => {
    const scene = new Scene({}, true);
    scene.failing.sandboxEvents = new ForbiddenError("may not list events");
    await scene.run(20);
    expect(scene.written).toEqual([]);
    expect((await scene.pass()).message).toContain("Events about pods that cannot start");
  });
});

describe("Events about sandboxes after the change", () => {
  /** The template was changed and the first pod was replaced. */
  async function changed(): Promise<Scene> {
    const scene = new Scene({}, true);
    await scene.run(16);
    expect(scene.lines).toEqual(["apply DaemonSet", "evict Pod"]);
    return scene;
  }

  it("revert it when pods cannot start on a node with the shorter token", async () => {
    const scene = await changed();
    await scene.run(62);
    await scene.run(12, [scene.trialNode]);
    expect(scene.written.map(({ eventReason }) => eventReason)).toEqual([
      "TokenLifetimeShortened",
      "PodEvicted",
      "TokenLifetimeRestored",
    ]);
    expect(scene.set().template).toEqual(PLAIN);
  });

  it("end the trial without a verdict if pods cannot start on other nodes either", async () => {
    const scene = await changed();
    await scene.run(10);
    await scene.run(12, ["node-1", "node-2"]);
    expect(scene.lines).toEqual(["apply DaemonSet", "evict Pod", "apply DaemonSet"]);
    expect(scene.entry()).toMatchObject({ outcome: "Unproven" });
  });

  it("of one foreign namespace revert nothing, since its members can write them", async () => {
    const scene = await changed();
    await scene.run(10);
    await scene.run(12, [scene.trialNode], ["shop"]);
    expect(scene.lines).toEqual(["apply DaemonSet", "evict Pod"]);
  });
});

it("the trial of a CNI agent passes on the only node, too", async () => {
  const scene = new Scene({}, true);
  scene.podList = scene.podList.slice(0, 1);
  scene.put("agent", PLAIN, { replicas: 1, updatedPods: 1, availablePods: 1 });
  await scene.run(108);
  expect(scene.last.message).toContain(`was seen to start on node ${scene.trialNode} since`);
  scene.start(scene.trialNode);
  await scene.run(3);
  expect(scene.last).toMatchObject({ status: "True", reason: "Bounded" });
});
