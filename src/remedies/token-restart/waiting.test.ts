import { describe, expect, it } from "vitest";
import type { RestartStatus, TokenRestartSpec } from "../../api/controller-resilience";
import type { PodView } from "../../core/views";
import { Scene, UNAUTHORIZED, workload, type ScenePass } from "./testing/scene";

const MINUTE = 60_000;

/** A Deployment of which the first `dead` pods log a 401 every five seconds. */
function sick(pods: number, spec: Partial<TokenRestartSpec> = {}, over: (i: number) => Partial<PodView> = () => ({})) {
  const scene = new Scene(spec);
  scene.workloadList = [workload({ replicas: pods })];
  scene.podList = Array.from({ length: pods }, (_, i) =>
    scene.podAt(-3_600_000 - i, { name: `web-5d-${i}`, uid: `uid-${i}`, ...over(i) }),
  );
  return scene;
}

function live(scene: Scene, minutes: number, dead: (pod: string) => boolean = () => true): Promise<ScenePass> {
  return scene.passes(minutes * 12, () => {
    for (const { name } of scene.podList) if (dead(name)) scene.log(UNAUTHORIZED, name);
  });
}

describe("a workload that waits", () => {
  it("for a PodDisruptionBudget is Stalled after an hour, and says what a person can do", async () => {
    const scene = sick(1);
    let pass = await live(scene, 2);
    const refused = {
      result: "Blocked",
      message: "429: Cannot evict pod. The disruption budget web-pdb needs 1 healthy pods and has 1 currently",
      retryAfterMs: 300_000,
    } as const;
    const stalledAfter: number[] = [];
    for (let minutes = 0; minutes <= 70; minutes += 5) {
      if (pass.intents.length > 0) scene.report(pass, refused);
      if (pass.stalled !== undefined) stalledAfter.push(minutes);
      pass = await live(scene, 5);
    }
    expect(stalledAfter).toEqual([60, 65, 70]);
    expect(pass.stalled?.message).toContain("Waiting since 2025-01-01T12:02:00Z");
    const { stalled } = scene.report(pass, refused);
    expect(stalled?.message).toContain("PodDisruptionBudget web-pdb does not allow the eviction, next try at");
    expect(stalled?.message).toContain("delete the pod by hand, or add a replica");
    const executed = scene.report(pass, { result: "Executed" });
    expect(executed).not.toHaveProperty("stalled");
  });

  it("for an API server that fails evictions is Stalled after an hour, and its siblings are tried meanwhile", async () => {
    const scene = sick(2);
    let pass = await live(scene, 2);
    const tried = new Set<string>();
    const stalledAfter: number[] = [];
    for (let minutes = 0; minutes <= 70; minutes += 5) {
      const [intent] = pass.intents;
      if (intent !== undefined) {
        tried.add(intent.target.name);
        scene.noteRestart(intent, "Requested");
        const failed = scene.report(pass, { result: "Failed", message: "the API server answered 500" }, 600_000);
        expect(failed.message).toContain("the API server answered 500");
      }
      if (pass.stalled !== undefined) stalledAfter.push(minutes);
      pass = await live(scene, 5);
    }
    expect(stalledAfter.at(0)).toBe(60);
    expect(pass.stalled?.message).toContain("admission webhooks");
    expect([...tried].sort()).toEqual(["web-5d-0", "web-5d-1"]);
  });

  it("for a successor that never becomes Ready is Stalled an hour after the restart", async () => {
    const scene = sick(2);
    const [intent] = (await live(scene, 2)).intents;
    scene.noteRestart(intent!);
    scene.replacePod(intent!.restart!.pod, "web-5d-new");
    scene.podList = scene.podList.map(pod => (pod.name === "web-5d-new" ? { ...pod, ready: false } : pod));
    const isDead = (pod: string): boolean => pod !== "web-5d-new";
    const waiting = await live(scene, 59, isDead);
    expect(waiting).toMatchObject({ reason: "RestartDeferred", intents: [] });
    expect(waiting).not.toHaveProperty("stalled");
    const stalled = await live(scene, 2, isDead);
    expect(stalled).toMatchObject({ intents: [], stalled: { reason: "RestartDeferred" } });
    expect(stalled.message).toContain("kubectl describe");
  });

  it("for a limit of the operator is not Stalled, however long it takes", async () => {
    const scene = sick(1);
    const pass = await live(scene, 2);
    const deferred = scene.report(pass, { result: "Limited", limit: "Cooldown", retryAfterMs: 7_200_000 });
    expect(deferred.lists?.targets?.[0]).not.toHaveProperty("waitStartTime");
    expect(await live(scene, 70)).not.toHaveProperty("stalled");
  });

  it("forgets the wait when it is over", async () => {
    const scene = sick(1);
    const refused = { result: "Blocked", message: "no", retryAfterMs: 60_000 } as const;
    scene.report(await live(scene, 2), refused);
    expect((await scene.pass()).lists?.targets?.[0]).toHaveProperty("waitStartTime");
    const healed = await live(scene, 20, () => false);
    expect(healed.lists?.targets?.[0]).not.toHaveProperty("waitStartTime");
  });
});

