import type { Mode } from "../../core/mode";
import { describe, expect, it } from "vitest";
import type { DaemonSetStatus } from "../../api/controller-resilience";
import { PLAIN, Scene } from "./testing/scene";

const MINUTE = 60_000;

/** Runs passes until the template was changed and all pods were replaced. */
async function changed(scene = new Scene()): Promise<Scene> {
  await scene.pass();
  await scene.pass();
  await scene.clock.run(MINUTE);
  scene.roll("agent", 600);
  return scene;
}

/** Removes the change from status. */
function forgetChange(scene: Scene, over: Partial<DaemonSetStatus>): void {
  const entry = { ...scene.entry()!, changes: 0, ...over };
  delete entry.appliedTime;
  scene.object = { ...scene.object, status: { ...scene.object.status!, daemonSets: [entry] } };
}

const json = (value: unknown): string => JSON.stringify(value);

describe("a DaemonSet whose pods have the default token", () => {
  it("is recorded, then gets the explicit volume, and is bounded after its pods are replaced", async () => {
    const scene = new Scene();
    expect(await scene.pass()).toMatchObject({
      status: "False",
      reason: "Planned",
      intents: [],
      recheckAfterMs: 1_000,
    });
    expect(scene.entry()).toMatchObject({ outcome: "Planned", changes: 0, generation: 1 });
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "Rolling", progressing: true });
    expect(scene.written).toMatchObject([
      {
        verb: "apply",
        target: { kind: "DaemonSet", namespace: "team", name: "agent", uid: "uid-agent", resourceVersion: "1" },
        eventReason: "TokenLifetimeShortened",
      },
    ]);
    expect(json(scene.set().template)).toContain('"expirationSeconds":600');
    expect(scene.entry()).toMatchObject({ outcome: "Rolling", changes: 1, appliedTime: "2025-01-01T00:00:00Z" });
    const podList = scene.podList;
    scene.podList = [];
    expect((await scene.pass()).message).toContain("0 of 3 pods have tokens bounded to 10m");
    scene.podList = podList;
    scene.roll("agent", 600, 2);
    const rolling = await scene.pass();
    expect(rolling.message).toContain("2 of 3 pods have tokens bounded to 10m");
    scene.roll("agent", 600, 3);
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Bounded", intents: [] });
    expect(scene.entry()).toMatchObject({ outcome: "Bounded", changes: 1 });
    await scene.pass();
    expect(scene.written).toHaveLength(1);
  });

  it.each<[Mode, string]>([
    ["Observe", "in Enforce mode the operator would change its template"],
    ["OperatorObserves", "the operator runs with --mode=Observe, else it would change its template"],
    [
      "NamespaceSkipped",
      "the Namespace has the annotation controller-resilience.io/skip, else the operator would change its template",
    ],
  ])("is only reported in mode %s", async (mode, words) => {
    const scene = new Scene();
    scene.judged = mode;
    await scene.pass();
    const pass = await scene.pass();
    expect(pass).toMatchObject({ status: "False", reason: "WouldChange", intents: [{ verb: "apply" }] });
    expect(pass.message).toContain(words);
    expect(scene.written).toEqual([]);
  });

  it("is reported with a warning when a client in the cluster uses stale tokens", async () => {
    const scene = new Scene();
    scene.stale = 12;
    expect((await scene.pass()).message).toContain("serviceaccount_stale_tokens_total");
    const calm = new Scene();
    calm.stale = 0;
    expect((await calm.pass()).message).not.toContain("serviceaccount_stale_tokens_total");
  });

  it.each([
    ["the operator crashed between the change and its record", "Planned"],
    ["the answer to the change was lost", "Waiting"],
  ] as const)("counts as changed when %s", async (_, outcome) => {
    const scene = await changed();
    forgetChange(scene, { outcome });
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Bounded", changes: 1, appliedTime: "2025-01-01T00:01:00Z" });
    expect(scene.written).toHaveLength(1);
  });

  it("does not count as changed when another change was waiting", async () => {
    const scene = await changed();
    forgetChange(scene, { outcome: "Waiting", generation: 0 });
    await scene.pass();
    expect(scene.entry()).toMatchObject({ outcome: "Bounded", changes: 0 });
  });
});

