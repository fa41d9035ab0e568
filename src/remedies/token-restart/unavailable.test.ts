import { describe, expect, it } from "vitest";
import type { RestartStatus } from "../../api/controller-resilience";
import type { PodView, RolloutView, WorkloadView } from "../../core/views";
import { replicated, Scene, workload } from "./testing/scene";

const MINUTE = 60_000;

describe("a workload that waits", () => {
  it("for a PodDisruptionBudget is Stalled after an hour, and says what a person can do", async () => {
    const scene = replicated(1);
    let pass = await scene.live(2);
    const refused = {
      result: "Blocked",
      message: "429: Cannot evict pod. The disruption budget web-pdb needs 1 healthy pods and has 1 currently",
      retryAfterMs: 300_000,
    } as const;
    const stalledAfter: number[] = [];
    for (let minutes = 0; minutes <= 70; minutes += 5) {
      if (pass.intents.length > 0) scene.report(pass, refused);
      if (pass.stalled !== undefined) stalledAfter.push(minutes);
      pass = await scene.live(5);
    }
    expect(stalledAfter).toEqual([60, 65, 70]);
    expect(pass.stalled?.message).toContain("Waiting since 2025-01-01T12:01:05Z");
    const { stalled } = scene.report(pass, refused);
    expect(stalled?.message).toContain("PodDisruptionBudget web-pdb does not allow the eviction, next try at");
    expect(stalled?.message).toContain("if the eviction is refused, check the PodDisruptionBudget");
    const executed = scene.report(pass, { result: "Executed" });
    expect(executed).not.toHaveProperty("stalled");
  });

  it("for an API server that fails evictions is Stalled after an hour, and its siblings are tried meanwhile", async () => {
    const scene = replicated(2);
    let pass = await scene.live(2);
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
      pass = await scene.live(5);
    }
    expect(stalledAfter.at(0)).toBe(60);
    expect(pass.stalled?.message).toContain("admission webhooks");
    expect([...tried].sort()).toEqual(["web-5d-0", "web-5d-1"]);
  });

  it("for a successor that never becomes Ready is Stalled an hour after the restart", async () => {
    const scene = replicated(2);
    const [intent] = (await scene.live(2)).intents;
    scene.noteRestart(intent!);
    scene.replacePod(intent!.restart!.pod, "web-5d-new");
    scene.podList = scene.podList.map(pod => (pod.name === "web-5d-new" ? { ...pod, ready: false } : pod));
    const isDead = (pod: string): boolean => pod !== "web-5d-new";
    const waiting = await scene.live(59, isDead);
    expect(waiting).toMatchObject({ reason: "RestartDeferred", intents: [] });
    expect(waiting).not.toHaveProperty("stalled");
    const stalled = await scene.live(2, isDead);
    expect(stalled).toMatchObject({ intents: [], stalled: { reason: "RestartDeferred" } });
    expect(stalled.message).toContain("kubectl describe");
  });

  it.each(["UnprovenRestart", "OwnTrouble", "LeaderWarmup", "RestartPacer"] as const)(
    "for %s is Stalled after an hour",
    async limit => {
      const scene = replicated(1);
      const limited = { result: "Limited", limit, retryAfterMs: 10_000 } as const;
      for (let minutes = 2; minutes <= 60; minutes += 2) {
        const waiting = scene.report(await scene.live(2), limited);
        expect(waiting).toMatchObject({ reason: "RestartDeferred" });
        expect(waiting).not.toHaveProperty("stalled");
      }
      const stalled = scene.report(await scene.live(4), limited);
      expect(stalled.stalled).toMatchObject({ reason: "RestartDeferred" });
      expect(stalled.message).toContain("Waiting since 2025-01-01T12:01:05Z: if the eviction is refused");
    },
  );

  it("for a PodDisruptionBudget is Stalled after an hour, although the pace of restarts holds it back meanwhile", async () => {
    const scene = replicated(1);
    const refused = { result: "Blocked", message: "disruption budget", retryAfterMs: 60_000 } as const;
    const paced = { result: "Limited", limit: "RestartPacer", retryAfterMs: 10_000 } as const;
    for (let minutes = 2; minutes <= 60; minutes += 2) {
      const pass = await scene.live(2);
      expect(scene.report(pass, minutes % 10 === 0 ? paced : refused)).not.toHaveProperty("stalled");
    }
    const stalled = await scene.live(2);
    expect(stalled.stalled?.message).toContain("Waiting since 2025-01-01T12:01:05Z");
    expect(scene.report(stalled, paced).stalled?.message).toContain("Waiting since 2025-01-01T12:01:05Z");
  });

  it("forgets the wait when it is over", async () => {
    const scene = replicated(1);
    const refused = { result: "Blocked", message: "no", retryAfterMs: 60_000 } as const;
    scene.report(await scene.live(2), refused);
    expect((await scene.pass()).lists?.targets?.[0]).toHaveProperty("waitStartTime");
    const healed = await scene.live(20, () => false);
    expect(healed.lists?.targets?.[0]).not.toHaveProperty("waitStartTime");
  });
});

