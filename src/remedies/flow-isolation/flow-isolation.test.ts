import { describe, expect, it } from "vitest";
import { ForbiddenError, TransientError } from "../../core/errors";
import type { ClusterObjectView } from "../../core/views";
import { DEFAULTS, LEASES, provisioned, QUARANTINE_LEVEL, Scene, SHARED, throttled, throttling } from "./testing/scene";

const words = (scene: Scene): string[] =>
  scene.written.map(({ verb, target, eventReason }) => `${verb} ${target.kind} ${target.name} ${eventReason}`);

describe("a ServiceAccount of the targets", () => {
  it("gets a level, a flow, and a preceding flow for its leases, and is isolated once these are in effect", async () => {
    const scene = new Scene();
    expect(await scene.pass()).toMatchObject({
      status: "False",
      reason: "Progressing",
      progressing: true,
      needsCleanup: true,
    });
    const schema = scene.schema();
    expect(schema).toMatch(/^controller-resilience-team-app-[0-9a-f]{16}$/);
    expect(words(scene)).toEqual([
      `create PriorityLevelConfiguration ${SHARED} FlowProvisioned`,
      `create PriorityLevelConfiguration ${LEASES} FlowProvisioned`,
      `create FlowSchema ${schema} FlowProvisioned`,
      expect.stringMatching(/^create FlowSchema controller-resilience-leases-team-app-[0-9a-f]{16} FlowProvisioned$/),
    ]);
    expect(scene.written[0]?.why).toBe(`Creating PriorityLevelConfiguration ${SHARED}.`);
    const [, , own, leases] = scene.written.map(({ body }) => body);
    expect(own).toMatchObject({
      metadata: {
        labels: {
          "app.kubernetes.io/managed-by": "controller-resilience",
          "controller-resilience.io/owner-uid": "uid-of-it",
        },
        annotations: { "controller-resilience.io/owner": "team/it" },
      },
      spec: {
        distinguisherMethod: { type: "ByUser" },
        matchingPrecedence: 1000,
        priorityLevelConfiguration: { name: SHARED },
        rules: [
          {
            subjects: [{ kind: "ServiceAccount", serviceAccount: { namespace: "team", name: "app" } }],
            resourceRules: [
              { verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] },
            ],
            nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
          },
        ],
      },
    });
    expect(leases).toMatchObject({
      spec: {
        matchingPrecedence: 999,
        priorityLevelConfiguration: { name: LEASES },
        rules: [{ resourceRules: [{ verbs: ["get", "create", "update", "patch"], resources: ["leases"] }] }],
      },
    });
    expect(await scene.pass()).toMatchObject({
      status: "True",
      reason: "Isolated",
      intents: [],
      recheckAfterMs: 30_000,
    });
    expect(scene.entry()).toMatchObject({ flowSchema: schema, state: "Normal" });
  });

  it("precedes the built-in flow of kube-system in that namespace", async () => {
    const scene = new Scene({}, undefined, undefined, "kube-system/it");
    await scene.pass();
    const precedences = scene.written
      .slice(2)
      .map(({ body }) => (body as { spec: { matchingPrecedence: number } }).spec.matchingPrecedence);
    expect(precedences).toEqual([890, 889]);
  });

  it("has level workload-high of kube-system there, also after the shared level", async () => {
    const scene = new Scene({}, undefined, undefined, "kube-system/it");
    await provisioned(scene);
    expect(scene.level()).toBe(SHARED);
    addLevel(scene, "workload-high");
    await provisioned(scene);
    expect(await scene.pass()).toMatchObject({ reason: "Isolated", intents: [] });
    expect(scene.level()).toBe("workload-high");
  });

  it("loses its flows when it is no longer a target, or has the skip annotation", async () => {
    const scene = await provisioned(new Scene());
    scene.put("Deployment", "app", { skip: true });
    expect(await scene.pass()).toMatchObject({ intents: [{ verb: "delete" }, { verb: "delete" }] });
    await scene.pass();
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "NothingToDo", needsCleanup: false });
    expect(scene.world.cluster.size).toBe(0);
  });

  it("keeps its flows while its target is missing", async () => {
    const scene = await provisioned(new Scene());
    scene.world.workloads.clear();
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "TargetNotFound", intents: [] });
    expect(scene.entry()).toMatchObject({ flowSchema: scene.schema() });
  });
});

