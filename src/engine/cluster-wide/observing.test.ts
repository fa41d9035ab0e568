import { describe, expect, it } from "vitest";
import { TerminatingError } from "../../core/errors";
import { planNamespace } from "./plan";
import { carryOut, clusterObject, facts } from "./testing/fixtures";
import { ClusterWideWorld, startIn } from "./testing/world";

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
    world.owners.set("all", clusterObject("all", { mode: "Enforce" }));
    startIn(world, "a");
    await world.run(5);
    expect(world.status("all")).toMatchObject({ objects: 1, enforced: 0 });
    const why = "Only observed: the operator runs with --mode=Observe.";
    expect(world.condition("all", "Ready")).toBe(
      `True/AllProtected: All 2 selected workloads in 1 namespace are protected. ${why}`,
    );
    expect(world.metrics.gauges.get("workloads")).toEqual([
      { labels: { protection: "protected", reason: "Observe" }, value: 2 },
    ]);
    world.change({ excludeNamespaces: ["a"] });
    await world.run(5);
    expect(world.intents.map(({ verb }) => verb)).toEqual(["create", "patch"]);
    expect(world.condition("all", "Ready")).toBe(
      `False/TargetNotFound: spec.namespaceSelector selects no namespace. ${why}`,
    );
  });

  it("names what an older object protects", async () => {
    const world = startIn(new ClusterWideWorld(), "a");
    world.put(clusterObject("new", {}, "2026-02-01T00:00:00Z"));
    await world.run(5);
    expect(world.status("all")?.conflicts).toEqual([]);
    const message = "The older ClusterControllerResilience all protects Deployment/web, DaemonSet/agent.";
    expect(world.status("new")?.conflicts).toMatchObject([{ namespace: "a", reason: "OtherClusterObject", message }]);
    expect(world.condition("all", "Ready")).toMatch(/^True/);
  });

  it("needs no person when a namespace goes before the cache knows", async () => {
    const world = startIn(new ClusterWideWorld(), "a", "b");
    world.onWrite = ({ target }) => {
      if (target.namespace === "b") throw new TerminatingError("create controllerresiliences b/all: forbidden (403)");
    };
    await world.run(20);
    expect(world.condition("all", "Stalled")).toBe("False/Idle: No action required.");
    expect(world.events.records.filter(({ type }) => type === "Warning")).toEqual([]);
  });
});
