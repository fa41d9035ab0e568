import { describe, expect, it } from "vitest";
import { ForbiddenError } from "../core/errors";
import { createPodLogReview } from "./pod-log-review";
import { container } from "../remedies/token-restart/testing/fake-log";
import { Scene, UNAUTHORIZED } from "../remedies/token-restart/testing/scene";

const stateIn = async (scene: Scene, logs = createPodLogReview()) => {
  const states = await logs.review("team/it", scene.podList, scene);
  return states.get(scene.podList[0]?.uid ?? "")?.state;
};

describe("review of pod logs", () => {
  it("reports a log without 401s as quiet once it was read", async () => {
    const scene = new Scene();
    scene.log("all is well");
    expect(await stateIn(scene)).toBe("quiet");
  });

  it("reports persistent 401s", async () => {
    const scene = new Scene();
    const logs = createPodLogReview();
    for (let i = 0; i < 5; i++) {
      scene.log(UNAUTHORIZED);
      await scene.clock.run(30_000);
      await stateIn(scene, logs);
    }
    expect(await stateIn(scene, logs)).toBe("persistent");
  });

  it("remembers a container between two of its lives", async () => {
    const scene = new Scene();
    const logs = createPodLogReview();
    const [pod] = scene.podList;
    for (let life = 0; life < 4; life++) {
      scene.log(UNAUTHORIZED);
      const startedAtMs = scene.clock.now().getTime() - 1_000;
      scene.podList = [{ ...pod!, containers: [container({ running: true, startedAtMs })] }];
      await stateIn(scene, logs);
      scene.podList = [{ ...pod!, containers: [container({ running: false, startedAtMs })] }];
      await scene.clock.run(60_000);
      expect(await stateIn(scene, logs)).not.toBe("unread");
    }
    expect(await stateIn(scene, logs)).toBe("persistent");
  });

  it("reports a log that it may not read as unreadable", async () => {
    const scene = new Scene();
    scene.logs.before = () => Promise.reject(new ForbiddenError("no"));
    expect(await stateIn(scene)).toBe("unreadable");
  });
});
