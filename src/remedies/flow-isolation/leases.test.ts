import { describe, expect, it } from "vitest";
import type { Scene } from "./testing/scene";
import { LEASES, provisioned, QUARANTINE_LEVEL, SHARED } from "./testing/scene";

const nameOf = (scene: Scene): string =>
  [...scene.world.cluster.keys()].find(name => name.startsWith("controller-resilience-leases-team"))!;

const leaseLevel = (scene: Scene): unknown =>
  (scene.world.cluster.get(nameOf(scene))!.spec["priorityLevelConfiguration"] as { name: string }).name;

describe("the leases of a ServiceAccount", () => {
  it("are on a level of the operator's own, with few seats", async () => {
    const scene = await provisioned();
    expect(leaseLevel(scene)).toBe(LEASES);
    expect(scene.world.cluster.get(LEASES)!.spec).toMatchObject({
      limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: "Queue" } },
    });
  });

  it("stay on it during a throttle, which waits for the level", async () => {
    const scene = await provisioned();
    scene.world.cluster.delete(LEASES);
    scene.isRefused = ({ target }) => target.name === LEASES;
    scene.perSecond.set("app", 5_000);
    expect(await scene.run(240)).toMatchObject({ stalled: { reason: "Runaway" } });
    expect(scene.level()).toBe(SHARED);
    scene.isRefused = () => false;
    await scene.run(10);
    expect([scene.level(), leaseLevel(scene)]).toEqual([QUARANTINE_LEVEL, LEASES]);
  });

  it("are counted: a flood of them is reported, and never throttled", async () => {
    const scene = await provisioned();
    scene.perSecond.set(nameOf(scene), 5_000);
    const decision = await scene.run(180);
    expect(decision).toMatchObject({ reason: "Runaway", stalled: { reason: "Runaway" }, intents: [] });
    expect(decision.message).toContain(
      "ServiceAccount app is a runaway: its lease requests are over the threshold of 100 requests/s for 30s. Leases are not throttled: fix the client.",
    );
    scene.perSecond.set(nameOf(scene), 0);
    expect(await scene.run(60)).toMatchObject({ reason: "Isolated" });
  });

  it("are not those of others that another writer has let its FlowSchema match, also once that is restored", async () => {
    const scene = await provisioned();
    const { spec } = scene.world.cluster.get(nameOf(scene))!;
    scene.edit(nameOf(scene), { spec: { ...spec, rules: [] } });
    scene.isRefused = () => true;
    scene.perSecond.set(nameOf(scene), 5_000);
    expect(await scene.run(180)).not.toMatchObject({ reason: "Runaway" });
    scene.edit(nameOf(scene), { spec });
    expect(await scene.pass()).toMatchObject({ reason: "Isolated" });
  });
});
