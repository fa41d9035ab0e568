import { describe, expect, it } from "vitest";
import type { RestartStatus, TokenRestartSpec } from "../../api/controller-resilience";
import { Scene, UNAUTHORIZED, workload, type ScenePass } from "./testing/scene";

const MINUTE = 60_000;

/** A Deployment whose pods log a 401 every five seconds. */
function sick(pods: number, spec: Partial<TokenRestartSpec> = {}): Scene {
  const scene = new Scene(spec);
  scene.workloadList = [workload({ replicas: pods })];
  scene.podList = Array.from({ length: pods }, (_, i) =>
    scene.podAt(-3_600_000 - i, { name: `web-5d-${i}`, uid: `uid-${i}` }),
  );
  return scene;
}

/** Runs passes for some minutes; `isDead` pods log 401s, and each restart is executed. Returns the last pass and the restarted pods. */
async function live(
  scene: Scene,
  minutes: number,
  isDead: (pod: string, second: number) => boolean,
): Promise<{ pass: ScenePass; restarted: string[] }> {
  const restarted: string[] = [];
  let pass = await scene.pass();
  for (let second = 5; second <= minutes * 60; second += 5) {
    scene.clock.advance(5_000);
    for (const { name } of scene.podList) scene.log(isDead(name, second) ? UNAUTHORIZED : "working", name);
    pass = await scene.pass();
    for (const intent of pass.intents) {
      const name = intent.restart!.pod;
      scene.noteRestart(intent);
      scene.replacePod(name, `${name}x`);
      restarted.push(name);
    }
  }
  return { pass, restarted };
}

describe("one incident", () => {
  it("is healed in every pod of a workload although the cause is not proven", async () => {
    const scene = sick(5);
    const { pass, restarted } = await live(scene, 20, pod => !pod.endsWith("x"));
    expect(new Set(restarted).size).toBe(5);
    expect(restarted).toHaveLength(5);
    expect(pass).toMatchObject({ reason: "Accepted" });
  });

  it("of short rejections that come back ends after two restarts, and then needs a person", async () => {
    const scene = sick(1);
    const { pass, restarted } = await live(scene, 240, (_, second) => second % 720 < 120);
    expect(restarted).toHaveLength(2);
    expect(pass.lists?.targets).toMatchObject([{ exhaustedIncident: "Unknown" }]);
  });

  it("that restarts do not help does not stop the healing of a proven one", async () => {
    const scene = sick(1);
    const first = await live(scene, 60, () => true);
    expect(first.pass).toMatchObject({ reason: "RestartsExhausted", stalled: { reason: "RestartsExhausted" } });
    expect(first.restarted).toHaveLength(2);
    scene.accounts.set("web", scene.account("sa-2", 0));
    const second = await live(scene, 5, () => true);
    expect(second.restarted).toHaveLength(1);
    expect(second.pass.restarts.at(-1)).toMatchObject({ cause: "ServiceAccountRecreated", serviceAccountUID: "sa-2" });
  });

  it("of which a ServiceAccount is recreated again and again is bounded by maxRestarts, and goes on by itself", async () => {
    const scene = sick(1);
    const accounts = [50, 35, 20].map((minutesAgo): RestartStatus => {
      return {
        pod: "web-5d-x",
        podUID: `uid of ${minutesAgo}`,
        workload: "Deployment/web",
        time: new Date(scene.clock.now().getTime() - minutesAgo * MINUTE).toISOString(),
        cause: "ServiceAccountRecreated",
        serviceAccountUID: `sa of ${minutesAgo}`,
        outcome: "Recovered",
      };
    });
    scene.object = { ...scene.object, status: { restarts: accounts } };
    scene.accounts.set("web", scene.account("sa-2", 0));
    const waiting = await live(scene, 9, () => true);
    expect(waiting.restarted).toEqual([]);
    expect(waiting.pass).toMatchObject({ reason: "RestartDeferred", progressing: true });
    expect((await live(scene, 2, () => true)).restarted).toHaveLength(1);
  });
});

describe("a pod that cannot be healed", () => {
  it("does not keep its siblings from their turn once the restarts of its incident are used up", async () => {
    const scene = sick(2);
    scene.accounts.set("other", scene.account("sa-9", 0, "other"));
    scene.podList = scene.podList.map((pod, i) =>
      i === 0 ? { ...pod, serviceAccountName: "other", ready: false } : pod,
    );
    const target = { kind: "Deployment", name: "web", pods: 2, rejectedPods: 2, exhaustedGeneration: 1 } as const;
    const status = { targets: [{ ...target, exhaustedIncident: "ServiceAccountRecreated sa-9" }] };
    scene.object = { ...scene.object, status };
    const pass = await scene.passes(15, () => scene.podList.forEach(({ name }) => scene.log(UNAUTHORIZED, name)));
    expect(pass.intents).toMatchObject([]);
    expect(pass).toMatchObject({ reason: "RestartDeferred" });
    scene.podList = scene.podList.map(pod => ({ ...pod, ready: true }));
    const next = await scene.passes(1, () => scene.podList.forEach(({ name }) => scene.log(UNAUTHORIZED, name)));
    expect(next.intents).toMatchObject([{ restart: { pod: "web-5d-1" } }]);
  });

  it("does not keep its siblings from their turn while a PodDisruptionBudget protects it", async () => {
    const scene = sick(2);
    const ill = await scene.passes(15, () => scene.podList.forEach(({ name }) => scene.log(UNAUTHORIZED, name)));
    expect(ill.intents).toMatchObject([{ restart: { pod: "web-5d-1" } }]);
    scene.report(ill, { result: "Blocked", message: "it would violate the disruption budget", retryAfterMs: 60_000 });
    scene.clock.advance(5_000);
    expect((await scene.pass()).intents).toMatchObject([{ restart: { pod: "web-5d-0" } }]);
  });

  it("does not hide the others while its ServiceAccount is missing", async () => {
    const scene = sick(2);
    scene.podList = scene.podList.map((pod, i) => (i === 0 ? { ...pod, serviceAccountName: "old" } : pod));
    const pass = await scene.passes(15, () => scene.podList.forEach(({ name }) => scene.log(UNAUTHORIZED, name)));
    expect(pass.intents).toMatchObject([{ restart: { pod: "web-5d-1" } }]);
  });

  it("stops the others when their successors would lack the same ServiceAccount", async () => {
    const scene = sick(2);
    scene.workloadList = [workload({ replicas: 2, serviceAccountName: "new" })];
    scene.podList = scene.podList.map((pod, i) => (i === 0 ? { ...pod, serviceAccountName: "new" } : pod));
    const pass = await scene.passes(15, () => scene.podList.forEach(({ name }) => scene.log(UNAUTHORIZED, name)));
    expect(pass).toMatchObject({ reason: "ServiceAccountMissing", intents: [] });
  });
});

describe("an API server that rejected everybody for a minute and recovered", () => {
  it("leads to no restart afterwards", async () => {
    const scene = sick(3);
    const { pass, restarted } = await live(scene, 10, (_, second) => second <= 75 && second >= 15);
    expect(restarted.length).toBeLessThanOrEqual(1);
    expect(pass).toMatchObject({ reason: "Accepted" });
  });
});
