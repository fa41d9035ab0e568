import { describe, expect, it } from "vitest";
import type { DaemonSetView } from "../../core/views";
import { PLAIN, Scene } from "./testing/scene";

// Never: a change that spreads harm, a revert because of an unrelated problem, a forgotten revert.

const MINUTE = 60_000;
const json = (value: unknown): string => JSON.stringify(value);

/** Two DaemonSets; the first was changed, and `replaced` of its three pods were replaced. */
async function changed(replaced = 3): Promise<Scene> {
  const scene = new Scene();
  await scene.pass();
  await scene.pass();
  await scene.clock.run(MINUTE);
  if (replaced > 0) scene.roll("agent", 600, replaced);
  scene.object.spec.targets.push({ kind: "DaemonSet", name: "other" });
  scene.put("other", PLAIN);
  scene.roll("other", 3607);
  return scene;
}

const written = (scene: Scene): string[] =>
  scene.written.map(({ target, eventReason }) => `${target.name} ${eventReason}`);

function edit(scene: Scene, view: Partial<DaemonSetView>): void {
  scene.sets.set("agent", { ...scene.set(), ...view });
}

function rename(image: string): object {
  const { template } = { template: structuredClone(PLAIN) };
  template.spec.containers[0]!.image = image;
  return template;
}

describe("a stuck rollout", () => {
  it.each<[string, (scene: Scene) => void]>([
    ["stuck", () => undefined],
    ["of a set with the skip annotation", scene => edit(scene, { skip: true })],
    ["whose default token is to stay now", scene => void (scene.object.spec.tokenLifetime!.defaultToken = "Leave")],
  ])("%s blocks changes of other DaemonSets", async (_, then) => {
    const scene = await changed(1);
    await scene.pass();
    await scene.clock.run(20 * MINUTE);
    await scene.pass();
    then(scene);
    for (let i = 0; i < 4; i++) await scene.pass();
    expect(written(scene).filter(line => line.startsWith("other"))).toEqual([]);
  });

  it("can be reverted immediately", async () => {
    const scene = await changed(1);
    await scene.clock.run(20 * MINUTE);
    expect((await scene.pass()).reason).toBe("RolloutStuck");
    scene.object.spec.tokenLifetime!.defaultToken = "Leave";
    for (let i = 0; i < 3; i++) await scene.pass();
    expect(json(scene.set().template)).toBe(json(PLAIN));
  });

  it("stays stuck while a pod flaps", async () => {
    const scene = await changed(1);
    await scene.pass();
    for (let i = 0; i < 4; i++) {
      await scene.clock.run(4 * MINUTE);
      const readySinceMs = scene.clock.now().getTime();
      scene.podList = scene.podList.map(pod => ({ ...pod, ready: false, readySinceMs }));
      await scene.pass();
    }
    expect(scene.entry()).toMatchObject({ outcome: "Stuck" });
  });
});

