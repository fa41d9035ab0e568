import { describe, expect, it } from "vitest";
import { TerminatingError } from "../../core/errors";
import { planNamespace } from "./plan";
import { carryOut, clusterObject, facts } from "./testing/fixtures";
import { ClusterWideWorld } from "./testing/world";

// What is kept of generated objects while the operator runs with --mode=Observe, or the Namespace has the skip annotation. To delete an object or a
// block restores what remedies have changed, which is an action.

const BLOCKS = { tokenRestart: {} as never, tokenLifetime: {} as never };
const enforcing = [clusterObject("all", { mode: "Enforce", template: BLOCKS })];
const only = (template: object) => [clusterObject("all", { mode: "Enforce", template: template as typeof BLOCKS })];

describe("where the operator does not act", () => {
  const objects = carryOut([], planNamespace(facts({ clusterObjects: enforcing })));

  it("a block that the template loses stays, in Observe", () => {
    const clusterObjects = only({ tokenRestart: { maxRestarts: 1 } });
    const after = carryOut(objects, planNamespace(facts({ clusterObjects, objects, observes: true })));
    expect(after[0]?.spec).toMatchObject({ mode: "Observe", tokenRestart: { maxRestarts: 1 }, tokenLifetime: {} });
    const [last] = carryOut(after, planNamespace(facts({ clusterObjects, objects: after })));
    expect(last?.spec.mode).toBe("Enforce");
    expect(last?.spec.tokenLifetime).toBeUndefined();
  });
});

describe("the status of a ClusterControllerResilience", () => {
  it("says with --mode=Observe that nothing acts, and what is kept until then", async () => {
    const world = new ClusterWideWorld({ observes: true });
    world.addNamespace("a", ["Deployment/web"]);
    world.owners.set("all", clusterObject("all", { mode: "Enforce" }));
    world.engine.startLeading();
    await world.run(5);
    expect(world.status("all")).toMatchObject({ objects: 1, enforced: 0 });
    const why = "Only observed: the operator runs with --mode=Observe.";
    expect(world.condition("all", "Ready")).toBe(
      `True/AllProtected: All 1 selected workload in 1 namespace are protected. ${why}`,
    );
    expect(world.metrics.gauges.get("workloads")).toEqual([
      { labels: { protection: "protected", reason: "Observe" }, value: 1 },
    ]);
    const before = world.owners.get("all");
    if (before === undefined) throw new Error("expected the object");
    const metadata = { ...before.metadata, generation: 2 };
    world.put({ ...before, metadata, spec: { ...before.spec, excludeNamespaces: ["a"] } });
    await world.run(5);
    expect(world.intents.map(({ verb }) => verb)).toEqual(["create", "patch"]);
    expect(world.condition("all", "Ready")).toBe(
      `False/TargetNotFound: spec.namespaceSelector selects no namespace. ${why}`,
    );
  });

  it("names what an older object protects", async () => {
    const world = new ClusterWideWorld();
    world.addNamespace("a", ["Deployment/web"]);
    world.owners.set("old", clusterObject("old"));
    world.owners.set("new", clusterObject("new", {}, "2026-02-01T00:00:00Z"));
    world.engine.startLeading();
    await world.run(5);
    const told = (name: string) => world.status(name)?.conflicts;
    const reason = "OtherClusterObject";
    expect(told("old")).toEqual([]);
    expect(told("new")).toMatchObject([
      { namespace: "a", reason, message: "The older ClusterControllerResilience old protects Deployment/web." },
    ]);
    expect(world.condition("old", "Ready")).toMatch(/^True/);
  });

  it("needs no person when a namespace goes before the cache knows", async () => {
    const world = new ClusterWideWorld();
    world.addNamespace("a", ["Deployment/web"]);
    world.addNamespace("b", ["Deployment/web"]);
    world.owners.set("all", clusterObject("all"));
    world.onWrite = ({ target }) => {
      if (target.namespace === "b") throw new TerminatingError("create controllerresiliences b/all: forbidden (403)");
    };
    world.engine.startLeading();
    await world.run(20);
    expect(world.condition("all", "Stalled")).toBe("False/Idle: No action required.");
    expect(world.events.records.filter(({ type }) => type === "Warning")).toEqual([]);
  });
});
