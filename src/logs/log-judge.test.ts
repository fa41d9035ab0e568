import { describe, expect, it } from "vitest";
import { ForbiddenError } from "../core/errors";
import { createLogJudge } from "./log-judge";
import { container } from "../remedies/token-restart/testing/fake-log";
import { Scene, UNAUTHORIZED } from "../remedies/token-restart/testing/scene";

const judged = async (scene: Scene, judge = createLogJudge()) => {
  const { verdicts } = await judge.judge("team/it", scene.podList, scene);
  return verdicts.get(scene.podList[0]?.uid ?? "");
};

describe("the judge of logs", () => {
  it("knows nothing of a log before it was read, and finds it quiet then", async () => {
    const scene = new Scene();
    scene.log("all is well");
    expect(await judged(scene)).toBe("quiet");
  });

  it("finds persistent 401s", async () => {
    const scene = new Scene();
    const judge = createLogJudge();
    for (let i = 0; i < 5; i++) {
      scene.log(UNAUTHORIZED);
      await scene.clock.run(30_000);
      await judged(scene, judge);
    }
    expect(await judged(scene, judge)).toBe("persistent");
  });

  it("does not forget a container between two of its lives", async () => {
    const scene = new Scene();
    const judge = createLogJudge();
    const [pod] = scene.podList;
    for (let life = 0; life < 4; life++) {
      scene.log(UNAUTHORIZED);
      const startedAtMs = scene.clock.now().getTime() - 1_000;
      scene.podList = [{ ...pod!, containers: [container({ running: true, startedAtMs })] }];
      await judged(scene, judge);
      scene.podList = [{ ...pod!, containers: [container({ running: false, startedAtMs })] }];
      await scene.clock.run(60_000);
      expect(await judged(scene, judge)).not.toBe("unread");
    }
    expect(await judged(scene, judge)).toBe("persistent");
  });

  it("says that a log can't be read where that is forbidden", async () => {
    const scene = new Scene();
    scene.logs.before = () => Promise.reject(new ForbiddenError("no"));
    expect(await judged(scene)).toBe("unreadable");
  });
});