describe("a bounded DaemonSet", () => {
  it("stays bounded during other rollouts", async () => {
    const scene = await changed();
    await scene.pass();
    await scene.clock.run(5 * 60 * MINUTE);
    edit(scene, { availablePods: 2 });
    const decision = await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Bounded" });
    expect(decision.message).toContain("DaemonSet agent: tokens bounded to 10m.");
  });

  it("that another manager shortened does not count as changed", async () => {
    const scene = new Scene();
    const sources = [{ serviceAccountToken: { path: "token", expirationSeconds: 600 } }];
    const mount = { name: "own", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" };
    const container = { ...PLAIN.spec.containers[0], volumeMounts: [mount] };
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Planned" });
    scene.put("agent", {
      spec: { ...PLAIN.spec, volumes: [{ name: "own", projected: { sources } }], containers: [container] },
    });
    scene.roll("agent", 600);
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Bounded" });
    expect(scene.entry()).not.toHaveProperty("appliedTime");
    scene.setLogs("persistent");
    await scene.pass();
    await scene.pass();
    expect(scene.written).toEqual([]);
  });
});

describe("401s with another cause", () => {
  it("of old and new pods revert nothing", async () => {
    const scene = await changed(1);
    scene.setLogs("persistent");
    expect((await scene.pass()).message).not.toContain("reverting");
    scene.setLogs("quiet", 3607);
    expect((await scene.pass()).message).toContain("reverting the template change");
  });

  it("of pods that also have a longer token count as those of old pods", async () => {
    const scene = await changed(0);
    scene.podList = scene.podList.map(pod => ({ ...pod, tokenExpirationSeconds: 600 }));
    scene.setLogs("persistent");
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Rolling" });
  });

  it("of pods that are being deleted are ignored", async () => {
    const scene = await changed();
    await scene.pass();
    scene.podList = scene.podList.map(pod => ({ ...pod, deletedAtMs: 1 }));
    scene.setLogs("persistent", 600);
    await scene.pass();
    expect(scene.entry()?.outcome).not.toBe("Reverting");
  });

  it("that end before the revert, as in Observe mode, cancel it", async () => {
    const scene = await changed();
    await scene.pass();
    await scene.clock.run(11 * MINUTE);
    scene.object.spec.mode = "Observe";
    scene.setLogs("persistent", 600);
    await scene.pass();
    await scene.pass();
    scene.object.spec.mode = "Enforce";
    scene.setLogs("quiet");
    await scene.pass();
    expect(written(scene).filter(line => line.includes("Restored"))).toEqual([]);
  });

  it("of an earlier template do not revert the current one", async () => {
    const scene = await changed();
    await scene.pass();
    scene.setLogs("persistent", 600);
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Reverting" });
    const own = scene.set();
    const template = structuredClone(own.template) as typeof PLAIN;
    template.spec.containers[0]!.image = "agent:2";
    scene.put("agent", template);
    await scene.pass();
    expect(written(scene).filter(line => line.includes("Restored"))).toEqual([]);
  });
});

describe("a reverted change", () => {
  async function reverted(): Promise<Scene> {
    const scene = await changed();
    scene.object.spec.targets.pop();
    await scene.pass();
    scene.setLogs("persistent", 600);
    await scene.pass();
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Reverted" });
    expect(scene.entry()).not.toHaveProperty("appliedTime");
    return scene;
  }

  it("is remembered while the skip annotation is set", async () => {
    const scene = await reverted();
    scene.roll("agent", 3607);
    edit(scene, { skip: true });
    await scene.pass();
    edit(scene, { skip: false });
    scene.setLogs("quiet");
    for (let i = 0; i < 4; i++) await scene.pass();
    expect(written(scene).filter(line => line.startsWith("agent"))).toHaveLength(2);
  });

  it("proves nothing about the next template, whose old pods still get 401s", async () => {
    const scene = await reverted();
    scene.put("agent", rename("agent:2"));
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Waiting" });
    scene.roll("agent", 3607);
    scene.setLogs("quiet");
    await scene.pass();
    await scene.pass();
    expect(written(scene).filter(line => line.startsWith("agent"))).toHaveLength(3);
  });
});

describe("a shortened source of another owner", () => {
  const explicit = (expirationSeconds: number) => ({
    spec: {
      ...PLAIN.spec,
      volumes: [
        {
          name: "api",
          projected: { defaultMode: 420, sources: [{ serviceAccountToken: { path: "token", expirationSeconds } }] },
        },
      ],
      containers: [
        {
          ...PLAIN.spec.containers[0],
          volumeMounts: [{ name: "api", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" }],
        },
      ],
    },
  });

  it("is recorded, bounded and restored", async () => {
    const scene = new Scene();
    scene.put("agent", explicit(3600));
    scene.roll("agent", 3600);
    await scene.pass();
    expect(scene.entry()).toMatchObject({
      outcome: "Planned",
      previousExpirationSeconds: 3600,
      previous: [{ volume: "api", expirationSeconds: 3600 }],
    });
    await scene.pass();
    scene.roll("agent", 600);
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Bounded", previous: [{ volume: "api", expirationSeconds: 3600 }] });
    scene.setLogs("persistent", 600);
    await scene.pass();
    await scene.pass();
    expect(scene.set().template).toEqual(explicit(3600));
    expect(scene.entry()).toMatchObject({ outcome: "Reverted", changes: 1 });
  });

  it("is counted separately for each template of its owner", async () => {
    const scene = new Scene();
    for (const name of ["a", "b", "c"]) {
      const template = explicit(3600);
      scene.put("agent", { spec: { ...template.spec, nodeSelector: { name } } }, { ownedVolumes: [] });
      scene.roll("agent", 3600);
      await scene.pass();
      await scene.pass();
      scene.roll("agent", 600);
      await scene.pass();
    }
    expect(scene.written).toHaveLength(3);
    expect(scene.entry()).toMatchObject({ outcome: "Bounded", changes: 1 });
  });
});

describe("unreadable logs", () => {
  it("delay the change and are named", async () => {
    const scene = new Scene();
    scene.setLogs("unreadable");
    const decision = await scene.pass();
    expect(decision).toMatchObject({ reason: "Waiting", intents: [] });
    expect(decision.message).toContain("the logs of its pods are unreadable");
  });
});

describe("a DaemonSet that is recreated", () => {
  it("stays reverted while it has the same template", async () => {
    const scene = await changed();
    scene.object.spec.targets.pop();
    await scene.pass();
    scene.setLogs("persistent", 600);
    await scene.pass();
    await scene.pass();
    scene.sets.delete("agent");
    scene.put("agent", PLAIN, { uid: "uid-2" });
    scene.podList = [];
    expect(await scene.pass()).toMatchObject({ reason: "Reverted", intents: [] });
    expect(scene.entry()).toMatchObject({ outcome: "Reverted", uid: "uid-2" });
    scene.put("agent", rename("agent:2"), { updatedPods: 3 });
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Planned" });
  });

  it("inherits nothing else from its predecessor", async () => {
    const scene = await changed();
    await scene.pass();
    scene.sets.delete("agent");
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Bounded" });
    scene.put("agent", PLAIN, { uid: "uid-2" });
    scene.podList = scene.podList.map(pod =>
      pod.owner?.name === "agent" ? { ...pod, owner: { ...pod.owner, uid: "uid-2" } } : pod,
    );
    scene.sets.set("agent", { ...scene.set(), updatedPods: 3 });
    scene.roll("other", 3607);
    await scene.pass();
    expect(scene.entry()).toMatchObject({ uid: "uid-2", changes: 0 });
    expect(scene.entry()).not.toHaveProperty("appliedTime");
  });
});
