import { describe, expect, it } from "vitest";
import { container } from "../../core/testing/views";
import { Scene, UNAUTHORIZED } from "./testing/scene";

/** `main` is the client and logs only its failures; a sidecar beside it logs all the time. */
function containers(scene: Scene, ageMs: number) {
  const startedAtMs = scene.clock.now().getTime() - ageMs;
  return [container({ startedAtMs }), container({ name: "proxy", role: "sidecar", startedAtMs })];
}

const chat = (scene: Scene, pod: string) => scene.logs.write(pod, "proxy", { ms: +scene.clock.now(), text: "on" });

it("a chatty sidecar does not contradict a proof by age", async () => {
  const scene = new Scene();
  scene.podList = [scene.podAt(-1_200_000, { skip: true, containers: containers(scene, 1_200_000) })];
  scene.accounts.set("web", scene.account("sa-2", 0));
  await scene.passes(80, () => chat(scene, "web-5d-a"));
  scene.podList = scene.podList.map(pod => ({ ...pod, skip: false }));
  expect((await scene.pass()).intents).toMatchObject([{ restart: { cause: "ServiceAccountRecreated" } }]);
});

it("a chatty sidecar does not prove that a restart helped, while the container that got the 401s is silent", async () => {
  const scene = new Scene();
  scene.podList = [scene.podAt(-3_600_000, { containers: containers(scene, 3_600_000) })];
  const { intents } = await scene.passes(13, () => scene.log(UNAUTHORIZED));
  scene.noteRestart(intents[0]!);
  scene.replacePod("web-5d-a", "web-5d-b", "nothing");
  scene.podList = scene.podList.map(pod => ({ ...pod, containers: containers(scene, 0) }));
  const { restarts } = await scene.passes(36, () => chat(scene, "web-5d-b"));
  expect(restarts).toMatchObject([{ container: "main", outcome: "Replaced" }]);
});