describe("maxUnavailable", () => {
  const two = (i: number): Partial<PodView> => (i < 2 ? { ready: false } : {});

  it("counts pods that are not Ready for other reasons", async () => {
    const scene = replicated(3, {}, two);
    const pass = await scene.live(5, pod => pod === "web-5d-2");
    expect(pass).toMatchObject({ reason: "RestartDeferred", intents: [], progressing: true });
    expect(pass.message).toContain("waiting until pod web-5d-0 is Ready (maxUnavailable 1)");
    scene.podList = scene.podList.map(pod => ({ ...pod, ready: true }));
    expect((await scene.live(1, pod => pod === "web-5d-2")).intents).toMatchObject([{ restart: { pod: "web-5d-2" } }]);
  });

  it("does not count pods that have not been Ready for an hour while others are", async () => {
    const old = (i: number): Partial<PodView> => (i === 0 ? { ready: false, readySinceMs: 0 } : {});
    const scene = replicated(3, {}, old);
    expect((await scene.live(2, pod => pod !== "web-5d-0")).intents).toMatchObject([{ restart: { pod: "web-5d-2" } }]);
    const last = replicated(2, {}, old);
    expect(await last.live(2, pod => pod !== "web-5d-0")).toMatchObject({ reason: "RestartDeferred", intents: [] });
  });

  it("lets a rejected pod that is not Ready be replaced: no more pods are down then", async () => {
    const scene = replicated(3, {}, two);
    expect((await scene.live(2)).intents).toMatchObject([{ restart: { pod: "web-5d-1" } }]);
  });

  it("does not protect a workload all of whose pods are proven to be rejected", async () => {
    const scene = replicated(3, {}, i => (i === 2 ? {} : { ready: false, skip: true }));
    scene.accounts.set("web", scene.account("sa-2", 0));
    expect((await scene.live(2)).intents).toMatchObject([{ restart: { pod: "web-5d-2" } }]);
  });

  it.each([true, false])("spares the last Ready pod whatever it allows, if its sibling is there: %s", async isThere => {
    const scene = replicated(2, { maxUnavailable: 2 }, i => ({ ready: i === 1 }));
    if (!isThere) scene.podList = scene.podList.slice(1);
    const pass = await scene.live(2, pod => pod === "web-5d-1");
    expect(pass).toMatchObject({ reason: "RestartDeferred", intents: [] });
  });

  it("does not count pods of a node that does not answer, and restarts these last", async () => {
    const lost = (i: number): Partial<PodView> => (i === 2 ? { ready: false, nodeUnreachable: true } : {});
    const scene = replicated(3, {}, lost);
    expect((await scene.live(2)).intents).toMatchObject([{ restart: { pod: "web-5d-1" } }]);
  });

  it("does not count a pod that stays Terminating for minutes", async () => {
    const scene = replicated(2);
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
    expect((await scene.live(2)).message).toContain("successor of pod web-5d-0");
    const later = await scene.live(2);
    expect(later.message).not.toContain("maxUnavailable");
  });
});

/** The workload `web` with one pod per label. */
function labelled(kind: WorkloadView["kind"], rollout: RolloutView, labels: readonly PodView["labels"][]): Scene {
  const scene = new Scene();
  scene.object = { ...scene.object, spec: { ...scene.object.spec, targets: [{ kind, name: "web" }] } };
  scene.workloadList = [workload({ kind, replicas: labels.length, rollout })];
  const owner = { kind, name: "web", uid: "w" };
  scene.podList = labels.map((label, i) =>
    scene.podAt(-3_600_000 - i, { name: `web-${i}`, uid: `uid-${i}`, owner, labels: label, nodeName: `n${i}` }),
  );
  return scene;
}

