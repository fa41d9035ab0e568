import { describe, expect, it } from "vitest";
import { Cause } from "../../../api/conditions";
import type { RestartStatus } from "../../../api/controller-resilience";
import { AdmissionScene } from "../testing/admission-scene";
import { PLAIN } from "../testing/scene";

// Never: more than one pod that is down or unauthorized because of a shorter token, or a token that stays short where it does harm.

const SECOND = 1_000;
const MINUTE = 60_000;

/** The policy is in effect, and `count` pods were replaced. */
async function replaced(count: number, scene = new AdmissionScene()): Promise<AdmissionScene> {
  for (let i = 0; i < 400 && scene.count(600) < count; i++) await scene.passes(2);
  expect(scene.count(600)).toBe(count);
  await scene.clock.run(10 * SECOND);
  return scene;
}

const evictions = (scene: AdmissionScene): string[] =>
  scene.written.filter(({ verb }) => verb === "evict").map(({ target }) => target.name);

describe("401s of the first pod with a shorter token", () => {
  async function dead(): Promise<AdmissionScene> {
    const scene = await replaced(1);
    // The first token has not expired yet.
    await scene.passes(4);
    scene.setLogs("persistent", 600);
    return scene;
  }

  it("delete the policy after that is recorded, and then give that pod a long token", async () => {
    const scene = await dead();
    const canary = scene.podList.at(-1)!.name;
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "Reverting", intents: [] });
    expect(scene.clusterViews.size).toBe(2);
    await scene.pass();
    expect(scene.clusterViews.size).toBe(0);
    expect(scene.entry()).toMatchObject({ outcome: "Reverted", changes: 1 });
    expect(scene.entry()).not.toHaveProperty("policy");
    await scene.clock.run(29 * SECOND);
    expect(await scene.pass()).toMatchObject({ reason: "Reverted", intents: [] });
    await scene.passes(90);
    expect(evictions(scene).slice(1)).toEqual([canary]);
    expect(scene.count(3607)).toBe(3);
    expect(await scene.pass()).toMatchObject({ reason: "Reverted", stalled: { reason: "Reverted" }, intents: [] });
    expect(scene.clusterViews.size).toBe(0);
  });

  it("from its start cause an eviction without a cooldown", async () => {
    const scene = await replaced(1);
    const canary = scene.podList.at(-1)?.name;
    scene.setLogs("persistent", 600);
    await scene.passes(6);
    expect(evictions(scene).slice(1)).toEqual([canary]);
    expect(scene.object.status?.restarts?.map(({ outcome }) => outcome)).toEqual(["Ineffective", "Restarted"]);
  });

  it("of several pods cause one eviction at a time", async () => {
    const scene = await replaced(2);
    const dead = scene.podList.slice(1).map(({ name }) => name);
    scene.setLogs("persistent", 600);
    await scene.passes(6);
    expect(evictions(scene).slice(2)).toEqual(dead.slice(0, 1));
    await scene.passes(6);
    expect(evictions(scene).slice(2)).toEqual(dead);
    expect(scene.count(3607)).toBe(3);
  });

  it("cause no more evictions while a successor is not Ready, which is reported", async () => {
    const scene = await replaced(2);
    scene.setLogs("persistent", 600);
    await scene.passes(6);
    scene.podList = scene.podList.map((pod, i) => (i === 2 ? { ...pod, ready: false } : pod));
    scene.sets.set("agent", { ...scene.set(), availablePods: 2 });
    const decision = await scene.passes(150, MINUTE);
    expect(evictions(scene)).toHaveLength(3);
    expect(decision).toMatchObject({ reason: "Reverted", stalled: { reason: "Reverted" } });
    expect(decision.message).toContain("other pods are not available (1); see kubectl rollout status");
    // The pod itself is down because of its 401s.
    scene.podList = scene.podList.map(pod => ({ ...pod, ready: pod.maxTokenExpirationSeconds === 3607 }));
    await scene.passes(6);
    expect(scene.count(600)).toBe(0);
  });

  it("wait for a pod that another remedy replaced", async () => {
    const scene = await replaced(2);
    scene.setLogs("persistent", 600);
    await scene.passes(2);
    await scene.clock.run(31 * SECOND);
    const open: RestartStatus = {
      pod: "agent-9",
      podUID: "uid-9",
      workload: "DaemonSet/agent",
      time: scene.clock.now().toISOString(),
      cause: Cause.Unknown,
      outcome: "Restarted",
    };
    const others = (): RestartStatus[] => [...(scene.object.status?.restarts ?? []), open];
    for (let i = 0; i < 5; i++) {
      scene.object = { ...scene.object, status: { ...scene.object.status, restarts: others() } };
      await scene.pass();
    }
    expect(evictions(scene)).toHaveLength(2);
    await scene.pass();
    expect(evictions(scene)).toHaveLength(3);
  });

  it("of a pod older than its ServiceAccount cause no eviction by this remedy", async () => {
    const scene = await dead();
    await scene.pass();
    await scene.pass();
    scene.account = { ...scene.account, createdAtMs: scene.clock.now().getTime() + 1 };
    await scene.passes(10);
    expect(evictions(scene)).toHaveLength(1);
  });

  it("are remembered for that template, and not for another", async () => {
    const scene = await dead();
    await scene.passes(200);
    scene.object = { ...scene.object, metadata: { ...scene.object.metadata, generation: 2 } };
    await scene.passes(3);
    expect(scene.clusterViews.size).toBe(0);
    scene.put("agent", { spec: { ...PLAIN.spec, containers: [{ name: "main", image: "agent:2" }] } });
    scene.roll("agent", 3607);
    await scene.passes(3);
    expect(scene.clusterViews.size).toBe(2);
  });

  it("that end before the deletion cancel it", async () => {
    const scene = await dead();
    await scene.clock.run(11 * MINUTE);
    await scene.pass();
    scene.setLogs("quiet");
    await scene.passes(3);
    expect(scene.clusterViews.size).toBe(2);
  });

  it("delete it also if the unauthorized pod was deleted meanwhile", async () => {
    for (const isReplaced of [true, false]) {
      const scene = await replaced(2);
      const [, first, second] = scene.podList;
      scene.logStates.set(second!.uid, "persistent");
      await scene.clock.run(11 * MINUTE);
      expect(await scene.pass()).toMatchObject({ reason: "Reverting" });
      if (isReplaced) scene.replacePod(second!.name);
      else scene.podList = scene.podList.map(pod => (pod === second ? { ...pod, deletedAtMs: 1 } : pod));
      expect(scene.podList).toContain(first);
      await scene.pass();
      expect(scene.clusterViews.size).toBe(0);
    }
  });

  it("are reported as reverted after a crash before the record", async () => {
    const scene = await dead();
    await scene.pass();
    scene.clusterViews.clear();
    expect(await scene.pass()).toMatchObject({ reason: "Reverted" });
    expect(scene.entry()).toMatchObject({
      outcome: "Reverted",
      appliedTime: scene.clock.now().toISOString().replace(".000Z", "Z"),
    });
  });

  it("block other evictions while they are only suspected", async () => {
    const scene = await replaced(1);
    scene.setLogs("suspected", 600);
    await scene.passes(60, MINUTE);
    expect(evictions(scene)).toHaveLength(1);
    expect(scene.clusterViews.size).toBe(2);
  });

  it("keep the policy without revertOnUnauthorized, and if the ServiceAccount explains them", async () => {
    const kept = await replaced(1, new AdmissionScene({ revertOnUnauthorized: false }));
    kept.setLogs("persistent", 600);
    await kept.passes(3);
    expect(kept.clusterViews.size).toBe(2);
    const other = await dead();
    other.account = { ...other.account, createdAtMs: other.clock.now().getTime() + 1 };
    await other.passes(3);
    expect(other.clusterViews.size).toBe(2);
  });

  it("delete nothing in Observe mode", async () => {
    const scene = await dead();
    scene.object.spec.mode = "Observe";
    await scene.passes(3);
    expect(scene.clusterViews.size).toBe(2);
  });
});