describe("more ServiceAccounts than an object isolates", () => {
  const labels = { app: "many" };
  const account = (i: number): string => `sa-${String(i).padStart(3, "0")}`;
  const crowd = (count: number): Scene => {
    const scene = throttling();
    scene.object.spec.targets = [{ kind: "Deployment", selector: { matchLabels: labels } }];
    for (let i = 0; i < count; i++) scene.put("Deployment", `d-${i}`, { labels, serviceAccountName: account(i) });
    return scene;
  };
  const isolated = (scene: Scene): string[] =>
    (scene.object.status?.flows ?? []).map(({ serviceAccount }) => serviceAccount);

  it("isolates 32, the first by name, and names the rest in the message", async () => {
    const scene = await provisioned(crowd(40));
    expect(isolated(scene)).toEqual(Array.from({ length: 32 }, (_, i) => account(i)));
    expect([...scene.world.cluster.keys()].filter(name => name.includes("sa-"))).toHaveLength(64);
    const decision = await scene.pass();
    expect(decision).toMatchObject({
      ...{ status: "False", reason: "TooMany", intents: [] },
      stalled: { reason: "TooMany" },
    });
    expect(decision.message).toContain(
      "8 ServiceAccounts are not isolated: an object isolates at most 32. Not isolated: sa-032, sa-033, sa-034, sa-035, sa-036 and 3 more.",
    );
  });

  it("keeps isolating the same ones when others come, and keeps a throttle", async () => {
    const scene = crowd(32);
    scene.perSecond.set(account(0), 5_000);
    await provisioned(scene);
    await scene.run(61);
    const before = isolated(scene);
    for (let i = 0; i < 5; i++) scene.put("Deployment", `a-${i}`, { labels, serviceAccountName: `a-${i}` });
    await scene.pass();
    expect(isolated(scene)).toEqual(before);
    expect(scene.level(account(0))).toBe(QUARANTINE_LEVEL);
    for (let i = 5; i < 8; i++) scene.world.workloads.delete(`Deployment/d-${i}`);
    await scene.pass();
    expect(isolated(scene)).toEqual(expect.arrayContaining(["a-0", "a-1", "a-2"]));
  });

  it("deletes the surplus flows that status has from the time before the limit", async () => {
    const scene = crowd(33);
    const flows = Array.from({ length: 33 }, (_, i) => ({ serviceAccount: account(i) }));
    scene.object = { ...scene.object, status: { flows } };
    await provisioned(scene);
    expect(isolated(scene)).toEqual(Array.from({ length: 32 }, (_, i) => account(i)));
  });
});

describe("nothing is done", () => {
  it("if the API server does not serve flow control in v1", async () => {
    const scene = new Scene();
    scene.isServed = false;
    await expect(scene.pass()).rejects.toThrow("does not serve FlowSchema in flowcontrol.apiserver.k8s.io/v1");
  });

  it.each([SHARED, LEASES])("to a foreign level of the name %s", async name => {
    const scene = new Scene();
    addLevel(scene, name);
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "LevelUnusable", intents: [], stalled: {} });
  });

  it("to a foreign FlowSchema, not even for a runaway", async () => {
    const scene = throttling();
    await provisioned(scene);
    scene.edit(scene.schema(), { labels: {} });
    expect(await scene.pass()).toMatchObject({ reason: "FlowShadowed", intents: [], stalled: {} });
    scene.perSecond.set("app", 5_000);
    await scene.run(120);
    expect(scene.written).toEqual([]);
    expect(scene.entry()).toMatchObject({ state: "Normal" });
  });
});

function addLevel(scene: Scene, name: string): void {
  scene.add("PriorityLevelConfiguration", name, { type: "Limited" });
}

