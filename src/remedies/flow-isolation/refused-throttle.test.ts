import { describe, expect, it } from "vitest";
import type { Scene } from "./testing/scene";
import { MINUTES, QUARANTINE_LEVEL, SHARED, throttling } from "./testing/scene";

/** A runaway whose throttle the API server refuses, as a webhook that gates FlowSchemas does. */
async function refused(): Promise<Scene> {
  const scene = throttling();
  await scene.pass();
  await scene.pass();
  scene.isRefused = ({ eventReason }) => eventReason === "FlowThrottled";
  scene.perSecond.set("app", 5_000);
  await scene.run(61);
  expect(scene.entry()).toMatchObject({ state: "Elevated" });
  expect(scene.level()).toBe(SHARED);
  return scene;
}

describe("a throttle that cannot be written", () => {
  it("is no throttle that the client survived: the runaway is not given up, and throttled once it can be", async () => {
    const scene = await refused();
    await scene.run(8 * 60 * MINUTES);
    expect(scene.entry()?.state).not.toBe("GivenUp");
    scene.isRefused = () => false;
    await scene.run(2 * MINUTES);
    expect(scene.level()).toBe(QUARANTINE_LEVEL);
  });

  it("needs a person after three minutes", async () => {
    const scene = await refused();
    expect(await scene.pass()).not.toHaveProperty("stalled");
    const late = await scene.run(3 * MINUTES);
    expect(late).toMatchObject({ status: "False", reason: "Runaway", stalled: { reason: "Runaway" } });
    expect(late.stalled?.message).toMatch(
      /app is a runaway, and not throttled yet: its FlowSchema is not written; .*: apply FlowSchema .*: no/,
    );
    expect(late.message).not.toContain("is near or above its threshold");
    expect(await scene.run(60 * MINUTES)).toMatchObject({ stalled: { reason: "Runaway" } });
  });
});

describe("a runaway whose quarantine level is restored", () => {
  it("needs no person for three minutes", async () => {
    const scene = throttling();
    await scene.pass();
    await scene.pass();
    scene.world.cluster.delete(QUARANTINE_LEVEL);
    scene.isRefused = ({ target }) => target.name === QUARANTINE_LEVEL;
    scene.perSecond.set("app", 5_000);
    let report = await scene.pass();
    for (let second = 0; second < 180 && report.reason !== "Runaway"; second += 5) report = await scene.run(5);
    expect(report).toMatchObject({ reason: "Runaway", progressing: true });
    expect(report).not.toHaveProperty("stalled");
    expect(await scene.run(3 * MINUTES + 30)).toMatchObject({ stalled: { reason: "Runaway" } });
  });
});

describe("a flood of a flow that was near its threshold for long", () => {
  it("does not need a person with the first write that fails", async () => {
    const scene = throttling();
    await scene.pass();
    await scene.pass();
    scene.perSecond.set("app", 105);
    await scene.run(10);
    scene.perSecond.set("app", 95);
    await scene.run(20 * MINUTES);
    expect(scene.entry()?.state).toBe("Elevated");
    scene.isRefused = ({ eventReason }) => eventReason === "FlowThrottled";
    scene.perSecond.set("app", 5_000);
    let report = await scene.pass();
    for (let second = 0; second < 120 && report.reason !== "Runaway"; second += 5) report = await scene.run(5);
    expect(report.reason).toBe("Runaway");
    expect(report).not.toHaveProperty("stalled");
  });
});

describe("a throttle that took effect", () => {
  it("has not failed to end where nobody led at its end", async () => {
    const scene = await refused();
    scene.isRefused = () => false;
    await scene.run(10);
    scene.perSecond.set("app", 1);
    await scene.wait(10 * MINUTES);
    const report = await scene.pass();
    expect(scene.level()).toBe(SHARED);
    expect(report).toMatchObject({ reason: "Throttled", progressing: true });
    expect(report).not.toHaveProperty("stalled");
  });

  it("still counts after a crash between its release and the record of that", async () => {
    const scene = await refused();
    scene.isRefused = () => false;
    await scene.run(10);
    expect(scene.level()).toBe(QUARANTINE_LEVEL);
    await scene.run(5 * MINUTES - 80);
    for (let second = 0; second < 120 && scene.level() === QUARANTINE_LEVEL; second++) {
      const before = scene.object;
      await scene.pass();
      if (scene.level() !== QUARANTINE_LEVEL) scene.object = before;
      else await scene.wait(1);
    }
    expect(scene.level()).toBe(SHARED);
    await scene.pass();
    expect(scene.entry()).toMatchObject({ state: "Probation" });
  });
});
