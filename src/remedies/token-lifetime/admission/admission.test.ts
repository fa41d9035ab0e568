import { describe, expect, it } from "vitest";
import { ForbiddenError, TransientError } from "../../../core/errors";
import { AdmissionScene } from "../testing/admission-scene";
import { PLAIN } from "../testing/scene";

const SECOND = 1_000;
const MINUTE = 60_000;

/** The pair is in effect, and no pod was replaced yet. */
async function inEffect(scene = new AdmissionScene()): Promise<AdmissionScene> {
  await scene.pass();
  await scene.pass();
  await scene.clock.run(30 * SECOND);
  return scene;
}

/** The first pod was replaced. */
async function onTrial(scene = new AdmissionScene()): Promise<AdmissionScene> {
  await inEffect(scene);
  await scene.pass();
  await scene.clock.run(10 * SECOND);
  return scene;
}

const evictions = (scene: AdmissionScene): string[] =>
  scene.written.filter(({ verb }) => verb === "evict").map(({ target }) => target.name);

describe("a DaemonSet whose pods have the default token", () => {
  it("gets a policy and a binding, and does not change", async () => {
    const scene = new AdmissionScene();
    const before = scene.set();
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "Planned", progressing: true, needsCleanup: true });
    expect(scene.lines).toEqual(["create MutatingAdmissionPolicy", "create MutatingAdmissionPolicyBinding"]);
    const [policy, binding] = scene.written;
    expect(policy?.target.name).toMatch(/^controller-resilience-token-team-agent-[0-9a-f]{16}$/);
    expect(binding?.target.name).toBe(policy?.target.name);
    expect(binding?.body).toMatchObject({ spec: { policyName: policy?.target.name } });
    expect(policy?.body).toMatchObject({
      metadata: {
        labels: { "controller-resilience.io/owner-uid": "uid-of-it" },
        annotations: { "controller-resilience.io/owner": "team/it", "controller-resilience.io/daemonset": "agent" },
      },
    });
    expect(scene.entry()).toMatchObject({ outcome: "Waiting", changes: 1, policy: policy?.target.name });
    await scene.passes(10, 20 * MINUTE);
    expect(scene.set()).toEqual(before);
  });

  it("has its pods replaced after the policy takes effect: one, and after its token lifetime the others", async () => {
    const scene = new AdmissionScene();
    const old = scene.podList.map(({ name }) => name);
    await scene.pass();
    await scene.clock.run(29 * SECOND);
    expect(await scene.pass()).toMatchObject({ reason: "Planned", intents: [] });
    await scene.clock.run(SECOND);
    expect((await scene.pass()).reason).toBe("Replacing");
    expect(evictions(scene)).toEqual(old.slice(0, 1));
    await scene.clock.run(10 * SECOND);
    expect((await scene.pass()).message).toContain("the operator is watching the successor of pod agent-1.");
    await scene.clock.run(20 * SECOND);
    const { message } = await scene.pass();
    expect(message).toContain("1 of 3 pods have tokens bounded to 10m");
    expect(message).toContain("the first must work until 2025-01-01T00:11:30Z");
    await scene.clock.run(10 * MINUTE + 29 * SECOND);
    expect(await scene.pass()).toMatchObject({ reason: "Replacing", intents: [] });
    await scene.clock.run(SECOND);
    await scene.pass();
    expect(evictions(scene)).toEqual(old.slice(0, 2));
    await scene.clock.run(29 * SECOND);
    await scene.pass();
    expect(evictions(scene)).toHaveLength(2);
    await scene.clock.run(SECOND);
    await scene.pass();
    expect(evictions(scene)).toEqual(old);
    await scene.clock.run(30 * SECOND);
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Bounded", needsCleanup: true });
    expect(scene.entry()).toMatchObject({ outcome: "Bounded", changes: 1 });
    expect(scene.object.status?.restarts?.map(({ outcome, cause }) => `${cause} ${outcome}`)).toEqual(
      Array.from({ length: 3 }, () => "TokenTooLong Recovered"),
    );
  });

  it("is only reported where the operator observes", async () => {
    const scene = new AdmissionScene();
    scene.judged = "OperatorObserves";
    const pass = await scene.passes(3, MINUTE);
    expect(pass).toMatchObject({ status: "False", reason: "WouldChange" });
    expect(pass.message).toContain("the operator runs with --mode=Observe, else it would create a MutatingAdmission");
    expect(scene.written).toEqual([]);
    expect(scene.entry()).toMatchObject({ outcome: "Waiting", changes: 0 });
  });

  it("gets a policy with any defaultToken", async () => {
    const scene = new AdmissionScene({ defaultToken: "Leave" });
    await scene.pass();
    expect(scene.policies).toHaveLength(1);
  });

  it("gets a policy if another manager shortened the tokens of its pods", async () => {
    const scene = new AdmissionScene();
    scene.roll("agent", 600);
    await scene.pass();
    expect(scene.policies).toHaveLength(1);
  });

  it("works with updateStrategy OnDelete", async () => {
    const scene = new AdmissionScene();
    scene.sets.set("agent", { ...scene.set(), updateStrategy: "OnDelete" });
    await onTrial(scene);
    expect(evictions(scene)).toHaveLength(1);
  });

  it("continues after a crash between the creation of the pair and its record", async () => {
    const scene = new AdmissionScene();
    await scene.pass();
    scene.object = { ...scene.object, status: {} };
    await scene.clock.run(30 * SECOND);
    await scene.pass();
    expect(scene.lines).toEqual([
      "create MutatingAdmissionPolicy",
      "create MutatingAdmissionPolicyBinding",
      "evict Pod",
    ]);
    expect(scene.entry()).toMatchObject({ appliedTime: "2025-01-01T00:00:00Z", outcome: "Rolling" });
  });
});

