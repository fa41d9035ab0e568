import { expect, it, describe } from "vitest";
import type { Outcome } from "../../core/intent";
import { whyNotReleased } from "./release-failure";
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

describe("the condition of a throttle that cannot be lifted", () => {
  it.each<[string, Outcome, string]>([
    [
      "a webhook that refuses",
      { result: "Forbidden", message: 'admission webhook "flows.example.com" denied the request: no' },
      'admission webhook "flows.example.com" refused the change; correct its rules first',
    ],
    [
      "a webhook that does not answer",
      {
        result: "Failed",
        message:
          'Internal error occurred: failed calling webhook "flows.example.com": Post "https://web.team.svc:443/": context deadline exceeded',
      },
      'admission webhook "flows.example.com" failed; mend or remove it first',
    ],
    [
      "an admission policy",
      {
        result: "Forbidden",
        message: `flowschemas "x" is forbidden: ValidatingAdmissionPolicy 'flows' with binding 'b' denied request: no`,
      },
      "ValidatingAdmissionPolicy 'flows' refused the change; correct its rules first",
    ],
    [
      "a missing right",
      { result: "Forbidden", message: "flowschemas is forbidden" },
      "the operator lacks the right to change FlowSchemas",
    ],
    [
      "another writer",
      { result: "Conflict", message: "the object has been modified" },
      "another client changes it at the same time",
    ],
    [
      "an API server that does not answer",
      { result: "Failed", message: "apply FlowSchema x: timed out after 30 s" },
      "the API server did not answer in time",
    ],
    [
      "anything else",
      { result: "Failed", message: "etcdserver: mvcc: database space exceeded" },
      "the API server did not accept the change (see the Events of this object)",
    ],
  ])("says in words why: %s", async (_, outcome, why) => {
    const { scene } = await throttled();
    scene.outcome = outcome;
    const late = await scene.run(10 * MINUTES);
    const command = `kubectl patch flowschema ${scene.schema()} --type merge -p '{"spec":{"priorityLevelConfiguration":{"name":"controller-resilience-shared"}}}'`;
    const message = `ServiceAccount app is still throttled, although its throttle ended at ${END}: the operator cannot release it, because ${why}. The operator keeps trying. To release it: ${command}.`;
    expect(late).toMatchObject({ status: "False", reason: "ReleaseFailed", message, progressing: true });
    expect(late.stalled).toEqual({ reason: "ReleaseFailed", message });
    expect(late.recheckAfterMs).toBeLessThanOrEqual(30_000);
  });

  it("says if the changes do not last", () => {
    expect(whyNotReleased([])).toBe("its changes do not last; find the client that reverts them");
  });

  it("still names another write that fails", async () => {
    const { scene } = await throttled();
    scene.outcome = { result: "Failed", message: "no" };
    await scene.run(10 * MINUTES);
    scene.world.cluster.delete("controller-resilience-shared");
    const late = await scene.pass();
    expect(late).toMatchObject({ stalled: { reason: "ReleaseFailed" } });
    expect(late.message).toContain(
      "Not written yet: create PriorityLevelConfiguration controller-resilience-shared: no.",
    );
    expect(late.message).not.toContain("apply FlowSchema");
  });
});
