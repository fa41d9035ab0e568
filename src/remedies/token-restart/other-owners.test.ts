import { describe, expect, it } from "vitest";
import type { PodView, WorkloadView } from "../../core/views";
import { Scene, workload, type ScenePass } from "./testing/scene";

const podSelector = { matchLabels: { app: "web" } };
const labels = { app: "web", "rollouts-pod-template-hash": "7c" };
const owner = { group: "apps", kind: "ReplicaSet", name: "web-7c", uid: "rs-7c" };

/** The Deployment `web` has no replicas, and there is one pod. */
function takenOver(over: Partial<PodView> = {}, view: Partial<WorkloadView> = {}): Scene {
  const scene = new Scene();
  scene.workloadList = [workload({ replicas: 0, podSelector, ...view })];
  scene.podList = [scene.podAt(-3_600_000, { name: "web-7c-a", labels, owner, ...over })];
  scene.logs.write("web-7c-a", "main");
  return scene;
}

const NO_PODS = { status: "True", reason: "NoPods", message: "Deployment/web has no pods (replicas: 0)." };

function withTargets(scene: Scene, targets: Scene["object"]["spec"]["targets"]): Promise<ScenePass> {
  scene.object = { ...scene.object, spec: { ...scene.object.spec, targets } };
  return scene.pass();
}

describe("a workload without pods", () => {
  it("is not accepted while its selector matches pods of another owner, which the message names", async () => {
    const pass = await takenOver().pass();
    expect(pass).toMatchObject({ status: "Unknown", reason: "OtherOwner", stalled: { reason: "OtherOwner" } });
    expect(pass.message).toBe(
      "Deployment/web has no pods, but its selector matches pods of Rollout.argoproj.io/web, which are not watched; use kind: Pod with that selector.",
    );
  });

  it.each<[string, Partial<PodView>]>([
    ["that the selector does not match", { labels: { app: "other" } }],
    ["that are being deleted", { deletedAtMs: 1 }],
    ["that have ended", { phase: "Succeeded" }],
    ["of a Job", { owner: { group: "batch", kind: "Job", name: "web", uid: "j" } }],
    ["of its own, which are being deleted", { labels: { app: "web", "pod-template-hash": "7c" }, deletedAtMs: 1 }],
  ])("has no pods, whatever pods there are %s", async (_, over) => {
    expect(await takenOver(over).pass()).toMatchObject(NO_PODS);
  });

  it("has no pods where its selector is not known", async () => {
    const scene = takenOver();
    scene.workloadList = [workload({ replicas: 0 })];
    expect(await scene.pass()).toMatchObject(NO_PODS);
  });

  it("has no pods while those of the other owner are watched through another target", async () => {
    const scene = takenOver();
    const pass = await withTargets(scene, [
      { kind: "Deployment", name: "web" },
      { kind: "Pod", selector: podSelector },
    ]);
    expect(pass).toMatchObject({ status: "True", reason: "Accepted" });
    expect(pass.lists?.targets).toMatchObject([
      { kind: "Deployment", name: "web", pods: 0 },
      { kind: "Rollout.argoproj.io", name: "web", pods: 1 },
    ]);
  });

  it("points to the other workload if a target can name it", async () => {
    const scene = takenOver({
      labels: { app: "web", "pod-template-hash": "5d" },
      owner: { ...owner, name: "green-5d" },
    });
    expect((await scene.pass()).message).toContain("matches pods of Deployment/green, which are not watched; add it");
    scene.workloadList.push(workload({ name: "green", uid: "g", podSelector }));
    const pass = await withTargets(scene, [
      { kind: "Deployment", name: "web" },
      { kind: "Deployment", name: "green" },
    ]);
    expect(pass).toMatchObject({ status: "True", reason: "Accepted" });
  });
});

it("a workload with a pod does not mind pods of other owners", async () => {
  const scene = takenOver();
  scene.podList.push(scene.podAt(-3_600_000, { labels: { app: "web", "pod-template-hash": "5d" } }));
  expect(await scene.pass()).toMatchObject({ status: "True", reason: "Accepted" });
});
