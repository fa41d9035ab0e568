import { describe, expect, it } from "vitest";
import { NEVER } from "./testing/arbitrary";
import { Scene } from "./testing/scene";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Scenes start on Wednesday, 2025-01-01T00:00:00Z. */
function withWindow<S extends Scene>(scene: S, schedule: string, duration = "1h"): S {
  const windows = [{ schedule, duration, timeZone: "UTC" }];
  const { spec } = scene.object;
  scene.object = { ...scene.object, spec: { ...spec, tokenLifetime: { ...spec.tokenLifetime!, windows } } };
  return scene;
}

describe("outside of the maintenance windows", () => {
  it("a template is not changed before the next one opens", async () => {
    const scene = withWindow(new Scene(), "0 2 * * *");
    const pass = await scene.pass();
    expect(pass).toMatchObject({ status: "False", reason: "WaitingForWindow", intents: [], progressing: false });
    expect(pass.recheckAfterMs).toBeLessThanOrEqual(2 * HOUR);
    expect(pass.message).toContain(
      "DaemonSet agent: bounding its tokens waits; the next maintenance window opens at 2025-01-01T02:00:00Z.",
    );
    await scene.clock.run(119 * MINUTE);
    const later = await scene.pass();
    expect([later.stalled, scene.written]).toEqual([undefined, []]);
    await scene.clock.run(MINUTE);
    await scene.pass();
    await scene.pass();
    expect(scene.written.map(({ verb }) => verb)).toEqual(["apply"]);
  });

  it("nothing begins where none opens, which needs a person", async () => {
    const scene = withWindow(new Scene(), NEVER.schedule);
    const pass = await scene.pass();
    expect(pass).toMatchObject({ reason: "WaitingForWindow", recheckAfterMs: 10_000, stalled: {} });
    expect(pass.message).toContain(
      "spec.tokenLifetime.windows[0].schedule: expected a schedule with a date that exists",
    );
    expect(scene.written).toEqual([]);
  });

  it("no trial begins, and one that has begun goes on to its end", async () => {
    const scene = withWindow(new Scene(), "0 0 * * *", "10m");
    await scene.run(4);
    expect(scene.lines).toEqual(["apply DaemonSet", "evict Pod"]);
    await scene.run(72);
    expect(scene.count(600)).toBe(3);
    const later = withWindow(new Scene(), "0 2 * * *", "10m");
    await later.run(20);
    expect(later.written).toEqual([]);
  });

  it("a revert does not wait", async () => {
    const scene = withWindow(new Scene(), "0 0 * * *", "10m");
    await scene.run(50);
    scene.setLogs("persistent", 600);
    await scene.run(80);
    expect(scene.entry()).toMatchObject({ outcome: "Reverted" });
  });
});
