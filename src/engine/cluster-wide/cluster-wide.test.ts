import { describe, expect, it } from "vitest";
import type { ControllerResilience } from "../../api/controller-resilience";
import type { GaugeSample } from "../../core/metrics";
import { ForbiddenError, TerminalError, TransientError } from "../../core/errors";
import { beingDeleted, clusterObject, handWritten } from "./testing/fixtures";
import { ClusterWideWorld, startIn, workloadView } from "./testing/world";

function start(...namespaces: string[]): ClusterWideWorld {
  return startIn(new ClusterWideWorld(), ...namespaces);
}

/** With a full pass of an hour, so that only changes cause passes. */
function startSeldom(...namespaces: string[]): ClusterWideWorld {
  return startIn(new ClusterWideWorld({}, { fullPassMs: 3_600_000 }), ...namespaces);
}

const written = ({ intents }: ClusterWideWorld) =>
  intents.map(({ verb, target }) => `${verb} ${String(target.namespace)}/${target.name}`);

describe("the loop of ClusterControllerResiliences", () => {
  it("generates an object in each namespace, reports, and then rests", async () => {
    const world = start("a", "b");
    await world.run(10);
    expect(written(world)).toEqual(["create a/all", "create b/all"]);
    expect(world.status("all")).toMatchObject({ namespaces: 2, workloads: 4, protected: 4, objects: 2, conflicts: [] });
    expect(world.condition("all", "Ready")).toBe(
      "True/AllProtected: All 4 selected workloads in 2 namespaces are protected.",
    );
    expect(world.condition("all", "Covered")).toMatch(/^True\/AllProtected/);
    expect(world.metrics.loops).toEqual(["clustercontrollerresilience"]);
    expect(world.metrics.seen).toContain("reconciled:success");
    const { statusWrites } = world;
    await world.run(300);
    expect([world.intents.length, world.statusWrites]).toEqual([2, statusWrites]);
  });

  it("needs a person for what does not fit into the object of a namespace", async () => {
    const world = startSeldom();
    world.addNamespace(
      "a",
      Array.from({ length: 1_025 }, (_, i) => `Deployment/web-${i}`),
    );
    await world.run(20);
    expect(world.condition("all", "Stalled")).toMatch(/^True\/Refused: In namespace a: 1 selected workload is unprot/);
    expect(world.condition("all", "Reconciling")).toMatch(/^False/);
  });

  it("counts where it acts, and reports what a generated object says, without an Event of its own", async () => {
    const world = startSeldom("a");
    world.addNamespace("b", ["Deployment/web"], { stage: "one" });
    world.put(clusterObject("all", { enforce: { namespaceSelector: { matchLabels: { stage: "one" } } } }));
    await world.run(10);
    expect(world.status("all")).toMatchObject({ namespaces: 2, enforced: 1 });
    world.all.set("b", [{ ...world.objects("b")[0]!, status: { mode: "NamespaceSkipped" } }]);
    world.engine.namespaceChanged("b");
    await world.run(5);
    expect(world.status("all")).toMatchObject({ namespaces: 2, enforced: 0 });
    const bad = ["Ready", "Stalled"].map(type => ({
      ...{ type, status: type === "Ready" ? ("False" as const) : ("True" as const), reason: "RestartsExhausted" },
      ...{ message: "m", lastTransitionTime: "2026-01-01T00:00:00Z" },
    }));
    world.all.set("a", [{ ...world.objects("a")[0]!, status: { conditions: bad } }]);
    world.engine.namespaceChanged("a");
    await world.run(5);
    expect(world.condition("all", "Ready")).toMatch(
      /^False\/ObjectsNotReady: 1 of 2 generated objects is not Ready: 1 RestartsExhausted\. List them: /,
    );
    expect(world.condition("all", "Stalled")).toMatch(
      /^True\/ObjectsNotReady: 1 of 2 generated objects is Stalled: a\/all/,
    );
    Object.assign(world.objects("a")[0]!.metadata, { deletionTimestamp: world.clock.now().toISOString() });
    await world.run(3_700);
    for (const type of ["Ready", "Stalled"])
      expect(world.condition("all", type)).toContain("The deletion of 1 generated object does not end: a/all;");
    expect(world.events.records.filter(({ type }) => type === "Warning")).toEqual([]);
  });

  it("makes no pass for a change while there is no ClusterControllerResilience", async () => {
    const world = start("a");
    const first = world.owners.get("all")!;
    world.owners.clear();
    await world.run(5);
    for (let change = 0; change < 100; change++) world.engine.namespaceChanged("a");
    await world.run(5);
    expect(world.metrics.seen).not.toContain("reconciled:success");
    world.owners.set("all", first);
    world.engine.objectChanged("all");
    await world.run(5);
    expect(written(world)).toEqual(["create a/all"]);
  });

  it("generates objects at once for one that is created after the last one was deleted", async () => {
    const world = startSeldom("a", "b");
    await world.run(10);
    world.remove("all");
    await world.run(10);
    world.put(clusterObject("next"));
    await world.run(10);
    expect(written(world)).toEqual(["create a/all", "create b/all", "create a/next", "create b/next"]);
    expect(world.condition("next", "Ready")).toMatch(/^True\/AllProtected/);
  });

  it("asks once for namespaces that no pass knows, however long status waits for them", async () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `n${String(index)}`);
    const world = startSeldom();
    const asked = new Map<string, number>();
    const { namespace } = world;
    world.namespace = name => {
      asked.set(name, (asked.get(name) ?? 0) + 1);
      return name === "n0" ? Promise.reject(new TransientError("watch namespaces: not filled yet")) : namespace(name);
    };
    await world.run(3);
    for (const name of names) world.addNamespace(name, []);
    world.engine.objectChanged("all");
    await world.run(30);
    expect([asked.size, world.statusWrites]).toEqual([1_000, 1]);
    asked.delete("n0");
    expect(Math.max(...asked.values())).toBe(1);
  });

  it("takes nothing away on the word of a cache alone", async () => {
    const world = start("a");
    await world.run(5);
    world.liveWorkloads.set("a", world.found.get("a") ?? []);
    world.found.set("a", []);
    world.engine.namespaceChanged("a");
    await world.run(10);
    expect(written(world)).toEqual(["create a/all"]);
    world.liveWorkloads.clear();
    world.engine.namespaceChanged("a");
    await world.run(500);
    expect(written(world)).toEqual(["create a/all"]);
    await world.run(200);
    expect(written(world)).toEqual(["create a/all", "delete a/all"]);
    expect(world.condition("all", "Ready")).toMatch(
      /^False\/TargetNotFound: spec.workloads selects no workload in 1 namespace/,
    );
  });

  it("goes on where one namespace is refused, and says so", async () => {
    const world = start("a", "b", "c");
    world.onWrite = ({ target }) => {
      if (target.namespace === "b")
        throw new ForbiddenError("create controllerresiliences b/all: exceeded quota: small");
    };
    await world.run(10);
    expect(written(world)).toEqual(["create a/all", "create c/all"]);
    const words = "In namespace b: create controllerresiliences b/all: exceeded quota: small";
    expect(world.condition("all", "Ready")).toBe(`False/Refused: ${words}`);
    expect(world.condition("all", "Stalled")).toBe(`True/Refused: ${words}`);
    expect(world.metrics.shown.get("/all:Stalled")).toBe("True");
    expect(world.status("all")?.conflicts).toMatchObject([{ namespace: "b", reason: "Refused" }]);
    world.onWrite = () => undefined;
    await world.run(700);
    expect(written(world)).toContain("create b/all");
    expect(world.condition("all", "Stalled")).toBe("False/Idle: No action required.");
    expect(world.metrics.shown.get("/all:Stalled")).toBe("False");
    expect(world.events.records.filter(({ action }) => action === "Protect")).toMatchObject([
      { type: "Warning", reason: "Refused" },
      { type: "Normal", reason: "NoLongerStalled" },
    ]);
    world.engine.stopLeading();
    expect(world.metrics.shown.size).toBe(0);
  });

  it("reports a failure that lasts, and calls a person after ten minutes", async () => {
    const world = start("a");
    world.onWrite = () => {
      throw new TransientError("create controllerresiliences a/all: the webhook does not answer");
    };
    await world.run(30);
    expect(world.condition("all", "Ready")).toMatch(
      /^False\/Progressing: 0 of 2 selected workloads are protected so far/,
    );
    expect(world.condition("all", "Reconciling")).toMatch(/^True\/Progressing/);
    await world.run(120);
    expect(world.condition("all", "Ready")).toMatch(/^False\/Progressing: In namespace a: .* webhook does not answer/);
    expect(world.condition("all", "Stalled")).toBe("False/Idle: No action required.");
    await world.run(600);
    expect(world.condition("all", "Stalled")).toMatch(/^True\/Refused/);
  });

  it("reports a failure that lasts also while namespaces wait for their turn", async () => {
    const names = Array.from({ length: 30 }, (_, index) => `n${String(index)}`);
    const world = startSeldom(...names);
    world.onWrite = () => {
      throw new TransientError("create controllerresiliences: the webhook does not answer");
    };
    for (let second = 0; second < 90; second++) {
      for (const name of names) world.engine.namespaceChanged(name);
      await world.run(1);
    }
    expect(world.condition("all", "Ready")).toMatch(/^False\/Progressing: In namespaces .* webhook does not answer/);
  });

  it("keeps a pace of 20 writes per second", async () => {
    const names = Array.from({ length: 200 }, (_, index) => `n${String(index).padStart(3, "0")}`);
    const world = start(...names);
    await world.run(3);
    expect(world.intents.length).toBeGreaterThan(60);
    expect(world.intents.length).toBeLessThanOrEqual(20 + 3 * 20);
    await world.run(15);
    expect(world.intents).toHaveLength(200);
  });

  it("measures which workloads are protected, and reads nothing without a ClusterControllerResilience", async () => {
    const world = start("a");
    world.all.set("a", [handWritten("mine", [{ kind: "Deployment", name: "web" }])]);
    world.addNamespace("out", ["Deployment/x"]);
    world.addNamespace("kind", ["StatefulSet/x"]);
    const workloads = { kinds: ["Deployment" as const, "DaemonSet" as const], selector: {} };
    world.owners.set("all", clusterObject("all", { excludeNamespaces: ["out"], workloads }));
    await world.run(5);
    const shown = world.metrics.gauges.get("workloads") as readonly GaugeSample[];
    const counts = shown.map(({ labels, value }) => `${labels["protection"]}/${labels["reason"]} ${value}`);
    expect(counts.sort()).toEqual([
      ...["protected/Enforce 1", "protected/Observe 1"],
      ...["unprotected/KindNotSelected 1", "unprotected/NamespaceNotSelected 1"],
    ]);
    expect(world.condition("all", "Covered")).toBe(
      "False/Unprotected: 2 of 4 workloads that use the API are not protected (1 KindNotSelected, 1 NamespaceNotSelected), such as kind/StatefulSet/x, out/Deployment/x.",
    );
    world.owners.clear();
    await world.run(70);
    expect(world.metrics.gauges.get("workloads")).toEqual([]);
  });

  it("suggests kinds of selected workloads that no object follows, and keeps them until it has read anew", async () => {
    const world = start("a");
    world.addNamespace("b", ["Deployment/agents", "Deployment/widgets"]);
    world.addNamespace("c", ["Deployment/gadgets"], { "controller-resilience.io/protect": "false" });
    const kinds = ["Widget", "Widget2"].map(kind => ({
      apiVersion: "e.io/v1",
      kind,
      writers: ["widgets-status", "x"],
    }));
    world.kindWriters = [...kinds, { apiVersion: "e.io/v1", kind: "Gadget", writers: ["gadgets"] }];
    await world.run(10);
    const of = (kind: string) => ({ workload: "b/Deployment/widgets", apiVersion: "e.io/v1", kind });
    expect(world.status("all")?.suggestions).toEqual([of("Widget"), of("Widget2")]);
    const { statusWrites } = world;
    world.kindWriters = undefined;
    await world.run(300);
    expect(world.statusWrites).toBe(statusWrites);
    const stallDetection = {
      progress: [{ kind: "Widget", for: "15m" }],
    } as unknown as NonNullable<ControllerResilience["spec"]["stallDetection"]>;
    world.all.set("c", [handWritten("mine", [{ kind: "Deployment", name: "gadgets" }], { stallDetection })]);
    world.engine.namespaceChanged("c");
    world.kindWriters = [...kinds].reverse();
    await world.run(100);
    expect(world.status("all")?.suggestions).toEqual([of("Widget2")]);
    world.kindWriters = [];
    await world.run(100);
    expect(world.status("all")?.suggestions).toBeUndefined();
    expect(world.intents.every(({ body }) => !JSON.stringify(body ?? {}).includes("Widget"))).toBe(true);
  });

  it("suggests at most 20 kinds", async () => {
    const world = start("a");
    world.kindWriters = Array.from({ length: 30 }, (_, i) => ({
      apiVersion: "e.io/v1",
      kind: `K${i}`,
      writers: ["web"],
    }));
    await world.run(10);
    expect(world.status("all")?.suggestions).toHaveLength(20);
  });

  it("writes nothing once it does not lead", async () => {
    const world = start("a");
    world.isLeader = false;
    await world.run(20);
    expect([world.intents, world.statusWrites]).toEqual([[], 0]);
  });

  it("says so where it may not list Namespaces", async () => {
    const world = start("a");
    world.namespaces = () => Promise.reject(new ForbiddenError("list namespaces: forbidden"));
    await world.run(10);
    expect(world.condition("all", "Stalled")).toMatch(/^True\/Refused: .* the operator may not list Namespaces/);
    expect(world.intents).toEqual([]);
  });

  it("says nothing about a new generation before all namespaces were planned for it", async () => {
    const names = Array.from({ length: 100 }, (_, index) => `n${String(index)}`);
    const world = start(...names);
    await world.run(20);
    expect(world.condition("all", "Ready")).toMatch(/^True/);
    world.change({ mode: "Enforce" });
    for (let second = 0; second < 8; second++) {
      await world.run(1);
      const done = world.intents.filter(({ verb }) => verb === "patch").length === names.length;
      const isReady = world.condition("all", "Ready")?.startsWith("True") === true;
      expect(isReady && world.status("all")?.observedGeneration === 2 && !done).toBe(false);
    }
    await world.run(10);
    expect(world.condition("all", "Ready")).toMatch(/^True/);
    expect(world.status("all")?.observedGeneration).toBe(2);
  });

  it.each<[string, (world: ClusterWideWorld) => void]>([
    ["a changed spec", world => world.change()],
    ["a new object", world => world.put(clusterObject("next"))],
  ])("reports %s although one namespace cannot be read, and names that one", async (_, change) => {
    const world = start("a", "b");
    await world.run(10);
    const { workloads } = world;
    const failure = new ForbiddenError("list deployments in b: forbidden");
    world.workloads = name => (name === "b" ? Promise.reject(failure) : workloads(name));
    change(world);
    await world.run(120);
    for (const { metadata, status } of world.owners.values()) {
      expect(status?.observedGeneration).toBe(metadata.generation);
      const words = "In namespace b: list deployments in b: forbidden";
      expect(world.condition(metadata.name, "Ready")).toBe(`False/Refused: ${words}`);
      expect(world.condition(metadata.name, "Covered")).toBe(`Unknown/Refused: ${words}`);
      expect(status?.conflicts).toContainEqual(expect.objectContaining({ namespace: "b", reason: "Refused" }));
    }
    // What was planned for another generation says nothing about this one.
    expect([...world.owners.values()].at(-1)?.status).toMatchObject({ namespaces: 1 });
    world.workloads = workloads;
    await world.run(120);
    expect([...world.owners.values()].at(-1)?.status).toMatchObject({
      namespaces: 2,
      observedGeneration: expect.anything() as unknown,
    });
    expect(world.condition("all", "Ready")).toMatch(/^True/);
  });

  it("says so when Namespaces cannot be listed for a minute, and goes on when they can", async () => {
    const world = start("a");
    await world.run(10);
    const { namespaces } = world;
    world.namespaces = () => Promise.reject(new TransientError("namespaces: the cache is too old"));
    world.change();
    await world.run(30);
    expect(world.condition("all", "Ready")).toMatch(/^True/);
    await world.run(120);
    expect(world.status("all")).toMatchObject({ observedGeneration: 2, namespaces: 1 });
    expect(world.condition("all", "Ready")).toMatch(
      /^False\/Progressing: .*Failed to list Namespaces: namespaces: the cache is too old/,
    );
    expect(world.condition("all", "Covered")).toMatch(/^Unknown\/Progressing: .* Failed to list Namespaces/);
    await world.run(700);
    expect(world.condition("all", "Stalled")).toMatch(/^True\/Refused: .*namespaces: the cache is too old/);
    world.namespaces = namespaces;
    await world.run(120);
    expect(world.condition("all", "Ready")).toMatch(/^True/);
    expect(world.condition("all", "Stalled")).toMatch(/^False/);
  });

  it("keeps a workload that is replaced while another change asks for live reads", async () => {
    const world = start();
    world.addNamespace("a", ["Deployment/web", "Deployment/other"]);
    world.owners.set("all", clusterObject("all", { mode: "Enforce" }));
    await world.run(10);
    const targets = (): unknown =>
      world
        .objects("a")[0]
        ?.spec.targets.map(({ name }) => name)
        .sort();
    expect(targets()).toEqual(["other", "web"]);
    // web is gone, and the cache is late.
    world.found.set("a", [...world.found.get("a")!, workloadView("a", "Deployment/new")]);
    const left = world.found.get("a")!.filter(({ name }) => name !== "web");
    world.liveWorkloads.set("a", left);
    world.engine.namespaceChanged("a");
    await world.run(1);
    expect(targets()).toEqual(["new", "other", "web"]);
    world.found.set("a", left);
    world.engine.namespaceChanged("a");
    await world.run(590);
    expect(targets()).toEqual(["new", "other", "web"]);
    await world.run(120);
    expect(targets()).toEqual(["new", "other"]);
  });

  it("writes what live reads show, also where it only observes", async () => {
    const world = start();
    world.addNamespace("a", ["Deployment/web", "Deployment/gone"]);
    world.liveWorkloads.set("a", [workloadView("a", "Deployment/web")]);
    world.owners.set("all", clusterObject("all"));
    await world.run(5);
    expect(world.objects("a")[0]?.spec.targets).toEqual([{ kind: "Deployment", name: "web" }]);
  });

  it("takes a default of a newer definition for no difference, and still undoes edits", async () => {
    const world = start("a");
    world.stores = object => ({
      ...object,
      spec: {
        ...{ ...object.spec, tokenRestart: { later: 1, ...object.spec.tokenRestart } as never },
        targets: object.spec.targets.map(target => ({ later: 2, ...target })),
      },
    });
    await world.run(300);
    expect(written(world)).toEqual(["create a/all"]);
    world.engine.stopLeading();
    world.engine.startLeading();
    await world.run(300);
    // The next leader writes once, and sees what is stored.
    expect(written(world)).toEqual(["create a/all", "patch a/all"]);
    expect(world.condition("all", "Ready")).toMatch(/^True\/AllProtected/);
    const [object] = world.objects("a");
    world.all.set("a", [{ ...object!, spec: { ...object!.spec, mode: "Enforce" } }]);
    world.engine.namespaceChanged("a");
    await world.run(60);
    expect(world.objects("a")[0]?.spec).toMatchObject({ mode: "Observe", tokenRestart: { later: 1 } });
    expect([world.intents.length, world.condition("all", "Ready")?.slice(0, 4)]).toEqual([3, "True"]);
  });

  it.each<[what: string, spec: (spec: ControllerResilience["spec"]) => Partial<ControllerResilience["spec"]>]>([
    ["drops a target", ({ targets }) => ({ targets: targets.slice(0, 1) })],
    ["suspends", () => ({ suspend: true })],
    ["lets it only observe", () => ({ mode: "Observe" })],
    ["adds to a list", () => ({ tokenRestart: { evidence: ["Logs", "ServiceAccountAge", "more"] } as never })],
    ["drops a block", spec => ({ ...spec, stallDetection: undefined })],
  ])("reports another writer that %s while the API server stores", async (_, taken) => {
    const world = start("a");
    const template = { tokenRestart: { evidence: ["Logs", "ServiceAccountAge"] }, stallDetection: {} } as never;
    world.put(clusterObject("all", { mode: "Enforce", template }));
    world.stores = object => ({ ...object, spec: { ...object.spec, ...taken(object.spec) } as never });
    await world.run(300);
    expect(world.condition("all", "Ready")).toMatch(/^False\/Progressing: .*another writer has changed/);
  });

  it("says that the definition of generated objects is older", async () => {
    const world = start("a");
    world.onWrite = () => {
      throw new TerminalError('create controllerresiliences a/all: strict decoding error: unknown field "spec.later"');
    };
    await world.run(90);
    expect(world.condition("all", "Ready")).toMatch(
      /^False\/Progressing: .*unknown field "spec.later"; upgrade the definition of ControllerResilience$/,
    );
  });

  it("takes no change of its own for one of another writer, however many workloads come", async () => {
    const world = start("a");
    await world.run(5);
    for (let minute = 0; minute < 8; minute++) {
      world.found.set("a", [...world.found.get("a")!, workloadView("a", `Deployment/new-${String(minute)}`)]);
      world.engine.namespaceChanged("a");
      await world.run(5);
      expect(world.objects("a")[0]?.spec.targets).toHaveLength(3 + minute);
      await world.run(55);
    }
  });

  it("takes a namespace that is staged, and taken back, for no other writer", async () => {
    const world = start("a");
    world.owners.set(
      "all",
      clusterObject("all", { enforce: { namespaceSelector: { matchLabels: { stage: "one" } } } }),
    );
    for (const labels of [{}, { stage: "one" }, {}, { stage: "one" }]) {
      world.addNamespace("a", ["Deployment/web"], labels);
      world.engine.namespaceChanged("a");
      await world.run(2);
      expect(world.objects("a")[0]?.spec.mode).toBe("stage" in labels ? "Enforce" : "Observe");
    }
  });

  it("undoes a deletion at once, and the next one of the same object after some seconds", async () => {
    const world = start("a");
    await world.run(30);
    const created = (): number => world.intents.filter(({ verb }) => verb === "create").length;
    const removed = async (): Promise<void> => {
      world.all.set("a", []);
      world.engine.namespaceChanged("a");
      await world.run(5);
    };
    await removed();
    expect(created()).toBe(2);
    await removed();
    expect(created()).toBe(2);
    await world.run(30);
    expect(created()).toBe(3);
  });

  it.each<[string, (object: ControllerResilience) => ControllerResilience[]]>([
    ["deletes what it generates", () => []],
    ["deletes what a finalizer holds, so that each successor gets another name", object => [beingDeleted(object)]],
    ["changes it", object => [{ ...object, spec: { ...object.spec, mode: "Enforce" } }]],
  ])("gives in to another writer that %s, says so, and obeys a new spec at once", async (_, left) => {
    const world = start("a");
    await world.run(5);
    const fight = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second++) {
        const isDeleted = ({ metadata }: ControllerResilience): boolean => metadata.deletionTimestamp !== undefined;
        const objects = world.objects("a").flatMap(object => (isDeleted(object) ? [object] : left(object)));
        world.all.set("a", objects);
        world.engine.namespaceChanged("a");
        await world.run(1);
      }
    };
    await fight(600);
    expect(world.intents.length).toBeGreaterThan(4);
    expect(world.intents.length).toBeLessThan(13);
    expect(world.condition("all", "Ready")).toContain(
      "another writer has changed or deleted ControllerResilience a/all",
    );
    world.change({ suspend: true });
    await world.run(5);
    expect(world.objects("a").at(-1)?.spec).toMatchObject({ suspend: true });
  });

  it("is not done while caches are not filled, whatever they seem to hold", async () => {
    const world = start("a", "b");
    world.workloads = () => Promise.reject(new TransientError("watch deployments: not filled yet"));
    await world.run(30);
    expect([world.statusWrites, world.metrics.gauges.get("workloads")]).toEqual([0, undefined]);
    await world.run(60);
    expect(world.condition("all", "Ready")).toMatch(/^False\/Progressing: .*not filled yet/);
  });
});
