import { describe, expect, it } from "vitest";
import type { DaemonSetView } from "../../core/views";
import { bounded, PLAIN, Scene, tried, withImage, withToken } from "./testing/scene";

// A change of a template from its plan to its end, where nothing is wrong with the shorter token.

const MINUTE = 60_000;

const applied = ({ written }: Scene): string[] =>
  written.filter(({ verb }) => verb === "apply").map(({ target }) => target.name);

describe("a DaemonSet whose pods have the default token", () => {
  it("is recorded, then tried on one node, then rolled out, and is bounded at the end", async () => {
    const scene = new Scene();
    expect(await scene.pass()).toMatchObject({
      status: "False",
      reason: "Rolling",
      intents: [],
      recheckAfterMs: 1_000,
    });
    expect(scene.entry()).toMatchObject({ outcome: "Planned" });
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "Rolling", progressing: true });
    expect(scene.written).toMatchObject([
      {
        verb: "apply",
        target: { kind: "DaemonSet", namespace: "team", name: "agent", uid: "uid-agent", resourceVersion: "1" },
        eventReason: "TokenLifetimeShortened",
      },
    ]);
    expect(JSON.stringify(scene.set().template)).toContain('"expirationSeconds":600');
    expect(scene.entry()).toMatchObject({ outcome: "Trial", appliedTime: "2025-01-01T00:00:00Z" });
    await tried(scene);
    expect(scene.entry()).toMatchObject({ outcome: "Rolling" });
    const podList = scene.podList;
    scene.podList = [];
    expect((await scene.pass()).message).toContain("0 of 3 pods have tokens bounded to 10m");
    scene.podList = podList;
    scene.roll("agent", 600, 1);
    expect((await scene.pass()).message).toContain("2 of 3 pods have tokens bounded to 10m");
    scene.roll("agent", 600, 3);
    const end = { status: "True", reason: "Bounded", intents: [], needsCleanup: false };
    expect(await scene.pass()).toMatchObject(end);
    expect(scene.entry()).toMatchObject({ outcome: "Bounded" });
    expect(scene.set()).toMatchObject({ updateStrategy: "RollingUpdate", ownsUpdateStrategy: false });
    await scene.pass();
    expect(scene.lines).toEqual(["apply DaemonSet", "evict Pod", "apply DaemonSet"]);
  });

  it("is only reported where the operator may only observe", async () => {
    const scene = new Scene();
    scene.judged = "OperatorObserves";
    await scene.pass();
    const pass = await scene.pass();
    expect(pass).toMatchObject({ status: "False", reason: "WouldChange", intents: [{ verb: "apply" }] });
    expect(pass.message).toContain("runs with --mode=Observe, else it would change its template");
    await scene.clock.run(90 * MINUTE);
    expect((await scene.pass()).stalled).toBeUndefined();
    expect(scene.written).toEqual([]);
  });
});

describe("no change is made", () => {
  const NOTHING = { status: "True", reason: "NothingToDo" };
  const left = (scene: Scene, more: object): void => scene.put("agent", { spec: { ...PLAIN.spec, ...more } });
  const owner = { kind: "Installation", name: "default", uid: "i" };
  const unsupported = (words: string) => {
    return { status: "False", reason: "Unsupported", stalled: { message: expect.stringContaining(words) as string } };
  };
  const web = { kind: "Deployment", name: "web" } as const;

  it.each<[string, (scene: Scene) => void, object]>([
    ["if its template mounts no token", scene => left(scene, { automountServiceAccountToken: false }), NOTHING],
    ["on Windows", it => left(it, { os: { name: "windows" } }), unsupported("unchanged: its pods run on Windows")],
    ["if the ServiceAccount mounts no token", scene => Object.assign(scene.account, { automount: false }), NOTHING],
    ["if updateStrategy is OnDelete", scene => scene.edit({ updateStrategy: "OnDelete" }), unsupported("OnDelete")],
    ["if a controller owns it, which would revert it", scene => scene.edit({ owner }), unsupported("owns it")],
    [
      "if a controller owns it, which would revert another updateStrategy, too",
      scene => scene.edit({ owner, updateStrategy: "OnDelete", maxUnavailable: "100%" }),
      unsupported("owns it"),
    ],
    ["with the skip annotation", scene => scene.edit({ skip: true }), NOTHING],
    ["if it does not exist", scene => scene.sets.clear(), { status: "False", reason: "TargetNotFound" }],
    ["if the targets contain no DaemonSet", scene => (scene.object.spec.targets = [web]), NOTHING],
  ])("%s", async (_, arrange, expected) => {
    const scene = new Scene();
    arrange(scene);
    for (let i = 0; i < 3; i++) expect(await scene.pass()).toMatchObject({ ...expected, intents: [] });
    expect(scene.written).toEqual([]);
  });

  it.each<[number, Partial<DaemonSetView>, number, number]>([
    [3, { maxUnavailable: "100%" }, 3, 1],
    [3, { maxUnavailable: 2 }, 2, 1],
    [10, { maxUnavailable: "11%" }, 2, 1],
    [25, { maxUnavailable: 4 }, 4, 3],
    [200, { maxUnavailable: "33%" }, 66, 20],
    [3, { maxUnavailable: 0, maxSurge: "50%" }, 2, 1],
    [3, { maxUnavailable: "many" }, 3, 1],
  ])("if %i pods are replaced too many at once, by %j", async (replicas, view, atOnce, most) => {
    const scene = new Scene();
    scene.edit({ replicas, updatedPods: replicas, availablePods: replicas, ...view });
    await scene.pass();
    const decision = await scene.pass();
    expect(decision).toMatchObject({ reason: "Unsupported", intents: [], stalled: { reason: "Unsupported" } });
    expect(decision.message).toContain(`replaces ${atOnce} pods at once, and the operator accepts at most ${most} of`);
    expect(scene.entry()).toMatchObject({ outcome: "LeftAlone" });
  });
});