describe("a change by another client", () => {
  const spoilt = { spec: {} };

  const made = `ServiceAccount app gets its own flow on level ${SHARED}.`;
  const different = `PriorityLevelConfiguration ${SHARED} is different; restoring it.`;
  const restored = "ServiceAccount app gets its FlowSchemas restored on level controller-resilience-shared.";

  it.each<[string, string, (scene: Scene) => void]>([
    ["a FlowSchema", restored, scene => scene.edit(scene.schema(), spoilt)],
    ["a FlowSchema's annotations", restored, scene => scene.edit(scene.schema(), { annotations: {} })],
    ["a FlowSchema that is deleted", made, scene => void scene.world.cluster.delete(scene.schema())],
    ["a level", different, scene => scene.edit(SHARED, spoilt)],
  ])("is reverted if it is %s", async (what, why, change) => {
    const scene = await provisioned(new Scene());
    change(scene);
    await scene.pass();
    expect(scene.written).toMatchObject([{ eventReason: "FlowProvisioned", why }]);
    expect(await scene.pass(), what).toMatchObject({ reason: "Isolated" });
  });
});

describe("what the API server takes too long for", () => {
  const own = (scene: Scene): string => scene.schema();

  it.each<[string, (scene: Scene) => string, (ms: number) => Partial<ClusterObjectView>, string]>([
    ["a FlowSchema that is dangling", own, createdAtMs => ({ isDangling: true, createdAtMs }), "LevelUnusable"],
    [
      "a FlowSchema that it does not know yet",
      own,
      createdAtMs => ({ isDangling: undefined, createdAtMs }),
      "Progressing",
    ],
    ["the deletion of a FlowSchema", own, deletedAtMs => ({ deletedAtMs }), "Progressing"],
    ["the deletion of a level", () => SHARED, deletedAtMs => ({ deletedAtMs }), "Progressing"],
  ])("is awaited, and Stalled after ten minutes: %s", async (_, nameIn, over, reason) => {
    const scene = await provisioned(new Scene());
    scene.edit(nameIn(scene), over(scene.clock.now().getTime()));
    expect(await scene.run(590)).toMatchObject({ status: "False", reason, progressing: true, intents: [] });
    expect(await scene.run(30)).toMatchObject({ progressing: false, stalled: { reason } });
  });

  it("is awaited anew where another writer's change was reverted", async () => {
    const scene = await provisioned(new Scene());
    await scene.run(600);
    scene.edit(own(scene), { annotations: {} });
    await scene.pass();
    scene.edit(own(scene), { isDangling: true });
    expect(await scene.run(590)).toMatchObject({ reason: "LevelUnusable", progressing: true });
    expect(await scene.run(30)).toMatchObject({ progressing: false });
  });

  it("is awaited anew by a new leader, which knows of no such change", async () => {
    const before = await provisioned(new Scene());
    before.edit(own(before), { isDangling: true });
    const scene = new Scene({}, before.clock, before.world);
    expect(await scene.run(590)).toMatchObject({ reason: "LevelUnusable", progressing: true });
    expect(await scene.run(30)).toMatchObject({ progressing: false, stalled: { reason: "LevelUnusable" } });
  });
});

describe("two objects that name the same ServiceAccount", () => {
  it("have a FlowSchema each, and one reports that the other's precedes it", async () => {
    const one = new Scene();
    const other = new Scene({}, one.clock, one.world, "team/that");
    await provisioned(one);
    await provisioned(other);
    const decisions = [await one.pass(), await other.pass()];
    expect(decisions.map(({ reason }) => reason).toSorted()).toEqual(["FlowShadowed", "Isolated"]);
    const first = one.schema() < other.schema() ? one : other;
    const shadowed = decisions.find(({ reason }) => reason === "FlowShadowed");
    expect(shadowed?.message).toContain(first.schema());
    expect(first.entry()).toHaveProperty("requestsPerSecond");
    expect((first === one ? other : one).entry()).not.toHaveProperty("requestsPerSecond");
    await first.cleanUp();
    expect(await (first === one ? other : one).pass()).toMatchObject({ reason: "Isolated" });
  });
});

