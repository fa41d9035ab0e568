import { describe, expect, it } from "vitest";
import type { TokenRestartSpec } from "../../api/controller-resilience";
import { MemoryObjects, RecordingWriter } from "../../engine/testing/fakes";
import { makeReconciler } from "../../engine/testing/reconciler";
import { Scene, workload } from "./testing/scene";

type Kind = "Deployment" | "StatefulSet" | "DaemonSet";

/** A workload whose ServiceAccount was recreated 90 s ago, rolled by the whole engine and a simulated controller. */
class Rollout {
  readonly scene: Scene;
  readonly store = new MemoryObjects();
  readonly writer = new RecordingWriter();
  readonly #owner: { kind: string; name: string; uid: string };
  #made = 0;

  constructor(kind: Kind, pods: number, spec: Partial<TokenRestartSpec> = {}) {
    const scene = (this.scene = new Scene({ ...spec, strategy: "RolloutRestart" }));
    this.#owner = { kind, name: "web", uid: "w" };
    scene.workloadList = [workload({ kind, replicas: pods })];
    scene.object = { ...scene.object, spec: { ...scene.object.spec, targets: [{ kind, name: "web" }] } };
    scene.podList = Array.from({ length: pods }, (_, i) =>
      scene.podAt(-1_200_000 - i * 1_000, { name: `web-${i}`, uid: `old-${i}`, owner: this.#owner }),
    );
    scene.accounts.set("web", scene.account("sa-2", -90_000));
    this.store.put(scene.object);
    scene.clock.advance(11_000);
    this.writer.answer = () => {
      scene.workloadList = scene.workloadList.map(one => ({ ...one, restartedAtMs: scene.clock.now().getTime() }));
      return Promise.resolve();
    };
  }

  /** Runs passes while the controller replaces one reachable pod every `paceSeconds`. Returns the number of rollouts. */
  async run(seconds: number, paceSeconds: number, isReached: (name: string) => boolean = () => true): Promise<number> {
    const { scene, store, writer } = this;
    const reconciler = makeReconciler({ store, writer, readers: scene, remedies: [scene.remedy] });
    for (let s = 0; s <= seconds; s += 5) {
      if (s % paceSeconds === 5 && writer.written.length > 0) this.#replaceOne(isReached);
      await reconciler.reconcile("team/it", () => true);
      scene.clock.advance(5_000);
    }
    return writer.written.length;
  }

  #replaceOne(isReached: (name: string) => boolean): void {
    const { scene } = this;
    const rolledMs = scene.workloadList[0]?.restartedAtMs ?? Infinity;
    const old = scene.podList.findLast(pod => pod.createdAtMs < rolledMs - 1_000 && isReached(pod.name));
    if (old === undefined) return;
    const createdAtMs = Math.floor(scene.clock.now().getTime() / 1000) * 1000;
    const uid = `new-${this.#made++}`;
    const over = { name: old.name, uid, owner: this.#owner, createdAtMs, readySinceMs: createdAtMs + 1_000 };
    scene.podList = [...scene.podList.filter(pod => pod !== old), scene.podAt(0, over)];
    scene.logs.write(old.name, "main", { ms: createdAtMs + 1_000, text: "started" });
  }

  /** Changes the spec: a new generation. */
  changeSpec(): void {
    const object = this.store.objects.get("team/it");
    if (object === undefined) throw new Error("expected the object to be in the store");
    const { metadata } = object;
    this.store.put({ ...object, metadata: { ...metadata, generation: metadata.generation + 1 } });
  }

  /** Outcomes in status.restarts. */
  outcomes(): unknown[] {
    return (this.store.objects.get("team/it")?.status?.restarts ?? []).map(({ outcome }) => outcome);
  }

  /** The condition TokensAccepted. */
  condition(): unknown {
    return this.store.objects.get("team/it")?.status?.conditions?.find(({ type }) => type === "TokensAccepted");
  }
}

describe("a rollout", () => {
  it("is not repeated while it runs, and is Recovered when all pods are new", async () => {
    const rollout = new Rollout("DaemonSet", 6);
    expect(await rollout.run(240, 60)).toBe(1);
    expect(rollout.outcomes()).toEqual(["Restarted"]);
    expect(await rollout.run(300, 60)).toBe(1);
    expect(rollout.outcomes()).toEqual(["Recovered"]);
  });

  it("may take longer than ten minutes while pods come and go", async () => {
    const rollout = new Rollout("DaemonSet", 40);
    expect(await rollout.run(2_400, 60)).toBe(1);
    expect(await rollout.run(300, 60)).toBe(1);
    expect(rollout.outcomes()).toEqual(["Recovered"]);
  });

  it("runs alone, whatever maxUnavailable is", async () => {
    const rollout = new Rollout("DaemonSet", 40, { maxUnavailable: 3 });
    expect(await rollout.run(2_400, 60)).toBe(1);
    expect(rollout.condition()).toMatchObject({ reason: "Restarting" });
  });

  it("does not exhaust maxRestarts while it runs", async () => {
    const rollout = new Rollout("DaemonSet", 6, { maxRestarts: 1 });
    expect(await rollout.run(240, 60)).toBe(1);
    expect(rollout.condition()).toMatchObject({ reason: "RestartDeferred" });
    await rollout.run(300, 60);
    expect(rollout.outcomes()).toEqual(["Recovered"]);
  });

  it("is not repeated when it missed a pod, as with a partition", async () => {
    const rollout = new Rollout("StatefulSet", 4);
    const isReached = (name: string): boolean => name > "web-1";
    expect(await rollout.run(900, 10, isReached)).toBe(1);
    expect(rollout.outcomes()).toEqual(["Ineffective"]);
    expect(rollout.condition()).toMatchObject({
      reason: "RestartsExhausted",
      message: expect.stringContaining("partition") as string,
    });
    expect(await rollout.run(2_700, 10, isReached)).toBe(1);
  });

  it("that missed a pod is repeated after a change of the spec", async () => {
    const rollout = new Rollout("StatefulSet", 4);
    const isReached = (name: string): boolean => name > "web-1";
    expect(await rollout.run(900, 10, isReached)).toBe(1);
    rollout.changeSpec();
    expect(await rollout.run(100, 10, isReached)).toBe(2);
  });
});
