import { describe, expect, it } from "vitest";
import { WaitError } from "../../core/errors";
import type { Outcome } from "../../core/intent";
import type { RolloutView, WorkloadView } from "../../core/views";
import { MemoryObjects, RecordingWriter } from "../../engine/testing/fakes";
import { makeReconciler } from "../../engine/testing/reconciler";
import { Scene, UNAUTHORIZED, workload, type ScenePass } from "./testing/scene";

const SURGES: RolloutView = { strategy: "RollingUpdate", isComplete: true, isInProgress: false, surges: true };
const BUDGET: Outcome = { result: "Blocked", message: "it would violate the disruption budget", retryAfterMs: 300_000 };

/** A workload with the strategy Auto whose pod logs a 401 every five seconds. */
function protectedPod(over: Partial<WorkloadView> = {}): Scene {
  const scene = new Scene({ strategy: "Auto" });
  scene.workloadList = [workload({ rollout: SURGES, ...over })];
  return scene;
}

function live(scene: Scene, seconds: number): Promise<ScenePass> {
  return scene.passes(seconds / 5, () => {
    scene.log(UNAUTHORIZED);
  });
}

/** The pass after the eviction was refused for this long. */
async function afterRefusal(scene: Scene, seconds: number, refusal: Outcome = BUDGET): Promise<ScenePass> {
  const pass = await live(scene, 120);
  expect(pass.intents.map(({ verb }) => verb)).toEqual(["evict"]);
  scene.report(pass, refusal);
  return live(scene, seconds);
}

/** The protected pod after the operator has rolled its Deployment. */
async function rolledPod(): Promise<Scene> {
  const scene = protectedPod();
  await afterRefusal(scene, 60);
  const [intent] = (await live(scene, 10)).intents;
  scene.noteRestart(intent!);
  const restartedAtMs = scene.clock.now().getTime();
  scene.workloadList = scene.workloadList.map(one => ({ ...one, restartedAtMs }));
  return scene;
}

describe("the strategy Auto", () => {
  it("rolls a Deployment if a PodDisruptionBudget protects its only replica for a minute", async () => {
    const scene = protectedPod();
    expect(await afterRefusal(scene, 55)).toMatchObject({ intents: [], reason: "RestartBlocked" });
    const pass = await live(scene, 10);
    expect(pass.intents).toMatchObject([
      {
        verb: "patch",
        target: { kind: "Deployment", name: "web", resourceVersion: "7" },
        eventReason: "WorkloadRolled",
      },
    ]);
    expect(JSON.stringify(pass.intents[0]?.body)).toContain("controller-resilience.io/restarted-at");
    expect(pass.intents[0]?.restart).not.toHaveProperty("podCreatedAtMs");
    expect(pass.intents[0]?.why).toContain("a PodDisruptionBudget does not allow the eviction of the only replica");
    expect(pass.message).toContain("about to roll Deployment/web");
  });

  it.each<[string, Partial<WorkloadView>]>([
    ["has another replica", { replicas: 2 }],
    ["does not start a new pod first", { rollout: { strategy: "Recreate", isComplete: true, isInProgress: false } }],
    ["is not known", {}],
  ])("does not roll a Deployment that %s", async (what, over) => {
    const scene = protectedPod(over);
    if (what === "is not known") scene.workloadList = [workload()];
    const pass = await afterRefusal(scene, 240);
    expect(pass).toMatchObject({ intents: [], reason: "RestartBlocked" });
  });

  it("does not roll a StatefulSet", async () => {
    const scene = protectedPod({ kind: "StatefulSet" });
    scene.object = { ...scene.object, spec: { ...scene.object.spec, targets: [{ kind: "StatefulSet", name: "web" }] } };
    scene.podList = scene.podList.map(pod => ({ ...pod, owner: { kind: "StatefulSet", name: "web", uid: "w" } }));
    expect(await afterRefusal(scene, 240)).toMatchObject({ intents: [], reason: "RestartBlocked" });
  });

  it("does not roll for any other refusal", async () => {
    const busy: Outcome = { result: "Blocked", message: "too many requests", retryAfterMs: 300_000 };
    expect(await afterRefusal(protectedPod(), 240, busy)).toMatchObject({ intents: [], reason: "RestartBlocked" });
  });

  it("waits for its own rollout, and restarts nothing meanwhile", async () => {
    const scene = await rolledPod();
    const pass = await live(scene, 60);
    expect(pass).toMatchObject({ intents: [], reason: "RestartDeferred" });
    expect(pass.message).toContain("waiting for the rollout in progress");
  });

  it("is Stalled if its rollout does not replace the pod", async () => {
    const scene = await rolledPod();
    const pass = await live(scene, 900);
    expect(pass).toMatchObject({ intents: [], stalled: { reason: "RestartsExhausted" } });
    expect(pass.message).toContain("the last rollout did not replace pod web-5d-a");
  });
});

it("heals the only replica behind a PodDisruptionBudget, with one record in status", async () => {
  const scene = protectedPod();
  const [store, writer] = [new MemoryObjects(), new RecordingWriter()];
  store.put(scene.object);
  writer.answer = ({ verb }) => {
    if (verb === "evict") return Promise.reject(new WaitError("it would violate the disruption budget", 0));
    const restartedAtMs = scene.clock.now().getTime();
    scene.workloadList = scene.workloadList.map(one => ({ ...one, restartedAtMs }));
    scene.replacePod("web-5d-a", "web-6e-b");
    return Promise.resolve();
  };
  const reconciler = makeReconciler({ store, writer, readers: scene, remedies: [scene.remedy] });
  for (let second = 0; second < 480; second += 5) {
    if (scene.podList[0]?.name === "web-5d-a") scene.log(UNAUTHORIZED);
    await reconciler.reconcile("team/it", () => true);
    scene.clock.advance(5_000);
  }
  expect(writer.written.filter(({ verb }) => verb === "patch")).toHaveLength(1);
  const status = store.objects.get("team/it")?.status;
  expect(status?.restarts).toMatchObject([{ pod: "web-5d-a", cause: "Unknown", outcome: "Recovered" }]);
});