describe("a change that waits", () => {
  it.each<[string, (scene: Scene) => void, string]>([
    ["a rollout in progress", scene => scene.edit({ updatedPods: 1 }), "a rollout is in progress"],
    ["suspected 401s", scene => scene.setLogs("suspected"), "its pods already get 401 responses"],
    ["401s of its pods", scene => scene.setLogs("persistent"), "its pods already get 401 responses"],
    ["logs that were not read", scene => scene.setLogs("unread"), "the logs of its pods have not been read yet"],
    ["unreadable logs", scene => scene.setLogs("unreadable"), "the logs of its pods are unreadable"],
    ["a ServiceAccount that is missing", scene => (scene.hasAccount = false), "its ServiceAccount agent is missing"],
  ])("for %s is Stalled after an hour, and goes on afterwards", async (_, hinder, cause) => {
    const scene = new Scene();
    hinder(scene);
    expect(await scene.pass()).toMatchObject({ reason: "Waiting", progressing: true, intents: [] });
    expect(scene.entry()).toMatchObject({ outcome: "Waiting", waitStartTime: "2025-01-01T00:00:00Z" });
    await scene.clock.run(59 * MINUTE);
    expect((await scene.pass()).stalled).toBeUndefined();
    await scene.clock.run(MINUTE);
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", progressing: false, stalled: { reason: "Waiting" } });
    expect(decision.message).toContain(cause);
    expect(decision.message).toContain(". Waiting since 2025-01-01T00:00:00Z: remove what delays it");
    expect((await scene.pass()).message).toBe(decision.message);
    scene.edit({ updatedPods: 3 });
    scene.setLogs("quiet");
    scene.hasAccount = true;
    await scene.pass();
    await scene.pass();
    expect(scene.written).toHaveLength(1);
    expect(scene.entry()).not.toHaveProperty("waitStartTime");
  });

  it("for the rollout of another object says so, and is Stalled after an hour", async () => {
    const scene = new Scene();
    const detail = "waiting for the rollout of DaemonSet/cni by kube-system/cni";
    scene.outcome = { result: "Limited", limit: "Rollout", retryAfterMs: 10_000, detail };
    await scene.pass();
    const decision = await scene.pass();
    expect(decision).toMatchObject({ reason: "Waiting", progressing: true });
    expect(decision.message).toContain(`apply DaemonSet agent: ${detail}`);
    await scene.clock.run(61 * MINUTE);
    expect((await scene.pass()).stalled).toMatchObject({ reason: "Waiting" });
    scene.outcome = undefined;
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Trial" });
  });

  it("is made after the first DaemonSet of the object has replaced its pods", async () => {
    const scene = await tried(new Scene().addAnother());
    for (let i = 0; i < 3; i++) await scene.pass();
    expect(new Set(applied(scene))).toEqual(new Set(["agent"]));
    scene.roll("agent", 600);
    for (let i = 0; i < 3; i++) await scene.pass();
    expect(applied(scene).at(-1)).toBe("other");
  });
});

it("a trial whose record a crash has lost blocks changes of other DaemonSets", async () => {
  const scene = new Scene().addAnother();
  await scene.pass();
  await scene.passAndCrash();
  expect(applied(scene)).toEqual(["agent"]);
  for (let i = 0; i < 4; i++) await scene.pass();
  expect(applied(scene)).not.toContain("other");
});