describe("the next pod is not replaced", () => {
  it("while pods of the DaemonSet are unavailable", async () => {
    const scene = await replaced(2);
    scene.sets.set("agent", { ...scene.set(), availablePods: 2 });
    await scene.passes(30);
    expect(evictions(scene)).toHaveLength(2);
  });

  it("before the first outlives its token, also if the policy was repaired meanwhile", async () => {
    const scene = await replaced(1);
    scene.putClusterObject("MutatingAdmissionPolicy", scene.policies[0]!, { spec: {} });
    await scene.passes(50);
    expect(scene.lines).toContain("apply MutatingAdmissionPolicy");
    expect(evictions(scene)).toHaveLength(1);
  });

  it("after one whose successor never became Ready, which is reported", async () => {
    const scene = await replaced(1);
    scene.podList = scene.podList.map(pod => (pod.maxTokenExpirationSeconds === 600 ? { ...pod, ready: false } : pod));
    scene.sets.set("agent", { ...scene.set(), availablePods: 2 });
    const decision = await scene.passes(70);
    expect(decision).toMatchObject({ status: "False", reason: "RolloutStuck", stalled: { reason: "RolloutStuck" } });
    expect(evictions(scene)).toHaveLength(1);
    expect(scene.object.status?.restarts?.[0]?.outcome).toBe("Ineffective");
  });

  it("if it has the skip annotation", async () => {
    const scene = new AdmissionScene();
    scene.podList = scene.podList.map((pod, i) => (i === 0 ? { ...pod, skip: true } : pod));
    await replaced(2, scene);
    const decision = await scene.passes(20);
    expect(decision).toMatchObject({ status: "True", reason: "LeftAlone", intents: [] });
    expect(evictions(scene)).toEqual(["agent-2", "agent-3"]);
  });

  it("while another DaemonSet's successor is watched", async () => {
    const scene = new AdmissionScene();
    scene.object.spec.targets.push({ kind: "DaemonSet", name: "other" });
    scene.put("other", PLAIN);
    scene.roll("other", 3607);
    let most = 0;
    for (let i = 0; i < 400; i++) {
      await scene.passes(2);
      const open = scene.object.status?.restarts?.filter(({ outcome }) => outcome === "Restarted") ?? [];
      most = Math.max(most, open.length);
    }
    expect(most).toBe(1);
    expect(scene.count(600)).toBe(6);
  });
});