describe("no policy is created", () => {
  it.each([
    ["AutomountOff", "True", { spec: { ...PLAIN.spec, automountServiceAccountToken: false } }],
    ["WindowsNodes", "False", { spec: { ...PLAIN.spec, os: { name: "windows" } } }],
  ])("for a template with %s", async (reason, status, template) => {
    const scene = new AdmissionScene();
    scene.put("agent", template);
    expect(await scene.pass()).toMatchObject({ status, reason, intents: [], needsCleanup: false });
    expect(scene.entry()).not.toHaveProperty("policy");
  });

  it("for a template with short tokens", async () => {
    const sources = [{ serviceAccountToken: { path: "token", expirationSeconds: 600 } }];
    const volumeMounts = [{ name: "own", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" }];
    const scene = new AdmissionScene();
    scene.put("agent", {
      spec: {
        ...PLAIN.spec,
        volumes: [{ name: "own", projected: { sources } }],
        containers: [{ ...PLAIN.spec.containers[0], volumeMounts }],
      },
    });
    scene.roll("agent", 600);
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Bounded", intents: [] });
  });

  it("with the skip annotation", async () => {
    const scene = new AdmissionScene();
    scene.put("agent", PLAIN, { skip: true });
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "LeftAlone", intents: [] });
  });

  it.each(["suspected", "persistent", "unread", "unreadable"] as const)("while logs are %s", async verdict => {
    const scene = new AdmissionScene();
    scene.setLogs(verdict);
    expect(await scene.passes(3)).toMatchObject({ reason: "Waiting", intents: [] });
  });

  it.each([
    [{ updatedPods: 1 }, "a rollout is in progress"],
    [{ updatedPods: 1, updateStrategy: "OnDelete" }, "OnDelete, and pods with an older template still exist (2)"],
    [{ availablePods: 2 }, "2 of 3 pods are available"],
  ])("while the DaemonSet is not settled: %j", async (over, why) => {
    const scene = new AdmissionScene();
    scene.sets.set("agent", { ...scene.set(), ...over });
    const decision = await scene.pass();
    expect(decision).toMatchObject({ reason: "Waiting", intents: [] });
    expect(decision.message).toContain(why);
  });

  it("if the API server does not serve the kinds, and nothing else happens", async () => {
    const scene = new AdmissionScene();
    scene.isServed = false;
    const decision = await scene.passes(3);
    expect(decision).toMatchObject({ status: "False", reason: "AdmissionUnavailable", intents: [] });
    expect(decision.stalled?.message).toContain("Kubernetes 1.36");
    expect(scene.written).toEqual([]);
  });

  it("if a foreign object has its name", async () => {
    const scene = await inEffect();
    const [name = ""] = scene.policies;
    const other = new AdmissionScene();
    other.putClusterObject("MutatingAdmissionPolicyBinding", name, { spec: { policyName: "theirs" } });
    const decision = await other.passes(3);
    expect(decision).toMatchObject({ status: "False", reason: "NameTaken", intents: [], needsCleanup: false });
    expect(decision.stalled?.message).toContain(name);
  });
});

