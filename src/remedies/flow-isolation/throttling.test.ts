import type { Mode } from "../../core/remedy";
import { describe, expect, it } from "vitest";
import {
  DEFAULTS,
  MINUTES,
  onRunaway,
  provisioned,
  QUARANTINE_LEVEL,
  Scene,
  SHARED,
  throttled,
  throttling,
} from "./testing/scene";

const reasons = (scene: Scene): string[] => scene.written.map(({ eventReason }) => eventReason);

/** The command that releases a throttled ServiceAccount. */
const release = (scene: Scene): string =>
  `kubectl patch flowschema ${scene.schema()} --type merge -p '{"spec":{"priorityLevelConfiguration":{"name":"${SHARED}"}}}'`;

describe("a runaway", () => {
  it("is read as often while another write fails", async () => {
    const scene = await provisioned();
    scene.outcome = { result: "Failed", message: "no" };
    scene.world.cluster.delete(QUARANTINE_LEVEL);
    expect(await scene.pass()).toMatchObject({ recheckAfterMs: 30_000 });
    scene.perSecond.set("app", 5_000);
    expect(await scene.run(10)).toMatchObject({ recheckAfterMs: 5_000 });
  });

  it("is reported with its rate, throttled by one patch, released on probation, and then Normal", async () => {
    const scene = await provisioned();
    expect([...scene.world.cluster.keys()]).toContain(QUARANTINE_LEVEL);
    scene.perSecond.set("app", 5_000);
    const first = await scene.run(30);
    expect(first).toMatchObject({
      status: "True",
      reason: "Isolated",
      recheckAfterMs: 5_000,
      message: "ServiceAccount app is near or above its threshold: 5000 requests/s, threshold 100 requests/s for 30s.",
    });
    const decision = await scene.run(10);
    expect(decision).toMatchObject({ status: "False", reason: "Throttled", intents: [{ verb: "apply" }] });
    expect(scene.written).toMatchObject([
      {
        target: { kind: "FlowSchema", name: scene.schema() },
        eventReason: "FlowThrottled",
        why: "ServiceAccount app is throttled for 5m: 5000 requests/s, threshold 100 requests/s for 30s.",
      },
    ]);
    expect(scene.level()).toBe(QUARANTINE_LEVEL);
    expect(scene.entry()).toMatchObject({
      ...{ state: "Throttled", requestsPerSecond: 5_000, releaseSeconds: 300 },
      ...{ since: "2025-01-01T00:00:40Z", until: "2025-01-01T00:05:40Z" },
    });
    await scene.run(5);
    expect(scene.entry()).toMatchObject({ state: "Throttled", requestsPerSecond: 5_000 });
    scene.perSecond.set("app", 10);
    const held = await scene.run(4 * MINUTES);
    expect(held).toMatchObject({ reason: "Throttled", intents: [] });
    expect(held.message).toContain("until 2025-01-01T00:05:40Z");
    await scene.run(1 * MINUTES - 5);
    expect(scene.level()).toBe(SHARED);
    expect(reasons(scene)).toEqual(["FlowThrottled", "FlowReleased"]);
    expect(scene.written[1]?.why).toBe(
      "ServiceAccount app is released to level controller-resilience-shared, on probation: its throttle of 5m is over; 100 requests/s for 30s would throttle it again.",
    );
    expect(await scene.pass()).toMatchObject({
      ...{ status: "True", reason: "Isolated", recheckAfterMs: 5_000 },
      message: expect.stringMatching(/^ServiceAccount app is on probation after a throttle of 5m\. /) as string,
    });
    await scene.run(5 * MINUTES);
    expect(scene.entry()).toMatchObject({ state: "Normal" });
    expect(scene.entry()).not.toHaveProperty("releaseSeconds");
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Isolated" });
    expect(scene.written).toHaveLength(2);
  });

  it("is throttled also with a long `for`", async () => {
    const { requestRate } = DEFAULTS;
    const scene = await provisioned(new Scene({ requestRate: { ...requestRate, for: "16m", onRunaway: "Throttle" } }));
    scene.perSecond.set("app", 5_000);
    await scene.run(15 * MINUTES);
    expect(scene.level()).toBe(SHARED);
    await scene.run(2 * MINUTES);
    expect(scene.level()).toBe(QUARANTINE_LEVEL);
  });

  it("is only reported with onRunaway: Report, and Stalled is True", async () => {
    const scene = await provisioned(new Scene());
    expect([...scene.world.cluster.keys()]).not.toContain(QUARANTINE_LEVEL);
    scene.perSecond.set("app", 5_000);
    const decision = await scene.run(91);
    expect(decision).toMatchObject({
      ...{ status: "False", reason: "Runaway", intents: [], stalled: { reason: "Runaway" } },
      recheckAfterMs: 30_000,
    });
    expect(decision.message).toBe(
      "ServiceAccount app is a runaway: 5000 requests/s, threshold 100 requests/s for 30s. It is not throttled: onRunaway is Report. Fix the client, or throttle it: docs/runbook-runaway.md.",
    );
    scene.perSecond.set("app", 0);
    expect(await scene.run(30)).toMatchObject({ status: "True", reason: "Isolated" });
  });

  const observe = (scene: Scene) => void (scene.object.spec.mode = "Observe");

  it.each<[string, string, (scene: Scene) => void]>([
    ["the spec reports", "onRunaway is Report.", scene => scene.change(onRunaway("Report"))],
    ["only a later version knows the spec", "Later", scene => scene.change(onRunaway("Later" as never))],
    ["the mode is Observe", "It is not throttled: mode Observe. Else it would be throttled now.", observe],
  ])("is not watched closely where %s, told of all the same, and throttled once it may be", async (_, why, only) => {
    const scene = await provisioned();
    only(scene);
    scene.perSecond.set("app", 5_000);
    const decision = await scene.run(3 * MINUTES);
    expect(decision).toMatchObject({ reason: "Runaway", intents: [], recheckAfterMs: 30_000 });
    expect(decision.message).toContain(why);
    expect(decision.stalled === undefined).toBe(scene.object.spec.mode === "Observe");
    scene.change(onRunaway("Throttle"));
    scene.object.spec.mode = "Enforce";
    await scene.run(20);
    expect(scene.level()).toBe(QUARANTINE_LEVEL);
  });
});

