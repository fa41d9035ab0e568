import { describe, expect, it } from "vitest";
import type { StatusCondition } from "../../api/controller-resilience";
import type { LimitReason, Outcome } from "../../core/intent";
import { FakeClock } from "../../core/testing/fake-clock";
import { createRemedies } from "../../remedies/registry";
import { Reporter } from "./reporter";
import { makeObject, RecordingEvents, RecordingMetrics } from "../testing/fakes";
import { makeEviction, makePatch } from "../testing/remedies";

const KEY = "team/app";

/** Conditions of the reasons that are not of TokensAccepted. */
const CONDITIONS: Record<string, string> = {
  ExpiringSoon: "BindingsCurrent",
  Rolling: "TokenLifetimeBounded",
  WouldChange: "TokenLifetimeBounded",
};

function makeReporter() {
  const clock = new FakeClock();
  const events = new RecordingEvents();
  const metrics = new RecordingMetrics();
  const reporter = new Reporter(events, metrics, clock, createRemedies());
  const seen = () =>
    events.records.splice(0).map(({ regarding, type, reason }) => `${type} ${reason} on ${regarding.kind}`);
  return { clock, events, metrics, reporter, seen };
}

function condition(type: string, status: StatusCondition["status"], reason: string): StatusCondition {
  return { type, status, reason, message: `It is ${reason}.`, lastTransitionTime: "2025-01-01T00:00:00Z" };
}

describe("Events on intents", () => {
  it("are created for each executed intent on both objects, with references to each other", () => {
    const { reporter, events } = makeReporter();
    reporter.executions(KEY, makeObject(), [{ intent: makeEviction(), outcome: { result: "Executed" } }]);
    const [onPod, onObject] = events.records;
    expect(onPod).toMatchObject({
      regarding: { kind: "Pod", name: "app-1", uid: "uid-of-app-1" },
      related: { kind: "ControllerResilience", namespace: "team", name: "app", uid: "uid-of-app" },
      type: "Normal",
      reason: "PodEvicted",
      action: "Evict",
      note: "Pod app-1 is answered 401.",
    });
    expect(onObject).toMatchObject({ regarding: onPod?.related, related: onPod?.regarding, reason: "PodEvicted" });
    expect(events.records).toHaveLength(2);
  });

  it.each<[Outcome, string]>([
    [{ result: "Limited", limit: "Cooldown", retryAfterMs: 1 }, "RestartDeferred"],
    [{ result: "Limited", limit: "RestartPacer", retryAfterMs: 1 }, "RestartDeferred"],
    [{ result: "Limited", limit: "MaxRestarts", retryAfterMs: 1 }, "RestartsExhausted"],
    [{ result: "Blocked", message: "no", retryAfterMs: 1 }, "RestartBlocked"],
    [{ result: "Forbidden", message: "no" }, "Forbidden"],
    [{ result: "Failed", message: "no" }, "WriteFailed"],
  ])("report %o once, and again after a change", (outcome, reason) => {
    const { reporter, seen } = makeReporter();
    const tell = (what: Outcome) => reporter.executions(KEY, makeObject(), [{ intent: makeEviction(), outcome: what }]);
    tell(outcome);
    expect(seen()).toEqual([`Warning ${reason} on Pod`, `Warning ${reason} on ControllerResilience`]);
    tell(outcome);
    tell("retryAfterMs" in outcome ? { ...outcome, retryAfterMs: 99 } : outcome);
    expect(seen()).toEqual([]);
    tell({ result: "Executed" });
    expect(seen()).toHaveLength(2);
    tell(outcome);
    expect(seen()).toHaveLength(2);
  });

  it("report each limit that delays the same intent, except the leader warm-up", () => {
    const { reporter, seen } = makeReporter();
    const tell = (limit: LimitReason) =>
      reporter.executions(KEY, makeObject(), [
        { intent: makeEviction(), outcome: { result: "Limited", limit, retryAfterMs: 1 } },
      ]);
    tell("LeaderWarmup");
    expect(seen()).toEqual([]);
    tell("RestartPacer");
    expect(seen()).toHaveLength(2);
    tell("Cooldown");
    tell("Cooldown");
    expect(seen()).toEqual(["Warning RestartDeferred on Pod", "Warning RestartDeferred on ControllerResilience"]);
  });

  it("are not repeated for occasional retries, but for an obstacle that returns much later", () => {
    const { reporter, seen, clock } = makeReporter();
    const blocked: Outcome = { result: "Blocked", message: "no", retryAfterMs: 1 };
    const tell = () => reporter.executions(KEY, makeObject(), [{ intent: makeEviction(), outcome: blocked }]);
    tell();
    seen();
    for (let i = 0; i < 10; i++) {
      reporter.executions(KEY, makeObject(), []);
      clock.advance(300_000);
      tell();
    }
    expect(seen()).toEqual([]);
    clock.advance(900_001);
    tell();
    expect(seen()).toHaveLength(2);
  });

  it("are separate for each target, and include blocked writes other than restarts", () => {
    const { reporter, seen } = makeReporter();
    const blocked: Outcome = { result: "Blocked", message: "no", retryAfterMs: 1 };
    reporter.executions(KEY, makeObject(), [{ intent: makePatch("a"), outcome: blocked }]);
    seen();
    reporter.executions(KEY, makeObject(), [
      { intent: makePatch("a"), outcome: blocked },
      { intent: makePatch("b"), outcome: blocked },
    ]);
    expect(seen()).toEqual(["Warning WriteBlocked on Deployment", "Warning WriteBlocked on ControllerResilience"]);
  });

  it("omit what conditions report, and what users need not know", () => {
    const { reporter, seen } = makeReporter();
    const quiet: Outcome[] = [
      { result: "Observed" },
      { result: "Skipped" },
      { result: "NotLeader" },
      { result: "Conflict", message: "changed" },
    ];
    reporter.executions(
      KEY,
      makeObject(),
      quiet.map(outcome => ({ intent: makePatch(), outcome })),
    );
    expect(seen()).toEqual([]);
  });
});