describe("an object with many DaemonSets", () => {
  it("gets at most 32 policies, the same ones in each pass, and names the rest", async () => {
    const scene = new AdmissionScene();
    scene.object.spec.targets = [];
    for (let i = 10; i < 44; i++) {
      const name = `agent-${i}`;
      scene.object.spec.targets.push({ kind: "DaemonSet", name });
      scene.put(name, PLAIN);
      scene.roll(name, 600);
    }
    await scene.passes(100, MINUTE);
    expect(scene.policies).toHaveLength(32);
    const before = scene.policies;
    scene.object.spec.targets.unshift({ kind: "DaemonSet", name: "a-first" });
    scene.put("a-first", PLAIN);
    scene.roll("a-first", 600);
    const decision = await scene.passes(3, MINUTE);
    expect(scene.policies).toEqual(before);
    expect(decision).toMatchObject({ status: "False", stalled: { reason: "TooManyDaemonSets" } });
    expect(decision.message).toContain("an object has at most 32 admission policies");
    expect(scene.entry("a-first")).toMatchObject({ outcome: "LeftAlone" });
    scene.object.spec.targets = scene.object.spec.targets.filter(({ name }) => name !== "agent-10");
    scene.sets.delete("agent-10");
    await scene.passes(3, MINUTE);
    expect(scene.policies).toHaveLength(32);
    expect(scene.policies.some(name => name.includes("a-first"))).toBe(true);
  });
});

describe("a drifted policy", () => {
  async function changed(scene: AdmissionScene): Promise<void> {
    scene.putClusterObject("MutatingAdmissionPolicy", scene.policies[0]!, { spec: {}, lastManager: "kubectl-edit" });
    await scene.pass();
  }

  it("is repaired once, then left to the other manager, which is named", async () => {
    const scene = await onTrial();
    const [, , evicted] = scene.written;
    expect(evicted?.verb).toBe("evict");
    await changed(scene);
    expect(scene.written.at(-1)).toMatchObject({
      verb: "apply",
      target: { kind: "MutatingAdmissionPolicy", uid: "uid-1", resourceVersion: "3" },
    });
    expect(scene.entry()).toMatchObject({ changes: 2, appliedTime: "2025-01-01T00:00:40Z" });
    await changed(scene);
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "FieldContested", intents: [] });
    expect(decision.message).toContain("field manager kubectl-edit");
    scene.object = { ...scene.object, metadata: { ...scene.object.metadata, generation: 2 } };
    await scene.pass();
    expect(scene.lines.at(-1)).toBe("apply MutatingAdmissionPolicy");
  });

  it("is created again after a deletion", async () => {
    const scene = await inEffect();
    scene.clusterViews.delete(`MutatingAdmissionPolicyBinding/${scene.policies[0]!}`);
    await scene.pass();
    expect(scene.lines.at(-1)).toBe("create MutatingAdmissionPolicyBinding");
    // It takes effect 30 s later.
    expect(await scene.pass()).toMatchObject({ reason: "Planned", intents: [] });
  });
});

