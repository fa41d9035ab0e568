import { describe, expect, it } from "vitest";
import type { TokenRestartSpec } from "../../api/controller-resilience";
import type { PodView, RolloutView, WorkloadView } from "../../core/views";
import { Scene, UNAUTHORIZED, workload, type ScenePass } from "./testing/scene";

/** The workload `web` whose pods, one per label, log a 401 every five seconds. */
function sick(
  kind: WorkloadView["kind"],
  rollout: RolloutView,
  labels: readonly PodView["labels"][],
  spec: Partial<TokenRestartSpec> = {},
): Scene {
  const scene = new Scene(spec);
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
  const onDelete: RolloutView = { strategy: "OnDelete", isComplete: false, currentLabel };
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
    const pass = await live(sick("DaemonSet", { strategy: "OnDelete", isComplete: false }, [old]), 2);
    expect(pass).toMatchObject({ intents: [], reason: "Rejected" });
    expect(pass.message).toContain("pod web-0 may have an older template");
  });

  it("restarts a pod if every pod has the present template", async () => {
    const pass = await live(sick("DaemonSet", { strategy: "OnDelete", isComplete: true }, [old]), 2);
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
