import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ForbiddenError } from "../core/errors";
import { findAny, isAnyUnauthorized, isKubelets401 } from "./detector";
import { createPodLogReview } from "./pod-log-review";
import { container } from "../core/testing/views";
import { Scene, UNAUTHORIZED } from "../remedies/token-restart/testing/scene";

const stateIn = async (scene: Scene, logs = createPodLogReview()) => {
  const states = await logs.review("team/it", scene.podList, scene);
  return states.get(scene.podList[0]?.uid ?? "")?.state;
};

describe("review of pod logs", () => {
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

  it("counts 401s of any kind on request, such as the kubelet's answer to the pod's own token", async () => {
    const scene = new Scene();
    const [api, any] = [createPodLogReview(), createPodLogReview(findAny)];
    const said =
      "E! [inputs.node] Error in plugin: https://10.0.0.7:10250/stats/summary returned HTTP status 401 Unauthorized";
    for (let i = 0; i < 5; i++) {
      scene.log(said);
      await scene.clock.run(30_000);
      await Promise.all([stateIn(scene, api), stateIn(scene, any)]);
    }
    expect([await stateIn(scene, api), await stateIn(scene, any)]).toEqual(["quiet", "persistent"]);
  });
});

it.each([
  ["error: You must be logged in to the server (Unauthorized)", true],
  ['GET https://10.0.0.7:10250/metrics/cadvisor: "401 Unauthorized"', true],
  ["kubelet answered with status=401", true],
  ["registry said 401 to https://registry.example/v2/", true],
  ["401: token expired", true],
  ["invalid bearer token, 401", true],
  ['level=error msg="401"', true],
  ["10.0.0.9 GET /apis/apps/v1 401 12ms", true],
  ["rest client: 401 from https://10.96.0.1", true],
  ["I0105 08:49:30.000000       1 controller.go:214] web: synced 401 objects", false],
  ['{"level":"info","msg":"reconciled","generation":401}', false],
  ["Handler 'reconcile' succeeded (401).", false],
  ["reconciled 401 objects, 0 errors", false],
  ['{"msg":"reconciled 401 objects","errors":0,"failed": 0}', false],
  ["reconciled 401 objects errors=0", false],
  ["401 for 10 errors", true],
  ["watch of shard 0 failed (401)", true],
  ["request to store-0 failed (401)", true],
  ["401 after errors=01", true],
  ["listed 401 pods, watching 401 of them", false],
  ["request took 401ms", false],
  ["handled 2401 requests", false],
  ["forbidden: 403", false],
])("a 401 of any kind %s: %s", (record, expected) => {
  expect(isAnyUnauthorized(record)).toBe(expected);
});

it("knows the kubelet's 401s from those of other services, and from what the kubelet says about others", () => {
  const lines = readFileSync(join(__dirname, "../../test/fixtures/log-records.jsonl"), "utf8").trimEnd().split("\n");
  const records = lines.map(line => JSON.parse(line) as { family: string; line: string });
  const kubelets = records.filter(
    ({ family, line }) => family.startsWith("other-401/kubelet-") || /:10250\/m/.test(line),
  );
  expect(kubelets.length).toBeGreaterThan(40);
  expect(records.filter(({ line }) => isKubelets401(line))).toEqual(kubelets);
});
