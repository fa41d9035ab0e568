import { describe, expect, it } from "vitest";
import { ForbiddenError, NotYetError, UnauthorizedError } from "../../core/errors";
import { unknownValues } from "../../core/remedy";
import { createFlowIsolation } from "./remedy";
import type { Scene } from "./testing/scene";
import { MINUTES, QUARANTINE_LEVEL, SHARED, throttled, throttling } from "./testing/scene";

const WHY =
  'No action but the end of throttles: found "CronJob" in targets[].kind, expected Deployment or StatefulSet or DaemonSet. This version of the operator does not know it: run one that does, or change the spec.';

/** The operator is rolled back to a version that does not know the kind of a target. */
function rollBack(scene: Scene): void {
  const { metadata, spec } = scene.object;
  const targets = [...spec.targets, { kind: "CronJob", name: "job" } as never];
  const generation = metadata.generation + 1;
  scene.object = { ...scene.object, metadata: { ...metadata, generation }, spec: { ...spec, targets } };
  scene.written.length = 0;
}

it("no unknown value keeps the remedy from a pass, which must end a throttle", () => {
  const spec = { targets: [{ kind: "CronJob" }], flowIsolation: { requestRate: { onRunaway: "Later" } } };
  const { block, handled } = createFlowIsolation();
  expect([unknownValues(spec, block, handled), unknownValues(spec, block).length]).toEqual([[], 2]);
});

describe("a kind of target that only a later version knows", () => {
  it("lets a throttle end at its time, and none begin", async () => {
    const scene = await throttled();
    rollBack(scene);
    const held = await scene.run(4 * MINUTES);
    expect(held).toMatchObject({ status: "False", reason: "Throttled", stalled: { reason: "ObserveFailed" } });
    expect(held.message).toBe(
      `ServiceAccount app is throttled until 2025-01-01T00:05:40Z: it was a runaway. Probation follows. ${WHY}`,
    );
    expect([scene.level(), scene.written]).toEqual([QUARANTINE_LEVEL, []]);
    const over = await scene.run(20 * MINUTES);
    expect([scene.level(), scene.entry()?.state]).toEqual([SHARED, "Probation"]);
    expect(scene.written.map(({ eventReason }) => eventReason)).toEqual(["FlowReleased"]);
    expect(over).toMatchObject({ status: "False", reason: "Runaway", stalled: { reason: "Runaway" } });
    expect(over.message).toContain("It is not throttled: the targets are not understood.");
  });

  it("lets a throttle end that status does not mention", async () => {
    const scene = await throttled();
    rollBack(scene);
    scene.object = { ...scene.object, status: { ...scene.object.status, flows: [] } };
    await scene.pass();
    expect(scene.written).toMatchObject([{ verb: "delete", target: { name: scene.schema() } }]);
  });

  it("leads to no other write, and the condition is Unknown", async () => {
    const scene = throttling();
    await scene.run(10);
    rollBack(scene);
    scene.put("Deployment", "new", { serviceAccountName: "new" });
    scene.world.cluster.delete(QUARANTINE_LEVEL);
    const pass = await scene.run(60);
    expect(pass).toMatchObject({ status: "Unknown", reason: "ObserveFailed", message: WHY, intents: [] });
    expect([scene.level(), scene.written]).toEqual([SHARED, []]);
    expect(pass.needsCleanup).toBe(true);
  });

  it("does not hide that a throttle cannot be released", async () => {
    const scene = await throttled();
    rollBack(scene);
    scene.outcome = { result: "Forbidden", message: "no" };
    const late = await scene.run(15 * MINUTES);
    expect(late).toMatchObject({ status: "False", reason: "ReleaseFailed", stalled: { reason: "ReleaseFailed" } });
    for (const message of [late.message, late.stalled?.message]) {
      expect(message).toMatch(/^ServiceAccount app is still throttled, although its throttle ended/);
      expect(message).toContain("kubectl patch flowschema");
    }
  });
});

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
