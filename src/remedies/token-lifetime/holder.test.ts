import { describe, expect, it } from "vitest";
import { Scene } from "./testing/scene";

describe("of two objects with one DaemonSet", () => {
  it("the older one changes it", async () => {
    const scene = new Scene();
    scene.share("other", "2025-01-01T00:00:05Z");
    await scene.run(110);
    expect(scene.last).toMatchObject({ reason: "Bounded" });
  });

  it("the younger one waits, is Stalled after an hour, and has nothing to clean up", async () => {
    const scene = new Scene();
    scene.share("other");
    await scene.run(30);
    expect(scene.last).toMatchObject({ status: "False", reason: "Waiting", progressing: true, needsCleanup: false });
    expect(scene.last.message).toContain("another ControllerResilience, other, has this DaemonSet");
    await scene.run(335);
    expect(scene.last.stalled?.message).toContain("remove it from the targets of one of them");
    expect([scene.lines, await scene.remedy.cleanUp!(scene.object, scene)]).toEqual([[], []]);
  });

  it("the one that began a trial goes on, although an older one comes", async () => {
    const scene = new Scene();
    await scene.run(10);
    scene.share("other");
    expect(await scene.remedy.cleanUp!(scene.object, scene)).toHaveLength(1);
    await scene.run(100);
    expect(scene.last).toMatchObject({ reason: "Bounded" });
  });
});