describe("a rollout after the trial", () => {
  /** One of three pods has the shorter token; another DaemonSet waits. */
  async function rolling(): Promise<Scene> {
    const scene = await tried();
    scene.roll("agent", 600, 1);
    return scene.addAnother();
  }

  it("that is stuck is reported, also while a pod flaps", async () => {
    const scene = await rolling();
    await scene.clock.run(9 * MINUTE);
    expect(await scene.pass()).toMatchObject({ reason: "Rolling" });
    await scene.clock.run(2 * MINUTE);
    const stuck = await scene.pass();
    expect(stuck).toMatchObject({ status: "False", reason: "RolloutStuck" });
    expect(stuck.message).toContain("kubectl describe the DaemonSet");
    expect(scene.entry()).toMatchObject({ outcome: "Rolling" });
    for (let i = 0; i < 4; i++) {
      await scene.clock.run(4 * MINUTE);
      const readySinceMs = scene.clock.now().getTime();
      scene.podList = scene.podList.map(pod => ({ ...pod, ready: false, readySinceMs }));
      expect((await scene.pass()).reason).toBe("RolloutStuck");
    }
  });

  it.each<[string, boolean, (scene: Scene) => void, number]>([
    ["that goes on", true, () => undefined, 9],
    ["of a set with the skip annotation", true, scene => scene.edit({ skip: true }), 9],
    ["whose token is to stay", true, ({ object }) => void (object.spec.tokenLifetime!.defaultToken = "Leave"), 9],
    ["that is stuck", false, () => undefined, 20],
    ["that is stuck, with the skip annotation", false, scene => scene.edit({ skip: true }), 20],
  ])("%s blocks changes of other DaemonSets: %s", async (_, blocks, then, minutes) => {
    const scene = await rolling();
    then(scene);
    await scene.pass();
    await scene.clock.run(minutes * MINUTE);
    for (let i = 0; i < 4; i++) await scene.pass();
    expect(applied(scene).includes("other")).toBe(!blocks);
  });

  it("that was stuck makes no wait of another template Stalled at once", async () => {
    const scene = await tried();
    scene.roll("agent", 600, 1);
    await scene.clock.run(20 * MINUTE);
    expect((await scene.pass()).reason).toBe("RolloutStuck");
    await scene.clock.run(61 * MINUTE);
    await scene.pass();
    scene.put("agent", withImage(PLAIN, "agent:2"), { ownedVolumes: [], availablePods: 2 });
    expect((await scene.pass()).stalled).toBeUndefined();
    expect(scene.entry()).toMatchObject({ outcome: "Waiting" });
  });

  it("that restores a template lasts until all pods are replaced, and others are restored after it", async () => {
    const scene = (await bounded()).addAnother();
    for (let i = 0; i < 100 && scene.entry("other")?.outcome !== "Rolling"; i++) {
      await scene.pass();
      await scene.clock.run(10_000);
    }
    scene.roll("other", 600);
    await scene.pass();
    scene.object.spec.tokenLifetime!.defaultToken = "Leave";
    for (let i = 0; i < 4; i++) await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Rolling" });
    expect(scene.set("other").template).not.toEqual(PLAIN);
    scene.setLogs("persistent", 600);
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Rolling" });
    scene.setLogs("quiet");
    scene.roll("agent", 3607);
    for (let i = 0; i < 4; i++) await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "LeftAlone" });
    expect(scene.set("other").template).toEqual(PLAIN);
    await scene.clock.run(20 * MINUTE);
    expect(await scene.pass()).toMatchObject({ reason: "RolloutStuck", stalled: { reason: "RolloutStuck" } });
  });

  it("that the owner of the manifest has begun is reported when it is stuck, too", async () => {
    const scene = new Scene();
    scene.put("agent", withToken(600));
    scene.edit({ observedGeneration: 1 });
    await scene.clock.run(20 * MINUTE);
    expect(await scene.pass()).toMatchObject({ reason: "Rolling" });
    scene.edit({ observedGeneration: 2 });
    scene.podList = scene.podList.map((pod, i) => (i > 0 ? pod : { ...pod, deletedAtMs: scene.nowMs }));
    expect(await scene.pass()).toMatchObject({ reason: "Rolling" });
    await scene.clock.run(11 * MINUTE);
    expect(await scene.pass()).toMatchObject({ reason: "RolloutStuck", stalled: { reason: "RolloutStuck" } });
    scene.roll("agent", 600);
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Bounded" });
  });

  it("that is stuck can be taken back immediately, also if a controller owns the DaemonSet now", async () => {
    const scene = await rolling();
    await scene.clock.run(20 * MINUTE);
    expect((await scene.pass()).reason).toBe("RolloutStuck");
    scene.edit({ owner: { kind: "Installation", name: "default", uid: "i" } });
    scene.object.spec.tokenLifetime!.defaultToken = "Leave";
    for (let i = 0; i < 3; i++) await scene.pass();
    expect(scene.set().template).toEqual(PLAIN);
  });

  it.each<[string, (scene: Scene) => void]>([
    ["is gone", scene => void scene.sets.delete("agent")],
    ["is no target any more", scene => void scene.object.spec.targets.splice(0, 1)],
  ])("does not count for ever if the DaemonSet %s", async (_, then) => {
    const scene = await rolling();
    then(scene);
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Waiting" });
  });
});