describe("an operator that crashes between the creation of a policy and its record", () => {
  it("is followed by one that counts it once", async () => {
    const scene = new AdmissionScene();
    await scene.passAndCrash();
    expect(scene.lines).toHaveLength(2);
    await scene.clock.run(10 * SECOND);
    await scene.passes(4);
    expect(scene.entry()).toMatchObject({ changes: 1, appliedTime: "2025-01-01T00:00:00Z" });
  });

  it.each(["deleted", "changed"])(
    "is followed by one that does not repeat its repair if the policy was %s",
    async fate => {
      const scene = await inEffect();
      const name = scene.policies[0]!;
      const interfere = (): void => {
        if (fate === "deleted") scene.clusterViews.delete(`MutatingAdmissionPolicy/${name}`);
        else scene.putClusterObject("MutatingAdmissionPolicy", name, { spec: {} });
      };
      interfere();
      await scene.passAndCrash();
      expect(scene.lines).toHaveLength(3);
      await scene.clock.run(10 * SECOND);
      await scene.pass();
      // It takes effect 30 s after the repair.
      expect(scene.entry()).toMatchObject({ changes: 2, appliedTime: "2025-01-01T00:00:30Z" });
      interfere();
      expect(await scene.pass()).toMatchObject({ reason: "FieldContested", intents: [] });
    },
  );

  it("is followed by one that creates the missing half, as one change", async () => {
    const scene = new AdmissionScene();
    await scene.passAndCrash();
    scene.clusterViews.delete(`MutatingAdmissionPolicyBinding/${scene.policies[0]!}`);
    await scene.clock.run(10 * SECOND);
    await scene.passes(3);
    expect(scene.lines.slice(2)).toEqual(["create MutatingAdmissionPolicyBinding"]);
    expect(scene.entry()).toMatchObject({ changes: 1 });
  });

  it("is not assumed if the API server's clock is a second ahead", async () => {
    const scene = new AdmissionScene();
    await scene.pass();
    for (const view of scene.clusterViews.values()) {
      scene.putClusterObject(view.kind, view.name, { writtenAtMs: (view.writtenAtMs ?? 0) + 1_000 });
    }
    await scene.passes(3);
    expect(scene.entry()).toMatchObject({ changes: 1 });
  });
});

describe("a policy without effect", () => {
  it("is reported and costs at most one pod", async () => {
    const scene = new AdmissionScene();
    scene.isPluginOn = false;
    await onTrial(scene);
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "AdmissionIneffective", intents: [] });
    expect(decision.stalled?.message).toContain("MutatingAdmissionPolicy on");
    await scene.passes(10, 20 * MINUTE);
    expect(evictions(scene)).toHaveLength(1);
    expect(scene.entry()).toMatchObject({ outcome: "Stuck" });
    // As the message says: the plugin is turned on, and the pod is deleted.
    scene.isPluginOn = true;
    scene.replacePod(scene.podList.at(-1)!.name);
    await scene.passes(20, 2 * MINUTE);
    expect(scene.count(600)).toBe(3);
  });
});

describe("a policy is kept", () => {
  it("while its DaemonSet has the skip annotation", async () => {
    const scene = await onTrial();
    scene.sets.set("agent", { ...scene.set(), skip: true });
    expect(await scene.passes(3)).toMatchObject({ reason: "LeftAlone", intents: [], needsCleanup: true });
    expect(scene.policies).toHaveLength(1);
  });
});

describe("the deletion of a policy", () => {
  it("follows another lifetime, after the new policy is in effect", async () => {
    const scene = await onTrial();
    const old = scene.policies[0]!;
    scene.object.spec.tokenLifetime!.expirationSeconds = 900;
    scene.object = { ...scene.object, metadata: { ...scene.object.metadata, generation: 2 } };
    await scene.pass();
    expect(scene.policies).toHaveLength(2);
    await scene.clock.run(30 * SECOND);
    await scene.pass();
    expect(scene.policies).toHaveLength(1);
    expect(scene.policies).not.toContain(old);
    expect(scene.lines.filter(line => line.startsWith("delete"))).toEqual([
      "delete MutatingAdmissionPolicyBinding",
      "delete MutatingAdmissionPolicy",
    ]);
  });

  it("follows when its DaemonSet is no target any more", async () => {
    const scene = await inEffect();
    scene.object.spec.targets = [{ kind: "DaemonSet", name: "other" }];
    await scene.pass();
    expect(scene.clusterViews.size).toBe(0);
    expect(await scene.pass()).toMatchObject({ needsCleanup: false });
  });

  it("follows the deletion of its object, and spares foreign policies", async () => {
    const scene = await inEffect();
    scene.putClusterObject("MutatingAdmissionPolicy", "theirs", {});
    const intents = (await scene.remedy.cleanUp?.(scene.object, scene)) ?? [];
    expect(intents.map(({ verb, target }) => `${verb} ${target.kind} ${target.uid}`)).toEqual([
      "delete MutatingAdmissionPolicyBinding uid-2",
      "delete MutatingAdmissionPolicy uid-1",
    ]);
  });
});