describe("while the rates are unknown", () => {
  it("all flows stay isolated, none is throttled, and the condition reports it", async () => {
    const scene = await provisioned();
    scene.unknown = "The operator lacks the right to get /metrics.";
    scene.perSecond.set("app", 5_000);
    const decision = await scene.run(3 * MINUTES);
    expect(decision).toMatchObject({ status: "Unknown", reason: "ObserveFailed", intents: [] });
    expect(decision.message).toContain("The operator lacks the right to get /metrics.");
    expect(scene.entry()).not.toHaveProperty("requestsPerSecond");
  });

  it("a throttle ends on time", async () => {
    const scene = await throttled();
    scene.unknown = "No.";
    await scene.run(5 * MINUTES);
    expect(scene.level()).toBe(SHARED);
  });
});

describe("a throttle is lifted", () => {
  it("at once when the spec no longer throttles", async () => {
    const scene = await throttled();
    scene.change(onRunaway("Report"));
    await scene.pass();
    expect(scene.level()).toBe(SHARED);
    expect(scene.written.at(-1)?.why).toContain("onRunaway is Report");
  });

  it.each<[Mode, string]>([
    ["Observe", "mode Observe"],
    ["OperatorObserves", "the operator runs with --mode=Observe"],
  ])("only by hand in mode %s, with the command in the condition", async (mode, why) => {
    const scene = await throttled();
    scene.written.length = 0;
    scene.judged = mode;
    const decision = await scene.run(6 * MINUTES);
    expect(scene.written).toEqual([]);
    expect(decision.message).toContain(`is throttled, and stays so: ${why}. To release it:`);
    expect(decision).toMatchObject({ status: "False", reason: "Throttled", stalled: {} });
    expect(decision.message).toContain(release(scene));
    scene.judged = "Enforce";
    await scene.pass();
    expect(scene.level()).toBe(SHARED);
  });

  it("only by hand if the FlowSchema no longer belongs to the operator, with the command in the condition", async () => {
    const scene = await throttled();
    scene.edit(scene.schema(), { labels: {} });
    const decision = await scene.pass();
    expect(decision.message).toContain("was not made by the operator");
    expect(decision.message).toContain(release(scene));
    scene.edit(scene.schema(), { spec: { priorityLevelConfiguration: { name: SHARED } } });
    expect((await scene.pass()).message).not.toContain("kubectl patch");
  });

  it("although the original level is unusable, which does not prevent the throttle", async () => {
    const scene = await provisioned();
    scene.edit(SHARED, { labels: {} });
    scene.perSecond.set("app", 5_000);
    await scene.run(61);
    expect(scene.level()).toBe(QUARANTINE_LEVEL);
  });
});