describe("a level that objects share", () => {
  const others: [string, (scene: Scene) => void][] = [
    ["LevelUnusable", scene => addLevel(scene, SHARED)],
    ["FlowShadowed", scene => addSchemas(scene)],
  ];

  it.each(others)("is not created by an object with %s, only to be deleted by another", async (reason, spoil) => {
    const scene = throttling();
    const other = new Scene({}, scene.clock, scene.world, "team/that");
    spoil(scene);
    for (let i = 0; i < 3; i++) {
      expect(await scene.pass()).toMatchObject({ reason });
      await other.pass();
    }
    const written = [...words(scene), ...words(other)];
    expect(new Set(written).size).toBe(written.length);
    expect(written.filter(word => word.startsWith("delete"))).toEqual([]);
  });

  it("stays for the other's flows, also where those do not need it", async () => {
    const scene = await provisioned(throttling());
    const other = await provisioned(new Scene({}, scene.clock, scene.world, "team/that"));
    scene.change({ requestRate: { ...DEFAULTS.requestRate, onRunaway: "Report" } });
    await scene.run(20);
    expect(scene.world.cluster.has(QUARANTINE_LEVEL)).toBe(true);
    await scene.cleanUp();
    await other.pass();
    expect(scene.world.cluster.has(QUARANTINE_LEVEL)).toBe(true);
    await other.cleanUp();
    expect([...scene.world.cluster.keys()]).toEqual([]);
  });
});

/** Creates a foreign object with the name of its FlowSchema. */
function addSchemas(scene: Scene): void {
  scene.add("FlowSchema", scene.schema(), { priorityLevelConfiguration: { name: "workload-low" } });
}

const ALL = { verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true };

describe("another FlowSchema that precedes it", () => {
  const [inNamespaces, outside] = [
    { ...ALL, clusterScope: false },
    { ...ALL, namespaces: [] },
  ];
  const reads = { ...ALL, verbs: ["get", "list", "watch"] };
  const writes = { ...ALL, verbs: ["create", "update", "patch", "delete", "deletecollection"] };

  it.each<[string, object[][], string]>([
    ["takes all requests", [[ALL]], "FlowShadowed"],
    ["takes them by two rules", [[inNamespaces, outside]], "FlowShadowed"],
    ["takes them with another one", [[reads], [writes]], "FlowShadowed"],
    ["is for other verbs", [[reads]], "Isolated"],
    ["is for another namespace", [[{ ...ALL, namespaces: ["sandbox"] }]], "Isolated"],
    ["is for namespaces alone", [[inNamespaces]], "Isolated"],
  ])("is reported if it %s", async (_, schemas, reason) => {
    const scene = await provisioned(new Scene());
    const subjects = [{ kind: "Group", group: { name: "system:serviceaccounts" } }];
    for (const [i, resourceRules] of schemas.entries())
      scene.add("FlowSchema", `theirs-${i}`, { matchingPrecedence: 500, rules: [{ subjects, resourceRules }] });
    const decision = await scene.pass();
    expect(decision).toMatchObject({ reason });
    if (reason === "FlowShadowed") expect(decision.message).toContain("raise its matchingPrecedence above 1000");
  });
});

const APP = { kind: "ServiceAccount", serviceAccount: { namespace: "team", name: "app" } };

/** Another owner gives the ServiceAccount a FlowSchema, as Karpenter's documentation does. */
function addFlow(scene: Scene, precedence = 1_000, rule: object = ALL, subject: object = APP): void {
  scene.add("PriorityLevelConfiguration", "theirs", { limited: { nominalConcurrencyShares: 40 } });
  const subjects = [subject];
  scene.add("FlowSchema", "provisioner-workload", {
    ...{ matchingPrecedence: precedence, priorityLevelConfiguration: { name: "theirs" } },
    rules: [{ subjects, resourceRules: [rule] }],
  });
}

