import { describe, expect, it } from "vitest";
import { makeObject } from "../../core/testing/objects";
import { Scene } from "./testing/scene";

/** Another object with the same DaemonSet, which is older or younger. */
function share(scene: Scene, creationTimestamp: string): void {
  const other = makeObject("team/other", scene.object.spec);
  const metadata = { ...other.metadata, creationTimestamp };
  scene.objects = () => Promise.resolve([scene.object, { ...other, metadata }]);
}

const [YOUNGER, OLDER] = ["2025-01-01T00:00:05Z", "2024-01-01T00:00:00Z"];

describe("of two objects with one DaemonSet", () => {
  it("the older one changes it", async () => {
    const scene = new Scene();
    share(scene, YOUNGER);
    await scene.run(110);
    expect(scene.last).toMatchObject({ reason: "Bounded" });
  });

  it("the younger one waits, is Stalled after an hour, and has nothing to clean up", async () => {
    const scene = new Scene();
    share(scene, OLDER);
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
    share(scene, OLDER);
    expect(await scene.remedy.cleanUp!(scene.object, scene)).toHaveLength(1);
    await scene.run(100);
    expect(scene.last).toMatchObject({ reason: "Bounded" });
  });
});
