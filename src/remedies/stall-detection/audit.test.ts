import { describe, expect, it } from "vitest";
import { Scene, type ScenePass } from "./testing/scene";

const isAccused = ({ reason }: ScenePass): boolean => reason !== "Active";

/** The pod has renewed its Lease for two minutes. */
async function learned(spec: ConstructorParameters<typeof Scene>[0] = {}): Promise<Scene> {
  const scene = new Scene({ evidence: ["Lease", "Audit"], ...spec });
  await scene.run(120);
  return scene;
}

/** Ends the container, or begins its next life. */
function setRunning(scene: Scene, running: boolean): void {
  scene.podList = scene.podList.map(pod => {
    return { ...pod, containers: pod.containers.map(one => ({ ...one, running })) };
  });
  if (running) scene.restartContainer("web-5d-a");
}

describe("evidence Audit", () => {
  it("names a holder whose requests get 401s and that stops renewing within 15 s, although it logs nothing", async () => {
    const scene = await learned();
    scene.renewer = undefined;
    const { pass, seconds } = await scene.reject(60, isAccused);
    expect(seconds).toBeLessThanOrEqual(12);
    expect(pass).toMatchObject({ status: "False", reason: "RequestsRejected", intents: [] });
    expect(pass.message).toMatch(/^Pod web-5d-a gets 401 responses since .*, and no longer renews Lease team\/web\.$/);
    const fields = { evidence: "Audit", pod: "web-5d-a", lease: "team/web", workload: "Deployment/web" };
    expect(pass.lists?.stalls).toMatchObject([fields]);
  });

  it("does not name a program that passes on requests of others, and goes on renewing its Lease", async () => {
    const scene = await learned({ for: "1m" });
    const { pass } = await scene.reject(600, isAccused);
    expect(pass).toMatchObject({ status: "True", reason: "Active" });
  });

  it("does not name a holder that renews seldom", async () => {
    const scene = new Scene({ evidence: ["Lease", "Audit"] });
    scene.renewer = undefined;
    scene.leaseList = scene.leaseList.map(one => ({ ...one, holder: "web-5d-a_1", durationMs: 40_000 }));
    let step = 0;
    await scene.run(300, () => {
      if (step++ % 3 === 0) scene.renew("web-5d-a_1");
    });
    for (let i = 0; i < 60; i++) {
      if (i % 15 === 0) scene.renew("web-5d-a_1");
      expect((await scene.reject(2)).pass.reason).toBe("Active");
    }
    const { seconds } = await scene.reject(90, isAccused);
    expect(seconds).toBeLessThan(60);
  });

  it("names a pod without a Lease only when it lasts, and never restarts it", async () => {
    const scene = new Scene({ evidence: ["Audit"], for: "2m", onStall: "Restart" });
    scene.leaseList = [];
    expect((await scene.reject(10)).pass.recheckAfterMs).toBe(110_000);
    const { pass, seconds: more } = await scene.reject(600, isAccused);
    const seconds = 10 + more;
    expect(seconds).toBeGreaterThanOrEqual(120);
    expect(seconds).toBeLessThanOrEqual(126);
    expect(pass).toMatchObject({ reason: "RequestsRejected", intents: [] });
    expect((await scene.reject(300)).pass.intents).toEqual([]);
  });

  it.each<[string, (scene: Scene) => void]>([
    ["shares its address", scene => scene.podList.push(scene.pod("other", { labels: {} }))],
    ["has no address of its own", scene => (scene.podList = scene.podList.map(pod => ({ ...pod, addresses: [] })))],
    ["is being deleted", scene => (scene.podList = scene.podList.map(pod => ({ ...pod, deletedAtMs: scene.nowMs })))],
    ["is not the one", scene => (scene.podList = scene.podList.map(pod => ({ ...pod, addresses: ["10.0.0.9"] })))],
  ])("says nothing of a pod that %s", async (_, arrange) => {
    const scene = await learned();
    arrange(scene);
    scene.renewer = undefined;
    expect((await scene.reject(60, isAccused)).pass).toMatchObject({ status: "True", reason: "Active" });
  });

  it("says nothing of a pod that has got the address of a rejected one", async () => {
    const scene = await learned({ for: "1m" });
    await scene.reject(10);
    scene.leaseList = [];
    scene.podList = [scene.pod("web-5d-b", { createdAtMs: scene.nowMs })];
    expect((await scene.reject(120, isAccused)).pass).toMatchObject({ status: "True", reason: "Active" });
  });

  it("names a pod that has got the address of a rejected one if its own 401s last", async () => {
    const scene = await learned({ for: "2m" });
    scene.leaseList = [];
    await scene.reject(60);
    scene.podList = [scene.pod("web-5d-b", { createdAtMs: scene.nowMs })];
    scene.logs.write("web-5d-b", "main");
    const { pass, seconds } = await scene.reject(1_800, isAccused);
    expect(pass).toMatchObject({ reason: "RequestsRejected", lists: { stalls: [{ pod: "web-5d-b" }] } });
    expect(seconds).toBeGreaterThanOrEqual(300 + 120);
    expect(seconds).toBeLessThanOrEqual(300 + 130);
    for (let minute = 0; minute < 30; minute++) expect((await scene.reject(60)).pass.message).toBe(pass.message);
  });

  it("names no pod that has got the address of a rejected one for a 401 now and then", async () => {
    const scene = await learned({ for: "2m" });
    scene.leaseList = [];
    await scene.reject(60);
    scene.podList = [scene.pod("web-5d-b", { createdAtMs: scene.nowMs })];
    scene.logs.write("web-5d-b", "main");
    for (let i = 0; i < 5; i++) {
      await scene.run(250);
      expect((await scene.reject(2)).pass).toMatchObject({ status: "True", reason: "Active" });
    }
  });

  it("names a holder of a Lease that has got the address of a rejected one", async () => {
    const scene = await learned();
    await scene.reject(60);
    scene.podList = [scene.pod("web-5d-b", { createdAtMs: scene.nowMs })];
    scene.logs.write("web-5d-b", "main");
    scene.take("web-5d-b_1");
    scene.renewer = "web-5d-b_1";
    await scene.reject(400);
    scene.renewer = undefined;
    const { pass, seconds } = await scene.reject(60, isAccused);
    expect(pass).toMatchObject({
      reason: "RequestsRejected",
      lists: { stalls: [{ pod: "web-5d-b", lease: "team/web" }] },
    });
    expect(seconds).toBeLessThanOrEqual(12);
  });

  it("says nothing of a pod that waited for its start while another one with its address was rejected", async () => {
    const scene = await learned({ for: "1m" });
    scene.leaseList = [];
    const createdAtMs = scene.nowMs - 600_000;
    await scene.reject(20);
    scene.podList = [scene.pod("web-5d-b", { createdAtMs, volumesReadyMs: scene.nowMs })];
    expect((await scene.reject(120, isAccused)).pass).toMatchObject({ status: "True", reason: "Active" });
  });

  it("says nothing of 401s that have ended, and ends once the Lease is renewed", async () => {
    const scene = await learned({ evidence: ["Audit"] });
    await scene.reject(10);
    await scene.run(60);
    scene.renewer = undefined;
    expect(await scene.run(60)).toMatchObject({ status: "True", reason: "Active" });
    await scene.reject(60, isAccused);
    expect(await scene.run(70)).toMatchObject({ reason: "RequestsRejected" });
    scene.renewer = "web-5d-a_0b5c";
    expect(await scene.run(10)).toMatchObject({ status: "True", reason: "Active" });
  });

  it("of a pod without a Lease ends within seconds of five minutes without a 401, without a full pass", async () => {
    const scene = new Scene({ evidence: ["Audit"], for: "2m" });
    scene.leaseList = [];
    let { pass } = await scene.reject(600, isAccused);
    expect(pass).toMatchObject({ reason: "RequestsRejected" });
    const endedMs = scene.nowMs;
    while (isAccused(pass) && scene.nowMs - endedMs < 600_000) {
      scene.time.advance(pass.recheckAfterMs ?? 600_000);
      pass = await scene.pass();
    }
    expect(pass).toMatchObject({ status: "True", reason: "Active" });
    expect(scene.nowMs - endedMs).toBeLessThanOrEqual(310_000);
  });

  it("lets a restart follow after one duration of the Lease instead of `for`", async () => {
    const scene = await learned({ onStall: "Restart" });
    scene.renewer = undefined;
    const { pass } = await scene.reject(60, isAccused);
    expect(pass).toMatchObject({ reason: "RestartDeferred", intents: [] });
    const then = await scene.reject(60, ({ intents }) => intents.length > 0);
    expect(then.seconds).toBeLessThanOrEqual(10);
    expect(then.pass.intents).toMatchObject([{ verb: "evict", restart: { cause: "LeaseNotRenewed" } }]);
  });

  it("lets a restart follow although each new life of the program exits on its first 401s", async () => {
    const scene = await learned({ evidence: ["Audit"], onStall: "Restart" });
    scene.renewer = undefined;
    let { pass } = await scene.reject(60, isAccused);
    for (let life = 0; life < 3 && pass.intents.length === 0; life++) {
      setRunning(scene, false);
      pass = await scene.run(10);
      setRunning(scene, true);
      if (pass.intents.length === 0) ({ pass } = await scene.reject(4, ({ intents }) => intents.length > 0));
    }
    expect(pass.intents).toMatchObject([{ verb: "evict", restart: { cause: "LeaseNotRenewed" } }]);
  });

  it("gives a new life that gets no 401 four durations to renew", async () => {
    const scene = await learned({ evidence: ["Audit"], onStall: "Restart" });
    scene.renewer = undefined;
    await scene.reject(60, isAccused);
    setRunning(scene, false);
    await scene.wait(70);
    setRunning(scene, true);
    expect(await scene.run(50)).toMatchObject({ reason: "RestartDeferred", intents: [] });
    expect((await scene.run(20)).intents).toHaveLength(1);
  });

  it("does not name a new life that passes on requests of others and waits for the Lease of the old one", async () => {
    const scene = await learned({ evidence: ["Audit"], onStall: "Restart" });
    await scene.reject(60);
    scene.renewer = undefined;
    scene.restartContainer("web-5d-a");
    expect((await scene.reject(50, isAccused)).pass).toMatchObject({ reason: "Active", intents: [] });
    expect((await scene.reject(30, isAccused)).pass).toMatchObject({ reason: "Restarting" });
  });

  it("is known to a new leader of the operator while the Lease stands still", async () => {
    const scene = await learned();
    scene.renewer = undefined;
    await scene.reject(60, isAccused);
    scene.failOver();
    expect((await scene.reject(12)).pass).toMatchObject({ status: "False", reason: "RequestsRejected" });
  });

  it("says that it shows nothing where the operator serves no audit webhook", async () => {
    const scene = await learned();
    scene.isAudited = false;
    const pass = await scene.pass();
    expect(pass).toMatchObject({ status: "True", reason: "Active" });
    expect(pass.message).toContain("--audit-dir");
  });
});