describe("a FlowSchema of another owner that names the ServiceAccount", () => {
  it.each([
    [2, ALL],
    [1_000, ALL],
    [9_000, ALL],
  ])("is respected and named, whatever comes first: precedence %d", async (precedence, rule) => {
    const scene = new Scene();
    addFlow(scene, precedence, rule);
    expect(await scene.run(40)).toMatchObject({ status: "True", reason: "Isolated" });
    expect((await scene.pass()).message).toContain("left to FlowSchema provisioner-workload (level theirs)");
    expect(scene.written).toEqual([]);
    expect(scene.object.status?.flows).toEqual([]);
  });

  it.each([
    { kind: "ServiceAccount", serviceAccount: { namespace: "team", name: "*" } },
    { kind: "Group", group: { name: "system:serviceaccounts:team" } },
  ])("is respected if it names all of the namespace: %j", async subject => {
    const scene = new Scene();
    addFlow(scene, 9_000, ALL, subject);
    expect(await scene.run(40)).toMatchObject({ status: "True", reason: "Isolated" });
    expect(scene.written).toEqual([]);
  });

  it("is respected also if it is a copy of the operator's own, with its labels", async () => {
    const scene = await provisioned(new Scene());
    const view = scene.world.cluster.get(scene.schema())!;
    const spec = { ...view.spec, priorityLevelConfiguration: { name: "exempt" } };
    scene.world.cluster.set("copy", { ...view, name: "copy", uid: "copy", spec });
    expect((await scene.run(40)).message).toContain("left to FlowSchema copy (level exempt)");
    expect(scene.world.cluster.has(scene.schema())).toBe(false);
    expect(scene.world.cluster.has("copy")).toBe(true);
  });

  it("is respected for a part of the requests, but no isolation of the others", async () => {
    const scene = new Scene();
    addFlow(scene, 9_000, { ...ALL, verbs: ["list"], resources: ["secrets"] });
    expect(await scene.run(40)).toMatchObject({ status: "False", reason: "FlowShadowed" });
    expect((await scene.pass()).message).toContain("made for a part of its requests: no other is isolated");
    expect(scene.written).toEqual([]);
  });

  it.each([2, 1_000, 9_000])("is no isolation while its level does not exist: precedence %d", async precedence => {
    const scene = new Scene();
    addFlow(scene, precedence);
    await scene.run(40);
    scene.world.cluster.delete("theirs");
    scene.edit("provisioner-workload", { isDangling: true });
    expect(await scene.run(40)).toMatchObject({ status: "True", reason: "Isolated" });
    expect(scene.level()).toBe(SHARED);
  });

  it.each([
    [100, undefined],
    [1_000, QUARANTINE_LEVEL],
  ])(
    "takes the place of a throttle, before its end only if it comes first: precedence %d",
    async (precedence, level) => {
      const scene = await throttled();
      addFlow(scene, precedence);
      await scene.run(60);
      expect(scene.level()).toBe(level);
      expect((await scene.run(260)).message).toContain("left to FlowSchema provisioner-workload");
      expect(scene.level()).toBeUndefined();
    },
  );
});

describe("the created objects are deleted with the ControllerResilience", () => {
  it("except for a foreign copy that has kept the labels", async () => {
    const scene = await provisioned(new Scene());
    const view = scene.world.cluster.get(scene.schema())!;
    for (const name of ["copy", `${view.name}-copy`]) scene.world.cluster.set(name, { ...view, name, uid: name });
    await scene.cleanUp();
    expect([...scene.world.cluster.keys()]).toEqual([SHARED, "copy", `${view.name}-copy`]);
  });

  it("which keeps its finalizer until the last level is deleted", async () => {
    const scene = await provisioned(new Scene());
    scene.put("Deployment", "app", { skip: true });
    await scene.pass();
    scene.outcome = { result: "Failed", message: "no" };
    expect(await scene.pass()).toMatchObject({ needsCleanup: true, intents: [{ verb: "delete" }, { verb: "delete" }] });
    scene.outcome = undefined;
    await scene.pass();
    expect(await scene.pass()).toMatchObject({ needsCleanup: false, intents: [] });
    expect(scene.world.cluster.size).toBe(0);
  });

  it("without a search if the right to list is missing and nothing was ever created", async () => {
    const scene = new Scene();
    scene.problem = new TransientError("the API server is slow");
    await expect(scene.cleanUp()).rejects.toThrow("slow");
    scene.problem = new ForbiddenError("cannot list flowschemas");
    await scene.cleanUp();
  });

  it("and known objects keep the finalizer while the right to list is missing", async () => {
    const scene = await provisioned(new Scene());
    scene.problem = new ForbiddenError("cannot list flowschemas");
    await expect(scene.cleanUp()).rejects.toThrow("cannot list flowschemas");
  });
});

describe("a write that fails", () => {
  it("is reported, and a missing right is Stalled", async () => {
    const scene = new Scene();
    scene.outcome = { result: "Forbidden", message: "cannot create flowschemas" };
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "Forbidden", stalled: { reason: "Forbidden" } });
    expect(decision.message).toContain("cannot create flowschemas");
    scene.outcome = { result: "Conflict", message: "it has changed" };
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "Progressing", progressing: true });
  });
});