describe("a workload with the update strategy OnDelete", () => {
  const currentLabel = { key: "controller-revision-hash", value: "new" };
  const unlabelled: RolloutView = { strategy: "OnDelete", isComplete: false, isInProgress: false };
  const onDelete: RolloutView = { ...unlabelled, currentLabel };
  const [old, current] = [{ "controller-revision-hash": "old" }, { "controller-revision-hash": "new" }];

  it.each(["StatefulSet", "DaemonSet"] as const)("%s: does not upgrade a pod, and says how to go on", async kind => {
    const pass = await labelled(kind, onDelete, [old]).live(2);
    expect(pass.intents).toEqual([]);
    expect(pass).toMatchObject({ reason: "Rejected", stalled: { reason: "Rejected" } });
    expect(pass.message).toBe(
      `${kind}/web: 1 of 1 pod rejected; pod web-0 has an older template, and with update strategy OnDelete a restart would upgrade it; delete the pod once it may be upgraded.`,
    );
  });

  it("restarts pods of the present template, and only these", async () => {
    const pass = await labelled("StatefulSet", onDelete, [old, current, old]).live(2);
    expect(pass.intents.map(({ target }) => target.name)).toEqual(["web-1"]);
  });

  it("is Stalled after an hour in which the template of the pods is not known", async () => {
    const scene = labelled("StatefulSet", unlabelled, [old]);
    expect(await scene.live(55)).not.toHaveProperty("stalled");
    const pass = await scene.live(10);
    expect(pass).toMatchObject({ intents: [], stalled: { reason: "Rejected" } });
    expect(pass.stalled?.message).toMatch(/may have an older template.*delete the pod once it may be upgraded/);
  });

  it("restarts a pod if every pod has the present template", async () => {
    const pass = await labelled("DaemonSet", { ...onDelete, isComplete: true }, [old]).live(2);
    expect(pass.intents).toHaveLength(1);
  });

  it("leaves the skip annotation, and a pod without a token, to their own messages", async () => {
    const scene = labelled("StatefulSet", onDelete, [old]);
    scene.podList = scene.podList.map(pod => ({ ...pod, mountsToken: false }));
    expect((await scene.live(2)).message).toContain("mounts no ServiceAccount token");
    scene.podList = scene.podList.map(pod => ({ ...pod, skip: true }));
    expect((await scene.live(1)).message).toContain("no action because of the annotation");
  });
});

describe("a rollout in progress", () => {
  const rolling: RolloutView = { strategy: "RollingUpdate", isComplete: false, isInProgress: true };

  const isOld = (pod: string): boolean => pod.includes("5d");

  /** A Deployment that is being rolled out: old pods with a rejected token, and a new pod that is not Ready. */
  function upgraded(replicas: number, rollout: RolloutView = rolling): Scene {
    const scene = replicated(replicas);
    scene.workloadList = [workload({ replicas, rollout })];
    scene.podList = [...scene.podList, scene.podAt(-1_000, { name: "web-6e-new", uid: "uid-new", ready: false })];
    return scene;
  }

  it("delays a restart, and says until when", async () => {
    const pass = await upgraded(1).live(2, isOld);
    expect(pass).toMatchObject({ intents: [], reason: "RestartDeferred", progressing: true });
    expect(pass).not.toHaveProperty("stalled");
    expect(pass.message).toBe(
      "Deployment/web: 1 of 2 pods rejected; waiting for the rollout in progress, until 2025-01-01T12:11:05Z at the latest.",
    );
  });

  it.each([1, 3])("that is stuck for ten minutes does not stop the healing of %i replicas", async replicas => {
    const scene = upgraded(replicas);
    expect((await scene.live(10, isOld)).intents).toEqual([]);
    const { intents } = await scene.live(2, isOld);
    expect(intents).toHaveLength(1);
    expect(intents[0]?.target.name).toContain("web-5d-");
  });

  it("delays it by the progress deadline of the Deployment, 15 minutes at most", async () => {
    const short = upgraded(1, { ...rolling, progressDeadlineMs: 120_000 });
    expect((await short.live(4, isOld)).intents).toHaveLength(1);
    const endless = upgraded(1, { ...rolling, progressDeadlineMs: 2_147_483_647_000 });
    expect((await endless.live(15, isOld)).intents).toEqual([]);
    expect((await endless.live(2, isOld)).intents).toHaveLength(1);
  });

  it.each([
    ["its new pods", "2", 0],
    ["a pod of the old template", "1", 1],
  ])(
    "of a DaemonSet that is stuck gives no successor the new template while %s is not Ready",
    async (_, value, count) => {
      const scene = replicated(3);
      const currentLabel = { key: "pod-template-generation", value: "2" };
      const kind = "DaemonSet";
      scene.workloadList = [workload({ kind, replicas: 3, rollout: { ...rolling, currentLabel } })];
      scene.object = { ...scene.object, spec: { ...scene.object.spec, targets: [{ kind, name: "web" }] } };
      const owner = { kind, name: "web", uid: "w" };
      scene.podList = scene.podList.map((pod, at) => {
        const labels = { [currentLabel.key]: at === 0 ? value : "1" };
        return { ...pod, owner, labels, ready: at > 0, ...(at === 0 && { readySinceMs: pod.createdAtMs }) };
      });
      const sick = new Set(scene.podList.filter(({ ready }) => ready).map(({ name }) => name));
      const pass = await scene.live(15, name => sick.has(name));
      expect(pass.intents).toHaveLength(count);
    },
  );

  it("that ends, ends the wait", async () => {
    const scene = upgraded(1);
    await scene.live(3, isOld);
    scene.workloadList = [workload({ rollout: { ...rolling, isComplete: true, isInProgress: false } })];
    scene.podList = scene.podList.map(pod => ({ ...pod, ready: true }));
    expect((await scene.pass()).intents).toHaveLength(1);
    scene.workloadList = [workload({ rollout: rolling })];
    expect((await scene.live(9, isOld)).intents).toEqual([]);
  });
});