describe("no change is made", () => {
  it.each([
    ["AutomountOff", "True", { spec: { ...PLAIN.spec, automountServiceAccountToken: false } }],
    ["WindowsNodes", "False", { spec: { ...PLAIN.spec, os: { name: "windows" } } }],
  ])("of a template with %s", async (reason, status, template) => {
    const scene = new Scene();
    scene.put("agent", template);
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status, reason, intents: [] });
    expect(decision.message).toMatch(/^DaemonSet agent unchanged: its pods [^.]+\.$/);
    expect(scene.entry()).toMatchObject({ outcome: "LeftAlone" });
  });

  it("if the ServiceAccount mounts no token", async () => {
    const scene = new Scene();
    scene.account = { ...scene.account, automount: false };
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "AutomountOff" });
  });

  it("if updateStrategy is OnDelete", async () => {
    const scene = new Scene();
    scene.put("agent", PLAIN, { updateStrategy: "OnDelete" });
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "OnDeleteStrategy", intents: [] });
  });

  it("if a controller owns it, which would revert the template", async () => {
    const scene = new Scene();
    scene.put("agent", PLAIN, { owner: { kind: "Installation", name: "default", uid: "i" }, updatedPods: 3 });
    for (let i = 0; i < 3; i++) {
      const { message } = await scene.pass();
      expect(message).toContain("Installation default owns it and would revert a template change");
    }
    expect(await scene.pass()).toMatchObject({
      status: "False",
      reason: "OwnedByController",
      stalled: { reason: "OwnedByController" },
    });
    expect(scene.entry()).toMatchObject({ outcome: "LeftAlone" });
    expect(scene.written).toEqual([]);
  });

  it("by a controller's DaemonSet, unless an earlier change is to be restored", async () => {
    const scene = await changed();
    await scene.pass();
    scene.sets.set("agent", { ...scene.set(), owner: { kind: "Installation", name: "default", uid: "i" } });
    scene.object.spec.tokenLifetime!.defaultToken = "Leave";
    for (let i = 0; i < 3; i++) await scene.pass();
    expect(json(scene.set().template)).toBe(json(PLAIN));
  });

  it("with the skip annotation", async () => {
    const scene = new Scene();
    scene.put("agent", PLAIN, { skip: true });
    expect(await scene.pass()).toMatchObject({ status: "True", intents: [] });
  });

  it("during another rollout", async () => {
    const scene = new Scene();
    scene.put("agent", PLAIN);
    expect(await scene.pass()).toMatchObject({ reason: "Waiting", progressing: true, intents: [] });
  });

  it.each(["suspected", "persistent", "unread"] as const)("while the logs of its pods are %s", async verdict => {
    const scene = new Scene();
    scene.setLogs(verdict);
    expect(await scene.pass()).toMatchObject({ reason: "Waiting", intents: [] });
    scene.setLogs("quiet");
    await scene.pass();
    await scene.pass();
    expect(scene.written).toHaveLength(1);
  });

  it("of a second DaemonSet while the first replaces its pods", async () => {
    const scene = new Scene();
    scene.object.spec.targets.push({ kind: "DaemonSet", name: "other" });
    scene.put("other", PLAIN);
    scene.roll("other", 3607);
    await scene.pass();
    await scene.pass();
    expect(scene.written.map(({ target }) => target.name)).toEqual(["agent"]);
    await scene.pass();
    expect(scene.written).toHaveLength(1);
    scene.roll("agent", 600);
    await scene.pass();
    await scene.pass();
    await scene.pass();
    expect(scene.written.map(({ target }) => target.name)).toEqual(["agent", "other"]);
  });

  it("if the targets contain no DaemonSet, or it does not exist", async () => {
    const scene = new Scene();
    scene.sets.clear();
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "TargetNotFound" });
    scene.object.spec.targets = [{ kind: "Deployment", name: "web" }];
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "NoDaemonSets" });
  });
});