describe("maxUnavailable", () => {
  const two = (i: number): Partial<PodView> => (i < 2 ? { ready: false } : {});

  it("counts pods that are not Ready for other reasons", async () => {
    const scene = sick(3, {}, two);
    const pass = await live(scene, 5, pod => pod === "web-5d-2");
    expect(pass).toMatchObject({ reason: "RestartDeferred", intents: [], progressing: true });
    expect(pass.message).toContain("waiting until pod web-5d-0 is Ready (maxUnavailable 1)");
    scene.podList = scene.podList.map(pod => ({ ...pod, ready: true }));
    expect((await live(scene, 1, pod => pod === "web-5d-2")).intents).toMatchObject([{ restart: { pod: "web-5d-2" } }]);
  });

  it("does not count pods that have not been Ready for an hour while others are", async () => {
    const old = (i: number): Partial<PodView> => (i === 0 ? { ready: false, readySinceMs: 0 } : {});
    const scene = sick(3, {}, old);
    expect((await live(scene, 2, pod => pod !== "web-5d-0")).intents).toMatchObject([{ restart: { pod: "web-5d-2" } }]);
    const last = sick(2, {}, old);
    expect(await live(last, 2, pod => pod !== "web-5d-0")).toMatchObject({ reason: "RestartDeferred", intents: [] });
  });

  it("lets a rejected pod that is not Ready be replaced: no more pods are down then", async () => {
    const scene = sick(3, {}, two);
    expect((await live(scene, 2)).intents).toMatchObject([{ restart: { pod: "web-5d-1" } }]);
  });

  it("does not protect a workload all of whose pods are proven to be rejected", async () => {
    const scene = sick(3, {}, i => (i === 2 ? {} : { ready: false, skip: true }));
    scene.accounts.set("web", scene.account("sa-2", 0));
    expect((await live(scene, 2)).intents).toMatchObject([{ restart: { pod: "web-5d-2" } }]);
  });

  it("does not count pods of a node that does not answer, and restarts these last", async () => {
    const lost = (i: number): Partial<PodView> => (i === 2 ? { ready: false, nodeUnreachable: true } : {});
    const scene = sick(3, {}, lost);
    expect((await live(scene, 2)).intents).toMatchObject([{ restart: { pod: "web-5d-1" } }]);
  });

  it("does not count a pod that stays Terminating for minutes", async () => {
    const scene = sick(2);
    const nowMs = scene.clock.now().getTime();
    scene.podList = scene.podList.map((pod, i) => (i === 0 ? { ...pod, deletedAtMs: nowMs } : pod));
    const restart: RestartStatus = {
      pod: "web-5d-0",
      podUID: "uid-0",
      workload: "Deployment/web",
      time: new Date(nowMs - 2 * MINUTE).toISOString(),
      cause: "ServiceAccountRecreated",
      serviceAccountUID: "sa-1",
      outcome: "Restarted",
    };
    scene.object = { ...scene.object, status: { restarts: [restart] } };
    expect((await live(scene, 2)).message).toContain("successor of pod web-5d-0");
    const later = await live(scene, 2);
    expect(later.message).not.toContain("maxUnavailable");
  });
});

describe("evidence that lacks ServiceAccountAge", () => {
  it("names the recreated ServiceAccount as the cause, but needs persistent 401s", async () => {
    const scene = sick(1, { evidence: ["Logs"] });
    scene.accounts.set("web", scene.account("sa-2", 0));
    expect(await live(scene, 15, () => false)).toMatchObject({ reason: "Accepted", intents: [] });
    const [intent] = (await live(scene, 2)).intents;
    expect(intent?.restart).toMatchObject({ cause: "ServiceAccountRecreated", serviceAccountUID: "sa-2" });
  });
});