describe("an API server that does not serve the kinds any more, as during an upgrade", () => {
  it("does not erase a recorded policy", async () => {
    const scene = await inEffect();
    const [policy] = scene.policies;
    scene.isServed = false;
    expect(await scene.pass()).toMatchObject({ reason: "AdmissionUnavailable", needsCleanup: true });
    expect(scene.entry()).toMatchObject({ policy });
    const target = scene.sets.get("agent")!;
    scene.sets.delete("agent");
    expect(await scene.pass()).toMatchObject({ needsCleanup: true });
    expect(scene.entry()).toMatchObject({ policy });
    await expect(scene.remedy.cleanUp?.(scene.object, scene)).rejects.toThrow(TransientError);
    scene.sets.set("agent", target);
    scene.isServed = true;
    expect(await scene.remedy.cleanUp?.(scene.object, scene)).toHaveLength(2);
  });

  it("does not erase it after a change of `via` either", async () => {
    const scene = await inEffect();
    scene.object.spec.tokenLifetime!.via = "Template";
    const finalizers = ["controller-resilience.io/cleanup"];
    scene.object = { ...scene.object, metadata: { ...scene.object.metadata, generation: 2, finalizers } };
    scene.outcome = { result: "Failed", message: "no answer" };
    await scene.pass();
    scene.isServed = false;
    await expect(scene.pass()).rejects.toThrow(TransientError);
  });

  it("does not matter if the policy is deleted or never existed", async () => {
    const scene = await inEffect();
    scene.object.spec.targets = [{ kind: "DaemonSet", name: "other" }];
    await scene.passes(3);
    expect(scene.entry()).not.toHaveProperty("policy");
    scene.isServed = false;
    expect(await scene.pass()).toMatchObject({ needsCleanup: false });
    expect(await scene.remedy.cleanUp?.(scene.object, scene)).toEqual([]);
  });
});

describe("an operator without permission to list policies", () => {
  const finalizers = ["controller-resilience.io/cleanup"];

  function forbidden(via: "Template" | "Admission"): AdmissionScene {
    const scene = new AdmissionScene({ via });
    scene.isForbidden = true;
    scene.object = { ...scene.object, metadata: { ...scene.object.metadata, finalizers } };
    return scene;
  }

  it("works with via: Template, and fails with via: Admission", async () => {
    const scene = forbidden("Template");
    await scene.passes(2);
    expect(scene.lines).toEqual(["apply DaemonSet"]);
    await expect(forbidden("Admission").pass()).rejects.toThrow(ForbiddenError);
  });

  it("releases only objects without a policy", async () => {
    const scene = await inEffect();
    scene.isForbidden = true;
    await expect(scene.remedy.cleanUp?.(scene.object, scene)).rejects.toThrow(ForbiddenError);
    const other = forbidden("Admission");
    expect(await other.remedy.cleanUp?.(other.object, other)).toEqual([]);
  });
});

describe("a change of via", () => {
  it("from Template to Admission creates the policy, then restores the template, and evicts no pod", async () => {
    const scene = new AdmissionScene({ via: "Template" });
    await scene.pass();
    await scene.pass();
    scene.roll("agent", 600);
    await scene.pass();
    // Logs are not read any more.
    await scene.clock.run(300 * MINUTE);
    scene.object.spec.tokenLifetime!.via = "Admission";
    scene.object = { ...scene.object, metadata: { ...scene.object.metadata, generation: 2 } };
    await inEffect(scene);
    expect(scene.lines.slice(1)).toEqual(["create MutatingAdmissionPolicy", "create MutatingAdmissionPolicyBinding"]);
    await scene.pass();
    expect(scene.lines.at(-1)).toBe("apply DaemonSet");
    expect(scene.set().template).toEqual(PLAIN);
    scene.roll("agent", 600);
    expect(await scene.passes(5, MINUTE)).toMatchObject({ status: "True", reason: "Bounded" });
    expect(scene.lines).toHaveLength(4);
  });

  it("from Admission to Template deletes the policy", async () => {
    const scene = await onTrial();
    scene.object.spec.tokenLifetime!.via = "Template";
    const finalizers = ["controller-resilience.io/cleanup"];
    scene.object = { ...scene.object, metadata: { ...scene.object.metadata, generation: 2, finalizers } };
    await scene.passes(3);
    expect(scene.clusterViews.size).toBe(0);
    expect(scene.lines.at(-1)).toBe("apply DaemonSet");
    expect(scene.entry()).toMatchObject({ outcome: "Rolling", changes: 1 });
    expect(scene.entry()).not.toHaveProperty("policy");
  });
});