describe("401s after the change", () => {
  it("revert it after the revert is recorded, and it is not retried for that template", async () => {
    const scene = await changed();
    const before = json(PLAIN);
    await scene.pass();
    scene.setLogs("persistent", 600);
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "Reverting", intents: [] });
    expect(scene.entry()).toMatchObject({ outcome: "Reverting" });
    await scene.pass();
    expect(scene.written.map(({ eventReason }) => eventReason)).toEqual([
      "TokenLifetimeShortened",
      "TokenLifetimeRestored",
    ]);
    expect(json(scene.set().template)).toBe(before);
    scene.roll("agent", 3607);
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "Reverted", stalled: { reason: "Reverted" } });
    scene.object = { ...scene.object, metadata: { ...scene.object.metadata, generation: 2 } };
    expect(await scene.pass()).toMatchObject({ reason: "Reverted", intents: [] });
    const image = { name: "main", image: "agent:2" };
    scene.put("agent", { spec: { ...PLAIN.spec, containers: [image] } });
    scene.roll("agent", 3607);
    await scene.pass();
    await scene.pass();
    expect(scene.written).toHaveLength(3);
  });

  it("of a pod that is older than its ServiceAccount have another cause", async () => {
    const scene = await changed();
    scene.setLogs("persistent", 600);
    scene.account = { ...scene.account, createdAtMs: scene.clock.now().getTime() + 1 };
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Bounded" });
  });

  it("of pods with the old token have another cause", async () => {
    const scene = new Scene();
    await scene.pass();
    await scene.pass();
    scene.roll("agent", 600, 1);
    scene.setLogs("persistent", 3607);
    expect(await scene.pass()).toMatchObject({ reason: "Rolling", intents: [] });
  });

  it("that are only suspected change nothing", async () => {
    const scene = await changed();
    scene.setLogs("suspected", 600);
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Bounded" });
  });

  it("long after it have another cause", async () => {
    const scene = await changed();
    await scene.pass();
    await scene.clock.run(90 * MINUTE);
    scene.setLogs("persistent", 600);
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Bounded" });
  });
});

describe("a rollout", () => {
  it("that is stuck is reported and changes nothing more", async () => {
    const scene = new Scene();
    await scene.pass();
    await scene.pass();
    await scene.clock.run(5 * MINUTE);
    scene.roll("agent", 600, 1);
    await scene.clock.run(10 * MINUTE);
    expect(await scene.pass()).toMatchObject({ reason: "Rolling" });
    await scene.clock.run(MINUTE);
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "RolloutStuck", intents: [] });
    expect(scene.entry()).toMatchObject({ outcome: "Stuck" });
  });
});

describe("a change that another manager reverts", () => {
  it("is made twice, and again only after the object changes", async () => {
    const scene = await changed();
    await scene.pass();
    const takeBack = (): void => {
      scene.put("agent", PLAIN, { ownedVolumes: [] });
      scene.roll("agent", 3607);
    };
    takeBack();
    await scene.pass();
    await scene.pass();
    expect(scene.written).toHaveLength(2);
    takeBack();
    await scene.pass();
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "FieldContested", intents: [] });
    expect(decision.message).toContain("field manager argocd-controller");
    expect(scene.written).toHaveLength(2);
    scene.object = { ...scene.object, metadata: { ...scene.object.metadata, generation: 2 } };
    await scene.pass();
    await scene.pass();
    expect(scene.written).toHaveLength(3);
  });
});

describe("a change that fails", () => {
  it("is reported and not counted", async () => {
    const scene = new Scene();
    await scene.pass();
    scene.outcome = { result: "Forbidden", message: "it needs a right" };
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "Forbidden" });
    expect(scene.entry()).toMatchObject({ outcome: "Planned", changes: 0 });
    scene.outcome = { result: "Failed", message: "no answer" };
    await scene.pass();
    expect((await scene.pass()).message).toContain("Pending: apply DaemonSet agent: no answer.");
    expect(scene.entry()).toMatchObject({ outcome: "Planned", changes: 0 });
  });

  it("does not block another DaemonSet", async () => {
    const scene = new Scene();
    scene.object.spec.targets.push({ kind: "DaemonSet", name: "other" });
    scene.put("other", PLAIN);
    scene.roll("other", 3607);
    scene.outcome = { result: "Forbidden", message: "a policy says no" };
    const tried = new Set<string>();
    for (let i = 0; i < 6; i++) for (const { target } of (await scene.pass()).intents) tried.add(target.name);
    expect([...tried].sort()).toEqual(["agent", "other"]);
  });
});
