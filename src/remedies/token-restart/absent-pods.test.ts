import { describe, expect, it } from "vitest";
import type { WorkloadView } from "../../core/views";
import { container } from "./testing/fake-log";
import { Scene, UNAUTHORIZED, workload } from "./testing/scene";

const HOUR = 3_600_000;

/** Three Ready pods, an hour old, all of whose logs have 401s. */
function threePods(kind: WorkloadView["kind"] = "Deployment"): Scene {
  const scene = new Scene();
  scene.workloadList = [workload({ kind, replicas: 3 })];
  const isDeployment = kind === "Deployment";
  const owner = isDeployment ? { kind: "ReplicaSet", name: "web-5d", uid: "rs" } : { kind, name: "web", uid: "w" };
  const names = kind === "StatefulSet" ? ["web-0", "web-1", "web-2"] : ["web-5d-a", "web-5d-b", "web-5d-c"];
  const startedAtMs = scene.clock.now().getTime() - HOUR;
  scene.podList = names.map((name, at) =>
    scene.podAt(-HOUR - at * 1_000, { name, uid: `uid-${name}`, owner, containers: [container({ startedAtMs })] }),
  );
  for (const name of names) scene.logs.write(name, "main");
  scene.object = { ...scene.object, spec: { ...scene.object.spec, targets: [{ kind, name: "web" }] } };
  return scene;
}

/** Lets time pass; evicted pods get no successor. Returns who was evicted, and the last pass. */
async function pass(scene: Scene, { seconds, stepSeconds }: { seconds: number; stepSeconds: number }) {
  const evicted: string[] = [];
  let last = await scene.pass();
  for (let at = 0; at < seconds; at += stepSeconds) {
    for (const { name, ready, deletedAtMs } of scene.podList)
      if (ready && deletedAtMs === undefined) scene.log(UNAUTHORIZED, name);
    last = await scene.pass();
    for (const intent of last.intents) {
      evicted.push(intent.target.name);
      scene.noteRestart(intent);
      scene.podList = scene.podList.filter(({ name }) => name !== intent.target.name);
    }
    scene.clock.advance(stepSeconds * 1_000);
  }
  return { evicted, last };
}

describe("a pod that does not exist counts against maxUnavailable", () => {
  it("of a restarted pod whose successor is refused by a quota or webhook, for as long as that lasts", async () => {
    const { evicted, last } = await pass(threePods(), { seconds: 3 * 3_600, stepSeconds: 10 });
    expect(evicted).toHaveLength(1);
    expect(last.stalled).toBeDefined();
  });

  it("of a replica that was never created", async () => {
    const scene = threePods();
    scene.podList = scene.podList.slice(0, 2);
    const { evicted, last } = await pass(scene, { seconds: 120, stepSeconds: 5 });
    expect(evicted).toEqual([]);
    expect(last.message).toContain("waiting until all pods exist");
  });

  it("of a pod that terminates for a drain", async () => {
    const scene = threePods("StatefulSet");
    const deletedAtMs = scene.clock.now().getTime() + 600_000;
    scene.podList = scene.podList.map(pod => (pod.name === "web-2" ? { ...pod, deletedAtMs } : pod));
    expect((await pass(scene, { seconds: 120, stepSeconds: 5 })).evicted).toEqual([]);
  });

  it("not of a node that does not answer", async () => {
    const scene = threePods("DaemonSet");
    const deletedAtMs = scene.clock.now().getTime() - 1_000;
    const away = { ready: false, nodeUnreachable: true, deletedAtMs };
    scene.podList = scene.podList.map(pod => (pod.name === "web-5d-c" ? { ...pod, ...away } : pod));
    expect((await pass(scene, { seconds: 300, stepSeconds: 5 })).evicted).toHaveLength(1);
  });
});

it("restarts no pod of a StatefulSet behind one that is never Ready: it would have no successor", async () => {
  const scene = threePods("StatefulSet");
  const readySinceMs = scene.clock.now().getTime() - 2 * HOUR;
  scene.podList = scene.podList.map(pod => (pod.name === "web-0" ? { ...pod, ready: false, readySinceMs } : pod));
  expect((await pass(scene, { seconds: 2 * 3_600, stepSeconds: 10 })).evicted).toEqual([]);
});