describe("a bounded DaemonSet", () => {
  it("stays bounded during other rollouts", async () => {
    const scene = await bounded();
    await scene.clock.run(5 * 60 * MINUTE);
    scene.edit({ availablePods: 2 });
    expect((await scene.pass()).message).toContain("DaemonSet agent: tokens bounded to 10m.");
    expect(scene.entry()).toMatchObject({ outcome: "Bounded" });
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

  it("that is recreated inherits nothing from its predecessor", async () => {
    const scene = await bounded();
    scene.sets.delete("agent");
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Bounded" });
    scene.put("agent", PLAIN, { uid: "uid-2" });
    await scene.pass();
    expect(scene.entry()).toMatchObject({ uid: "uid-2" });
    expect(scene.entry()).not.toHaveProperty("appliedTime");
  });
});

describe("a change that another manager reverts", () => {
  it("is not repeated before the block changes", async () => {
    const scene = await bounded();
    await scene.clock.run(MINUTE);
    scene.put("agent", PLAIN, { ownedVolumes: [] });
    scene.roll("agent", 3607);
    const count = scene.written.length;
    await scene.pass();
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "Contested", intents: [] });
    expect(decision.message).toContain("field manager argocd-controller");
    expect(scene.written).toHaveLength(count);
    scene.ask();
    await scene.pass();
    await scene.pass();
    expect(scene.written).toHaveLength(count + 1);
  });

  it("is not repeated because the targets change, or because the object was suspended, but for another life", async () => {
    const scene = new Scene();
    await scene.run(4);
    scene.put("agent", PLAIN, { ownedVolumes: [] });
    await scene.run(30);
    scene.object.spec.targets.push({ kind: "Deployment", name: "web" });
    // Suspended and resumed.
    const { metadata } = scene.object;
    scene.object = { ...scene.object, metadata: { ...metadata, generation: metadata.generation + 2 } };
    await scene.run(30);
    expect(scene.last).toMatchObject({ reason: "Contested", stalled: { reason: "Contested" } });
    expect(scene.lines).toEqual(["apply DaemonSet", "evict Pod", "apply DaemonSet"]);
    scene.object.spec.tokenLifetime = { ...scene.object.spec.tokenLifetime!, expirationSeconds: 1_200 };
    await scene.run(30);
    expect(scene.lines.slice(3)).toEqual(["apply DaemonSet", "evict Pod"]);
  });

  it("is no such change with another template, as at each deployment by its owner", async () => {
    const scene = await bounded();
    await scene.clock.run(2 * MINUTE);
    scene.put("agent", withImage(PLAIN, "agent:2"), { ownedVolumes: [] });
    scene.roll("agent", 3607);
    expect((await bounded(scene)).entry()).toMatchObject({ outcome: "Bounded" });
  });

  it("is no such change while a watch that lags does not show it yet", async () => {
    const scene = new Scene();
    const before = scene.set();
    await scene.run(2);
    const after = scene.set();
    scene.sets.set("agent", before);
    expect(await scene.pass()).toMatchObject({ reason: "Rolling", intents: [] });
    scene.sets.set("agent", after);
    await scene.run(90);
    expect(scene.last).toMatchObject({ reason: "Bounded" });
  });
});

it("a refused change is reported, and does not block another DaemonSet", async () => {
  const scene = new Scene().addAnother();
  scene.outcome = { result: "Forbidden", message: "it needs a right" };
  const tried = new Set<string>();
  for (let i = 0; i < 6; i++) for (const { target } of (await scene.pass()).intents) tried.add(target.name);
  expect([...tried].sort()).toEqual(["agent", "other"]);
  expect(await scene.pass()).toMatchObject({ status: "False", reason: "Forbidden" });
  scene.outcome = { result: "Failed", message: "no answer" };
  expect((await scene.pass()).message).toContain("apply DaemonSet agent: no answer");
  expect(scene.entry()).toMatchObject({ outcome: "Planned" });
});
