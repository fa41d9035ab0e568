import { describe, expect, it } from "vitest";
import { ForbiddenError, NotYetError, UnauthorizedError } from "../../core/errors";
import type { Scene } from "./testing/scene";
import { MINUTES, QUARANTINE_LEVEL, SHARED, throttled } from "./testing/scene";

/** The operator has lost the right to read workloads, so many seconds after a runaway was throttled for five minutes. */
async function lost(seconds: number): Promise<Scene> {
  const scene = await throttled();
  await scene.clock.run(seconds * 1_000);
  fail(scene, new ForbiddenError("get deployments team/app: 403"));
  return scene;
}

function fail(scene: Scene, error: Error): void {
  scene.workload = () => Promise.reject(error);
  scene.workloads = () => Promise.reject(error);
}

describe("a throttle whose targets cannot be read", () => {
  it("ends on time all the same, and nothing else happens", async () => {
    const scene = await lost(5 * MINUTES);
    const pass = await scene.pass();
    expect(pass).toMatchObject({ status: "False", reason: "Throttled", stalled: { reason: "ObserveFailed" } });
    expect(pass.message).toContain(
      "No action but the end of throttles: the targets cannot be read: get deployments team/app: 403.",
    );
    expect(scene.level()).toBe(SHARED);
    await scene.pass();
    expect(scene.entry()).toMatchObject({ state: "Probation" });
    await expect(scene.pass()).rejects.toThrow("403");
    expect(scene.written.map(({ eventReason }) => eventReason).at(-1)).toBe("FlowReleased");
  });

  it("goes on before its end", async () => {
    const scene = await lost(MINUTES);
    await expect(scene.pass()).rejects.toThrow("403");
    expect(scene.level()).toBe(QUARANTINE_LEVEL);
  });

  it.each([new NotYetError("not filled", 1_000), new UnauthorizedError("401")])(
    "waits if that says nothing: %s",
    async error => {
      const scene = await lost(5 * MINUTES);
      fail(scene, error);
      await expect(scene.pass()).rejects.toThrow(error.message);
      expect(scene.level()).toBe(QUARANTINE_LEVEL);
    },
  );
});
