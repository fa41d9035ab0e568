import { describe, expect, it } from "vitest";
import type { PodView, RolloutView, WorkloadView } from "../../core/views";
import { Scene, UNAUTHORIZED, workload, type ScenePass } from "./testing/scene";

/** The workload `web` whose pods, one per label, log a 401 every five seconds. */
function sick(kind: WorkloadView["kind"], rollout: RolloutView, labels: readonly PodView["labels"][]): Scene {
  const scene = new Scene();
  scene.object = { ...scene.object, spec: { ...scene.object.spec, targets: [{ kind, name: "web" }] } };
  scene.workloadList = [workload({ kind, replicas: labels.length, rollout })];
  const owner = { kind, name: "web", uid: "w" };
  scene.podList = labels.map((label, i) =>
    scene.podAt(-3_600_000 - i, { name: `web-${i}`, uid: `uid-${i}`, owner, labels: label, nodeName: `n${i}` }),
  );
  return scene;
}

function live(scene: Scene, minutes: number): Promise<ScenePass> {
  return scene.passes(minutes * 12, () => {
    for (const { name } of scene.podList) scene.log(UNAUTHORIZED, name);
  });
}

describe("a workload with the update strategy OnDelete", () => {
  const currentLabel = { key: "controller-revision-hash", value: "new" };
  const unlabelled: RolloutView = { strategy: "OnDelete", isComplete: false, isInProgress: false };
  const onDelete: RolloutView = { ...unlabelled, currentLabel };
  const [old, current] = [{ "controller-revision-hash": "old" }, { "controller-revision-hash": "new" }];

  it.each(["StatefulSet", "DaemonSet"] as const)("%s: does not upgrade a pod, and says how to go on", async kind => {
    const pass = await live(sick(kind, onDelete, [old]), 2);
    expect(pass.intents).toEqual([]);
    expect(pass).toMatchObject({ reason: "Rejected", stalled: { reason: "Rejected" } });
    expect(pass.message).toBe(
      `${kind}/web: 1 of 1 pod rejected; pod web-0 has an older template, and with update strategy OnDelete a restart would upgrade it; delete the pod once it may be upgraded.`,
    );
  });

  it("restarts pods of the present template, and only these", async () => {
    const pass = await live(sick("StatefulSet", onDelete, [old, current, old]), 2);
    expect(pass.intents.map(({ target }) => target.name)).toEqual(["web-1"]);
  });

  it("restarts nothing while the template of the pods is not known", async () => {
    const pass = await live(sick("DaemonSet", unlabelled, [old]), 2);
    expect(pass).toMatchObject({ intents: [], reason: "Rejected" });
    expect(pass.message).toContain("pod web-0 may have an older template");
  });

  it("is Stalled after an hour in which the template of the pods is not known", async () => {
    const scene = sick("StatefulSet", unlabelled, [old]);
    expect(await live(scene, 55)).not.toHaveProperty("stalled");
    const pass = await live(scene, 10);
    expect(pass).toMatchObject({ intents: [], stalled: { reason: "Rejected" } });
    expect(pass.stalled?.message).toContain("delete the pod once it may be upgraded");
  });

  it("restarts a pod if every pod has the present template", async () => {
    const pass = await live(sick("DaemonSet", { ...onDelete, isComplete: true }, [old]), 2);
    expect(pass.intents).toHaveLength(1);
  });

  it("leaves the skip annotation, and a pod without a token, to their own messages", async () => {
    const scene = sick("StatefulSet", onDelete, [old]);
    scene.podList = scene.podList.map(pod => ({ ...pod, mountsToken: false }));
    expect((await live(scene, 2)).message).toContain("mounts no ServiceAccount token");
    scene.podList = scene.podList.map(pod => ({ ...pod, skip: true }));
    expect((await live(scene, 1)).message).toContain("no action because of the annotation");
  });
});

describe("a rollout in progress", () => {
  const rolling: RolloutView = { strategy: "RollingUpdate", isComplete: false, isInProgress: true };

  /** A Deployment that is being rolled out: old pods with a rejected token, and a new pod that is not Ready. */
  function upgraded(replicas: number, rollout: RolloutView = rolling): Scene {
    const scene = new Scene();
    scene.workloadList = [workload({ replicas, rollout })];
    const old = Array.from({ length: replicas }, (_, i) =>
      scene.podAt(-3_600_000 - i, { name: `web-5d-${i}`, uid: `uid-${i}` }),
    );
    scene.podList = [...old, scene.podAt(-1_000, { name: "web-6e-new", uid: "uid-new", ready: false })];
    return scene;
  }

  /** The old pods are rejected. */
  function roll(scene: Scene, minutes: number): Promise<ScenePass> {
    return scene.passes(minutes * 12, () => {
      for (const { name } of scene.podList) if (name.includes("5d")) scene.log(UNAUTHORIZED, name);
    });
  }

  it("delays a restart, and says until when", async () => {
    const pass = await roll(upgraded(1), 2);
    expect(pass).toMatchObject({ intents: [], reason: "RestartDeferred", progressing: true });
    expect(pass).not.toHaveProperty("stalled");
    expect(pass.message).toBe(
      "Deployment/web: 1 of 2 pods rejected; waiting for the rollout in progress, until 2025-01-01T12:11:05Z at the latest.",
    );
  });

  it.each([1, 3])("that is stuck for ten minutes does not stop the healing of %i replicas", async replicas => {
    const scene = upgraded(replicas);
    expect((await roll(scene, 10)).intents).toEqual([]);
    const { intents } = await roll(scene, 2);
    expect(intents).toHaveLength(1);
    expect(intents[0]?.target.name).toContain("web-5d-");
  });

  it("delays it by the progress deadline of the Deployment, 15 minutes at most", async () => {
    const short = upgraded(1, { ...rolling, progressDeadlineMs: 120_000 });
    expect((await roll(short, 4)).intents).toHaveLength(1);
    const endless = upgraded(1, { ...rolling, progressDeadlineMs: 2_147_483_647_000 });
    expect((await roll(endless, 15)).intents).toEqual([]);
    expect((await roll(endless, 2)).intents).toHaveLength(1);
  });

  it("that ends, ends the wait", async () => {
    const scene = upgraded(1);
    await roll(scene, 3);
    scene.workloadList = [workload({ rollout: { ...rolling, isComplete: true, isInProgress: false } })];
    scene.podList = scene.podList.map(pod => ({ ...pod, ready: true }));
    expect((await scene.pass()).intents).toHaveLength(1);
    scene.workloadList = [workload({ rollout: rolling })];
    expect((await roll(scene, 9)).intents).toEqual([]);
  });
});