describe("Events on announcements", () => {
  it("are created on the object, and on the object that they are about", () => {
    const { reporter, events } = makeReporter();
    const about = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", namespace: "team", name: "edit" };
    const words = { type: "Normal", reason: "BindingExpiringSoon", note: "It expires." } as const;
    reporter.events(KEY, makeObject(), [{ ...words, about }]);
    reporter.events(KEY, makeObject(), [{ ...words, about }]);
    expect(events.records).toMatchObject([
      { regarding: about, related: { kind: "ControllerResilience", name: "app" }, ...words },
      { regarding: { kind: "ControllerResilience", name: "app" }, related: about, ...words },
    ]);
    expect(events.records).toHaveLength(2);
  });
});

describe("Events on conditions", () => {
  const tokens = condition("TokensAccepted", "False", "Rejected");

  it("are created when status or reason of a remedy's condition changes, and never for the summary conditions", () => {
    const { reporter, seen } = makeReporter();
    reporter.conditions(KEY, makeObject(), [
      condition("Ready", "False", "Rejected"),
      tokens,
      condition("Stalled", "False", "Idle"),
    ]);
    expect(seen()).toEqual(["Warning Rejected on ControllerResilience"]);
    const object = makeObject(KEY, {}, { conditions: [tokens] });
    reporter.conditions(KEY, object, [{ ...tokens, message: "Other words." }]);
    expect(seen()).toEqual([]);
    reporter.conditions(KEY, object, [{ ...tokens, reason: "RestartBlocked" }]);
    reporter.conditions(KEY, object, [{ ...tokens, status: "True" }]);
    expect(seen()).toEqual([
      "Warning RestartBlocked on ControllerResilience",
      "Normal Rejected on ControllerResilience",
    ]);
  });

  it.each([
    ["Normal", "True", "ExpiringSoon"],
    ["Normal", "False", "Rolling"],
    ["Normal", "False", "Restarting"],
    ["Normal", "Unknown", "Suspended"],
    ["Warning", "False", "RestartBlocked"],
    ["Warning", "False", "WouldChange"],
    ["Warning", "Unknown", "ObserveFailed"],
  ] as const)("are %s for %s with the reason %s", (type, status, reason) => {
    const { reporter, seen } = makeReporter();
    reporter.conditions(KEY, makeObject(), [condition(CONDITIONS[reason] ?? "TokensAccepted", status, reason)]);
    expect(seen()).toEqual([`${type} ${reason} on ControllerResilience`]);
  });
});

describe("announcements", () => {
  it("are created once while a remedy repeats them", () => {
    const { reporter, seen } = makeReporter();
    const one = { type: "Normal", reason: "Recovered", note: "Pod a." } as const;
    reporter.events(KEY, makeObject(), [one, one, { ...one, note: "Pod b." }]);
    reporter.events(KEY, makeObject(), [one]);
    expect(seen()).toHaveLength(2);
    reporter.events(KEY, makeObject(), []);
    reporter.events(KEY, makeObject(), [one]);
    expect(seen()).toHaveLength(1);
  });
});

describe("metrics of conditions", () => {
  it("follow the conditions, and are removed with the remedy or the object", () => {
    const { reporter, metrics } = makeReporter();
    reporter.conditions(KEY, makeObject(), [
      condition("Ready", "True", "AllHold"),
      condition("TokensAccepted", "True", "Accepted"),
    ]);
    expect(Object.fromEntries(metrics.conditions)).toEqual({
      "team/app:Ready": "True",
      "team/app:TokensAccepted": "True",
    });
    reporter.conditions(KEY, makeObject(), [condition("Ready", "Unknown", "DecideFailed")]);
    expect(Object.fromEntries(metrics.conditions)).toEqual({ "team/app:Ready": "Unknown" });
    reporter.forget(KEY);
    reporter.forget("never/seen");
    expect(metrics.conditions.size).toBe(0);
  });
});

describe("the gauges of remedies", () => {
  it("follow status, and are removed with the object", () => {
    const { reporter, metrics } = makeReporter();
    const status = { flows: [{ serviceAccount: "kai", requestsPerSecond: 3 }] } as never;
    reporter.status(KEY, status);
    expect(metrics.statuses.get(KEY)).toEqual(status);
    reporter.forget(KEY);
    expect(metrics.statuses.get(KEY)).toEqual({});
  });
});
