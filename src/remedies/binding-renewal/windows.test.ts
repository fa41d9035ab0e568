import { describe, expect, it } from "vitest";
import { NEVER } from "../../core/testing/windows";
import type { MaintenanceWindow } from "../../core/windows";
import { DAY, HOUR, Scene } from "./testing/scene";

const OWN = "controller-resilience.io/expires-at";
/** Thirty days after the start of a scene. */
const EXPIRY = "2025-01-31T00:00:00Z";

/** A binding, and windows that open at this schedule for three hours. */
async function makeScene(schedule: string): Promise<Scene> {
  const windows: MaintenanceWindow[] = [{ schedule, duration: "3h", timeZone: "UTC" }];
  const scene = new Scene();
  scene.object = { ...scene.object, spec: { ...scene.object.spec, windows } };
  scene.bind({ annotations: { [OWN]: EXPIRY } });
  await scene.pass();
  return scene;
}

describe("a renewal", () => {
  it("waits for the next maintenance window if the binding is valid for hours after it", async () => {
    const scene = await makeScene("0 2 * * *");
    await scene.clock.run(29 * DAY);
    const pass = await scene.pass();
    expect(pass).toMatchObject({ status: "True", reason: "WaitingForWindow", intents: [], recheckAfterMs: 2 * HOUR });
    expect(pass.message).toContain(
      "the operator renews it later: the next maintenance window opens at 2025-01-30T02:00:00Z.",
    );
    expect(scene.entry()).toMatchObject({ state: "ExpiringSoon" });
    await scene.clock.run(2 * HOUR);
    await scene.pass();
    expect((await scene.pass()).intents).toMatchObject([{ verb: "patch" }]);
  });

  it.each([
    ["ends less than six hours before the binding expires", "0 16 30 1 *"],
    ["opens after the binding expires", "0 2 1 3 *"],
    ["never opens", NEVER.schedule],
  ])("does not wait for a window that %s", async (_, schedule) => {
    const scene = await makeScene(schedule);
    await scene.clock.run(29 * DAY);
    await scene.pass();
    expect((await scene.pass()).intents).toMatchObject([{ verb: "patch" }]);
    expect(scene.written).toHaveLength(1);
  });

  it("that has begun goes on after the window", async () => {
    const scene = await makeScene("0 0 30 1 *");
    await scene.clock.run(29 * DAY);
    await scene.pass();
    expect(scene.entry()).toHaveProperty("renewingUntil");
    expect(scene.written).toEqual([]);
    await scene.clock.run(3 * HOUR);
    await scene.pass();
    expect(scene.written).toHaveLength(1);
  });

  it("is made in time whatever happens in the windows", async () => {
    const scene = await makeScene("0 2 * * *");
    scene.outcome = { result: "Failed", message: "no answer" };
    for (let hour = 0; hour < 30 * 24 - 8; hour++) {
      await scene.pass();
      await scene.clock.run(HOUR);
    }
    scene.outcome = undefined;
    await scene.pass();
    expect(Date.parse(scene.now()?.annotations[OWN] ?? "")).toBeGreaterThan(Date.parse(EXPIRY));
  });
});