describe("a throttle that can't be lifted", () => {
  const REFUSED = { result: "Failed", message: 'admission webhook "flows.example.com" failed' } as const;

  it("never becomes a probation; Stalled is True with the command to release it", async () => {
    const scene = await throttled();
    scene.perSecond.set("app", 0);
    scene.outcome = REFUSED;
    const soon = await scene.run(6 * MINUTES);
    expect(scene.entry()).toMatchObject({ state: "Throttled", until: "2025-01-01T00:05:40Z" });
    expect(soon).toMatchObject({ status: "False", reason: "Throttled", progressing: true });
    expect(soon.stalled).toBeUndefined();
    expect(soon.message).toContain("is being released");
    const late = await scene.run(4 * MINUTES);
    expect(late).toMatchObject({ status: "False", reason: "ReleaseFailed", stalled: { reason: "ReleaseFailed" } });
    expect(late.stalled?.message).toContain(release(scene));
    expect(late.message).toContain('admission webhook "flows.example.com" failed');
    const before = scene.object.status;
    const day = await scene.run(24 * 60 * MINUTES);
    expect(day).toMatchObject({ reason: "ReleaseFailed" });
    expect(day.recheckAfterMs).toBeLessThanOrEqual(30_000);
    expect(scene.object.status).toEqual(before);
    expect(scene.entry()).toMatchObject({ state: "Throttled" });
    scene.outcome = undefined;
    await scene.run(3);
    expect(scene.level()).toBe(SHARED);
    expect(scene.entry()).toMatchObject({ state: "Probation" });
  });

  it("can be lifted by a person", async () => {
    const scene = await throttled();
    scene.perSecond.set("app", 0);
    scene.outcome = REFUSED;
    await scene.run(10 * MINUTES);
    const { spec } = scene.world.cluster.get(scene.schema())!;
    scene.edit(scene.schema(), { spec: { ...spec, priorityLevelConfiguration: { name: SHARED } } });
    await scene.pass();
    expect(scene.entry()).toMatchObject({ state: "Probation" });
    await scene.run(6 * MINUTES);
    expect(scene.entry()).toMatchObject({ state: "Normal" });
  });

  it("is also reported by a leader whose status has no entry for it", async () => {
    const scene = await throttled();
    scene.object = { ...scene.object, status: {} };
    scene.outcome = REFUSED;
    expect(await scene.run(5 * MINUTES)).toMatchObject({ reason: "ReleaseFailed" });
    expect(scene.entry()).toMatchObject({ state: "Throttled" });
  });

  it("does not stop the release of another", async () => {
    const scene = throttling();
    scene.put("Deployment", "other", { serviceAccountName: "other" });
    scene.object.spec.targets = [
      { kind: "Deployment", name: "app" },
      { kind: "Deployment", name: "other" },
    ];
    scene.perSecond.set("other", 5_000);
    await throttled(scene);
    expect(scene.level("other")).toBe(QUARANTINE_LEVEL);
    for (const account of ["app", "other"]) scene.perSecond.set(account, 0);
    scene.edit(scene.schema(), { labels: {} });
    await scene.run(6 * MINUTES);
    expect(scene.entry()).toMatchObject({ state: "Throttled" });
    expect([scene.level("other"), scene.entry("other")?.state]).toEqual([SHARED, "Probation"]);
  });
});

describe("the quarantine level", () => {
  it("of a foreign owner is not used, and its flows are released", async () => {
    const scene = await throttled();
    scene.edit(QUARANTINE_LEVEL, { labels: {} });
    const decision = await scene.pass();
    expect(decision.message).toContain(`PriorityLevelConfiguration ${QUARANTINE_LEVEL} was not made by the operator`);
    expect(scene.level()).toBe(SHARED);
  });

  it("must be in effect before a runaway is throttled", async () => {
    const scene = await provisioned(new Scene());
    scene.perSecond.set("app", 5_000);
    await scene.run(61);
    scene.change(onRunaway("Throttle"));
    await scene.pass();
    expect(reasons(scene)).not.toContain("FlowThrottled");
    await scene.run(20);
    expect(scene.level()).toBe(QUARANTINE_LEVEL);
  });
});

describe("status", () => {
  it("of a later version, with a state that this one does not know, is as none", async () => {
    const scene = await provisioned();
    const flows = scene.object.status!.flows!.map(flow => ({ ...flow, state: "Easing" as "Normal" }));
    scene.object.status = { ...scene.object.status, flows };
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Isolated" });
    expect(scene.entry()).toMatchObject({ state: "Normal" });
  });

  it.each([
    ["while a rate varies slightly", 40, [41, 45, 38, 30, 55]],
    ["for any rate far below the threshold", 2, [6, 0, 9]],
  ])("does not change %s", async (_, first, others) => {
    const scene = await provisioned(new Scene());
    scene.perSecond.set("app", first);
    await scene.run(60);
    const before = scene.object.status;
    for (const perSecond of others) {
      scene.perSecond.set("app", perSecond);
      await scene.run(30);
      expect(scene.object.status).toEqual(before);
    }
    scene.perSecond.set("app", 91.7);
    await scene.run(30);
    expect(scene.entry()).toMatchObject({ requestsPerSecond: 92 });
  });
});
