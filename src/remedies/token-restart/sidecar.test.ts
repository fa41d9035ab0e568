import { expect, it } from "vitest";
import { container } from "./testing/fake-log";
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
