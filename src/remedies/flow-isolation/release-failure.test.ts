import { describe, expect, it } from "vitest";
import { onRunaway, Scene } from "./testing/scene";

const MINUTES = 60;
const END = "2025-01-01T00:05:40Z";

/** Runs passes until the runaway is throttled, then the first message about it. */
async function throttled(): Promise<{ scene: Scene; message: string }> {
  const scene = new Scene(onRunaway("Throttle"));
  await scene.pass();
  await scene.pass();
  scene.perSecond.set("app", 5_000);
  const { message } = await scene.run(40);
  scene.perSecond.set("app", 0);
  return { scene, message };
}

describe("the condition of a throttle", () => {
  it("says once that it began", async () => {
    const { scene, message } = await throttled();
    expect(scene.entry()).toMatchObject({ state: "Throttled" });
    expect(message).toBe(`ServiceAccount app is throttled until ${END}: it was a runaway. Probation follows.`);
  });

  it("says once that it ends", async () => {
    const { scene } = await throttled();
    const { message, progressing } = await scene.run(5 * MINUTES);
    expect(message).toBe("ServiceAccount app is being released: its throttle is over.");
    expect(progressing).toBe(true);
  });
});

it("says of a throttle that cannot be lifted how to lift it, and why the write fails", async () => {
  const { scene } = await throttled();
  scene.outcome = { result: "Forbidden", message: 'admission webhook "flows.example.com" denied the request: no' };
  const late = await scene.run(10 * MINUTES);
  const command = `kubectl patch flowschema ${scene.schema()} --type merge -p '{"spec":{"priorityLevelConfiguration":{"name":"controller-resilience-shared"}}}'`;
  const message = `ServiceAccount app is still throttled, although its throttle ended at ${END}. The operator keeps trying to release it. To release it: ${command}. Not written yet: apply FlowSchema ${scene.schema()}: admission webhook "flows.example.com" denied the request: no.`;
  expect(late).toMatchObject({ status: "False", reason: "ReleaseFailed", message, progressing: true });
  expect(late.stalled).toEqual({ reason: "ReleaseFailed", message });
  expect(late.recheckAfterMs).toBeLessThanOrEqual(30_000);
});
