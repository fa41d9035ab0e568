import { describe, expect, it } from "vitest";
import { ForbiddenError } from "../../core/errors";
import { container } from "../../core/testing/views";
import { LogWatch } from "../../logs/reading/log-watch";
import { Scene, UNAUTHORIZED } from "../token-restart/testing/scene";
import { reviewLogs } from "./review";

const stateIn = async (scene: Scene, logs = new LogWatch("team/it")) => {
  const states = await reviewLogs(logs, scene.podList, scene);
  return states.get(scene.podList[0]?.uid ?? "")?.state;
};

describe("review of pod logs", () => {
  it("remembers a container between two of its lives", async () => {
    const scene = new Scene();
    const logs = new LogWatch("team/it");
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

  it("counts 401s of any kind, such as the kubelet's answer to the pod's own token", async () => {
    const scene = new Scene();
    const logs = new LogWatch("team/it");
    const said =
      "E! [inputs.node] Error in plugin: https://10.0.0.7:10250/stats/summary returned HTTP status 401 Unauthorized";
    for (let i = 0; i < 5; i++) {
      scene.log(said);
      await scene.clock.run(30_000);
      await stateIn(scene, logs);
    }
    expect(await stateIn(scene, logs)).toBe("persistent");
  });
});