describe("401s of the kubelet", () => {
  const SCRAPE = `E0101 scraper.go:149] "Failed to scrape node" err="request failed, status: \\"401 Unauthorized\\"" node="n-1"`;
  const refused = (scene: Scene, pod?: string) => () => scene.log(SCRAPE, pod);

  it("condemn no pod without a proof: the kubelet may be set up wrongly", async () => {
    const scene = new Scene();
    const pass = await scene.passes(60, refused(scene));
    expect(pass).toMatchObject({ status: "True", reason: "Accepted", intents: [] });
  });

  it("confirm that the token's signing key was replaced", async () => {
    const scene = new Scene();
    await scene.passes(12, () => scene.log("scraped"));
    const changedMs = +scene.clock.now();
    scene.rotation = { beforeMs: changedMs, unchangedMs: changedMs, changedMs };
    expect(await scene.passes(30, () => scene.log("scraped"))).toMatchObject({ intents: [] });
    expect((await scene.passes(2, refused(scene))).intents).toMatchObject([
      { restart: { cause: "SigningKeyRotated" } },
    ]);
  });

  it.each([
    ["go on with its successor", 115, "Restarted"],
    ["go on with its successor for ten minutes", 124, "Ineffective"],
    ["end", 8, "Recovered"],
  ])("that confirmed a replaced key count for the restart where they %s", async (how, passes, outcome) => {
    const scene = new Scene();
    await scene.passes(12, () => scene.log("scraped"));
    const changedMs = +scene.clock.now();
    scene.rotation = { beforeMs: changedMs, unchangedMs: changedMs, changedMs };
    const { intents } = await scene.passes(30, refused(scene));
    scene.noteRestart(intents[0]!);
    scene.replacePod("web-5d-a", "web-5d-b");
    const step = how === "end" ? () => scene.log("scraped", "web-5d-b") : refused(scene, "web-5d-b");
    expect((await scene.passes(passes, step)).restarts).toMatchObject([{ outcome }]);
  });

  it("count for no restart that they did not confirm: the kubelet may have rejected the pod before", async () => {
    const scene = new Scene();
    await scene.passes(30, refused(scene));
    scene.accounts.set("web", scene.account("sa-2", 0));
    const { intents } = await scene.passes(13, refused(scene));
    expect(intents).toMatchObject([{ restart: { cause: "ServiceAccountRecreated" } }]);
    scene.noteRestart(intents[0]!);
    scene.replacePod("web-5d-a", "web-5d-b");
    const { restarts } = await scene.passes(8, refused(scene, "web-5d-b"));
    expect(restarts).toMatchObject([{ outcome: "Recovered" }]);
  });

  it("confirm it also where the operator saw only minutes later that the key was replaced", async () => {
    const scene = new Scene();
    await scene.passes(12, () => scene.log("scraped"));
    const unchangedMs = +scene.clock.now();
    await scene.passes(36, refused(scene));
    scene.rotation = { beforeMs: unchangedMs, unchangedMs, changedMs: +scene.clock.now() };
    expect((await scene.passes(30, refused(scene))).intents).toMatchObject([
      { restart: { cause: "SigningKeyRotated" } },
    ]);
  });

  it("confirm nothing if the kubelet has rejected the token before, also to a new leader, which reads the log from later on", async () => {
    const scene = new Scene();
    await scene.passes(30, refused(scene));
    const changedMs = +scene.clock.now();
    scene.rotation = { beforeMs: changedMs, unchangedMs: changedMs, changedMs };
    expect(await scene.passes(240, refused(scene))).toMatchObject({ status: "Unknown", intents: [] });
    scene.failOver();
    expect(await scene.passes(30, refused(scene))).toMatchObject({ status: "Unknown", intents: [] });
  });

  it("confirm nothing if the kubelet has rejected it now and then before", async () => {
    const scene = new Scene();
    await scene.passes(30, refused(scene));
    await scene.passes(48, () => scene.log("scraped"));
    const changedMs = +scene.clock.now();
    scene.rotation = { beforeMs: changedMs, unchangedMs: changedMs, changedMs };
    expect(await scene.passes(60, refused(scene))).toMatchObject({ status: "True", intents: [] });
  });

  /** The key was replaced now; the pod had renewed its token so many minutes before, and nothing restarts it. */
  async function rotated(renewedBefore: number): Promise<Scene> {
    const scene = new Scene();
    scene.podList = [scene.podAt(-(48.1 + renewedBefore) * 60_000, { skip: true })];
    await scene.passes(12, () => scene.log("scraped"));
    const changedMs = +scene.clock.now();
    scene.rotation = { beforeMs: changedMs, unchangedMs: changedMs, changedMs };
    return scene;
  }

  const unskip = (scene: Scene) => {
    scene.podList = scene.podList.map(pod => ({ ...pod, skip: false }));
  };

  it("keep a log from looking healthy, also where they confirm nothing", async () => {
    const scene = new Scene();
    scene.podList = [scene.podAt(-600_000, { skip: true })];
    await scene.passes(30, refused(scene));
    scene.accounts.set("web", scene.account("sa-2", 0));
    await scene.passes(84, refused(scene));
    unskip(scene);
    expect((await scene.passes(1)).intents).toMatchObject([{ restart: { cause: "ServiceAccountRecreated" } }]);
  });

  it.each([
    ["after the kubelet has renewed the token, which the client does not read again", 40, 120],
    ["where the kubelet may have renewed the token just before the key was replaced", 0, 24],
  ])("count %s, and need no counter of an API server", async (_, renewedBefore, passes) => {
    const scene = await rotated(renewedBefore);
    scene.rates = { refusals: { fromMs: 0, toMs: +scene.clock.now() + 7_200_000, refused: [] } };
    await scene.passes(passes, refused(scene));
    unskip(scene);
    expect((await scene.pass()).intents).toMatchObject([{ restart: { cause: "Unknown" } }]);
  });

  it("count no longer once the client has read the new token", async () => {
    const scene = await rotated(40);
    await scene.passes(120, second => scene.log(second < 560 ? SCRAPE : "scraped"));
    unskip(scene);
    expect(await scene.passes(60, () => scene.log("scraped"))).toMatchObject({ status: "True", intents: [] });
  });

  it("do not count where they began long after the key was replaced, and the kubelet had renewed the token", async () => {
    const scene = await rotated(0);
    unskip(scene);
    await scene.passes(84, () => scene.log("scraped"));
    expect(await scene.passes(60, refused(scene))).toMatchObject({ status: "True", intents: [] });
  });

  it("show that a log is not that of a healthy client whose ServiceAccount was recreated", async () => {
    const scene = new Scene();
    scene.podList = scene.podList.map(pod => ({ ...pod, skip: true, createdAtMs: pod.createdAtMs + 2_400_000 }));
    scene.accounts.set("web", scene.account("sa-2", 0));
    await scene.passes(80, refused(scene));
    scene.podList = scene.podList.map(pod => ({ ...pod, skip: false }));
    expect((await scene.pass()).intents).toMatchObject([{ restart: { cause: "ServiceAccountRecreated" } }]);
  });

  it("lead to no restart while the change of the keys may be undone", async () => {
    const scene = await rotated(0);
    unskip(scene);
    expect(await scene.passes(23, refused(scene))).toMatchObject({ reason: "RestartDeferred", intents: [] });
  });

  it("are no evidence where the age of the ServiceAccount is none", async () => {
    const scene = new Scene({ evidence: ["Logs"] });
    scene.accounts.set("web", scene.account("sa-2", 0));
    expect((await scene.passes(60, refused(scene))).intents).toEqual([]);
  });
});