describe("a DaemonSet with a recorded revert", () => {
  it("does not block others while it has the skip annotation", async () => {
    const scene = await replaced(1);
    scene.setLogs("persistent", 600);
    expect(await scene.pass()).toMatchObject({ reason: "Reverting" });
    scene.sets.set("agent", { ...scene.set(), skip: true });
    scene.object.spec.targets.push({ kind: "DaemonSet", name: "other" });
    scene.put("other", PLAIN);
    scene.roll("other", 3607);
    await scene.passes(70);
    expect(scene.entry()).toMatchObject({ outcome: "Reverting" });
    expect(scene.entry("other")).toMatchObject({ outcome: "Rolling" });
  });
});

describe("a refused eviction", () => {
  it("is reported, costs nothing, and does not block another DaemonSet", async () => {
    const scene = new AdmissionScene();
    scene.object.spec.targets.push({ kind: "DaemonSet", name: "other" });
    scene.put("other", PLAIN);
    scene.roll("other", 3607);
    scene.evictionOutcome = { result: "Blocked", message: "its budget says no", retryAfterMs: 10_000 };
    const tried = new Set<string>();
    for (let i = 0; i < 20; i++) {
      await scene.clock.run(10 * SECOND);
      const { intents, reason, message, recheckAfterMs } = await scene.pass();
      if (i > 10) expect(recheckAfterMs).toBe(10 * SECOND);
      for (const { restart } of intents) {
        tried.add(restart?.workload ?? "");
        if (restart === undefined) continue;
        expect(reason).toBe("RestartBlocked");
        expect(message).toContain("its budget says no");
      }
    }
    expect([...tried].sort()).toEqual(["", "DaemonSet/agent", "DaemonSet/other"]);
    expect(scene.object.status?.restarts).toEqual([]);
  });

  it("because of a budget is reported without a time", async () => {
    const scene = await replaced(1);
    scene.evictionOutcome = { result: "Limited", limit: "RestartPacer", retryAfterMs: 1_234 };
    await scene.passes(70);
    const decision = await scene.pass();
    expect(decision).toMatchObject({ reason: "RestartDeferred", progressing: true });
    expect(decision.message).toMatch(/held back by the operator's restart pace\.$/);
  });
});

describe("a policy that can not be created", () => {
  it("is reported and retried", async () => {
    const scene = new AdmissionScene();
    scene.outcome = { result: "Forbidden", message: "it needs a right" };
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "Forbidden", recheckAfterMs: 10 * SECOND });
    expect(scene.entry()).toMatchObject({ outcome: "Waiting", changes: 0 });
    scene.outcome = undefined;
    await scene.pass();
    expect(scene.clusterViews.size).toBe(2);
  });
});
