import { describe, expect, it } from "vitest";
import type { StatusCondition } from "../../api/controller-resilience";
import type { Outcome } from "../../core/intent";
import { FakeClock } from "../../core/testing/fake-clock";
import { createRemedies } from "../../remedies/registry";
import { Reporter } from "./reporter";
import { makeObject, RecordingEvents, RecordingMetrics } from "../testing/fakes";
import { makeEviction, makePatch } from "../testing/remedies";

const KEY = "team/app";

/** Conditions of the reasons that are not of TokensAccepted. */
const CONDITIONS: Record<string, string> = {
  Current: "BindingsCurrent",
  Rolling: "TokenLifetimeBounded",
  WouldChange: "TokenLifetimeBounded",
};

function makeReporter() {
  const clock = new FakeClock();
  const events = new RecordingEvents();
  const reporter = new Reporter({ events, metrics: new RecordingMetrics(), clock, remedies: createRemedies() });
  const seen = () =>
    events.records.splice(0).map(({ regarding, type, reason }) => `${type} ${reason} on ${regarding.kind}`);
  return { clock, events, reporter, seen };
}

function condition(type: string, status: StatusCondition["status"], reason: string): StatusCondition {
  return { type, status, reason, message: `It is ${reason}.`, lastTransitionTime: "2025-01-01T00:00:00Z" };
}

describe("Events on intents", () => {
  it("are created once for each executed intent, on its target", () => {
    const { reporter, events } = makeReporter();
    reporter.executions(makeObject(), [{ intent: makeEviction(), outcome: { result: "Executed" } }]);
    expect(events.records).toHaveLength(1);
    expect(events.records[0]).toMatchObject({
      regarding: { kind: "Pod", name: "app-1", uid: "uid-of-app-1" },
      related: { kind: "ControllerResilience", namespace: "team", name: "app", uid: "uid-of-app" },
      type: "Normal",
      reason: "PodEvicted",
      action: "Evict",
      note: "Pod app-1 is answered 401.",
    });
  });

  it("are on the object if the target is outside of its namespace, once for several writes with one reason", () => {
    const { reporter, events } = makeReporter();
    const [apiVersion, name] = ["flowcontrol.apiserver.k8s.io/v1", "level"];
    const executions = ["PriorityLevelConfiguration", "FlowSchema"].map(kind => {
      const intent = makePatch(name, { target: { apiVersion, kind, name } });
      return { intent, outcome: { result: "Executed" } } as const;
    });
    reporter.executions(makeObject(), executions);
    expect(events.records).toMatchObject([
      {
        regarding: { kind: "ControllerResilience", name: "app" },
        related: { kind: "FlowSchema", name },
      },
    ]);
  });

  it("are not created for what is not executed: conditions say it", () => {
    const { reporter, seen } = makeReporter();
    const others: Outcome[] = [
      { result: "Observed" },
      { result: "Failed", message: "no" },
      { result: "Blocked", message: "no", retryAfterMs: 1 },
      { result: "Limited", limit: "RestartPacer", retryAfterMs: 1 },
    ];
    reporter.executions(
      makeObject(),
      others.map(outcome => ({ intent: makePatch(), outcome })),
    );
    expect(seen()).toEqual([]);
  });
});

it("Events on announcements are created on the object, and refer to what they are about", () => {
  const { reporter, events } = makeReporter();
  const about = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", namespace: "team", name: "edit" };
  const words = { type: "Normal", reason: "BindingExpiringSoon", note: "It expires." } as const;
  reporter.events(makeObject(), [{ ...words, about }]);
  expect(events.records).toMatchObject([
    { regarding: { kind: "ControllerResilience", name: "app" }, related: about, ...words },
  ]);
});

describe("Events on conditions", () => {
  const accepted = condition("TokensAccepted", "True", "Accepted");
  const rejected = condition("TokensAccepted", "False", "Rejected");

  /** An object whose conditions become those of each step, which lasts for some seconds with a pass per second. */
  function lifeOf(reporter: Reporter, clock: FakeClock) {
    let conditions: readonly StatusCondition[] = [];
    return (seconds: number, ...after: StatusCondition[]): void => {
      for (let second = 0; second < seconds; second++) {
        reporter.conditions(KEY, makeObject(KEY, {}, { conditions: [...conditions] }), after);
        conditions = after;
        clock.advance(1_000);
      }
    };
  }

  function makeLife() {
    const { reporter, seen, clock } = makeReporter();
    const step = lifeOf(reporter, clock);
    return (...args: Parameters<typeof step>): string[] => {
      step(...args);
      return seen();
    };
  }

  it("are created when status or reason of a remedy's condition changes, and never for Ready and Reconciling", () => {
    const { reporter, seen, clock } = makeReporter();
    const pass = (object: ReturnType<typeof makeObject>, ...after: StatusCondition[]): string[] => {
      reporter.conditions(KEY, object, after);
      clock.advance(30_000);
      reporter.conditions(KEY, makeObject(KEY, {}, { conditions: after }), after);
      return seen();
    };
    const summary = [condition("Ready", "False", "Rejected"), condition("Stalled", "False", "Idle")];
    expect(pass(makeObject(), ...summary, rejected)).toEqual(["Warning Rejected on ControllerResilience"]);
    const object = makeObject(KEY, {}, { conditions: [rejected] });
    expect(pass(object, { ...rejected, message: "Other words." })).toEqual([]);
    expect(pass(object, { ...rejected, reason: "RestartBlocked" })).toEqual([
      "Warning RestartBlocked on ControllerResilience",
    ]);
    expect(pass(object, { ...rejected, status: "True" })).toEqual(["Normal Rejected on ControllerResilience"]);
  });

  it.each([
    ["Normal", "True", "Current"],
    ["Normal", "False", "Rolling"],
    ["Normal", "Unknown", "Suspended"],
  ] as const)("are %s for %s with the reason %s, at once", (type, status, reason) => {
    const { reporter, seen } = makeReporter();
    reporter.conditions(KEY, makeObject(), [condition(CONDITIONS[reason] ?? "TokensAccepted", status, reason)]);
    expect(seen()).toEqual([`${type} ${reason} on ControllerResilience`]);
  });

  it.each([
    ["Normal", "False", "RestartDeferred"],
    ["Warning", "False", "RestartBlocked"],
    ["Warning", "False", "WouldChange"],
    ["Warning", "Unknown", "ObserveFailed"],
  ] as const)("are %s for %s with the reason %s, once it has lasted for half a minute", (type, status, reason) => {
    const step = makeLife();
    const changed = condition(CONDITIONS[reason] ?? "TokensAccepted", status, reason);
    expect(step(30, changed)).toEqual([]);
    expect(step(30, changed)).toEqual([`${type} ${reason} on ControllerResilience`]);
  });

  it("omit a problem that passes by itself, such as a ServiceAccount that is recreated", () => {
    const step = makeLife();
    expect(step(60, accepted)).toEqual(["Normal Accepted on ControllerResilience"]);
    expect(step(2, condition("TokensAccepted", "False", "ServiceAccountMissing"))).toEqual([]);
    expect(step(60, accepted)).toEqual([]);
    expect(step(29, condition("TokensAccepted", "False", "ServiceAccountMissing"))).toEqual([]);
    expect(step(60, accepted)).toEqual([]);
  });

  it("omit a restart, which has its own Event, and a few 401s", () => {
    const step = makeLife();
    step(60, accepted);
    expect(step(10, condition("TokensAccepted", "False", "RestartDeferred"))).toEqual([]);
    expect(step(60, condition("TokensAccepted", "False", "Restarting"))).toEqual([]);
    expect(step(60, condition("TokensAccepted", "True", "Suspected"))).toEqual([]);
    expect(step(60, accepted)).toEqual([]);
  });

  it("warn when a person has to act, unless the remedy's own condition has just said so", () => {
    const step = makeLife();
    const deferred = condition("TokensAccepted", "False", "RestartDeferred");
    const stalled = (reason: string) => condition("Stalled", "True", reason);
    expect(step(3_600, deferred, condition("Stalled", "False", "Idle"))).toEqual([
      "Normal RestartDeferred on ControllerResilience",
    ]);
    expect(step(60, deferred, stalled("RestartDeferred"))).toEqual(["Warning RestartDeferred on ControllerResilience"]);
    expect(step(60, accepted, condition("Stalled", "False", "Idle"))).toHaveLength(1);
    expect(step(20, rejected, condition("Stalled", "False", "Idle"))).toEqual([]);
    const exhausted = condition("TokensAccepted", "False", "RestartsExhausted");
    expect(step(60, exhausted, stalled("RestartsExhausted"))).toEqual([
      "Warning RestartsExhausted on ControllerResilience",
    ]);
    expect(step(60, exhausted, condition("Stalled", "False", "Idle"))).toEqual([]);
    expect(step(60, exhausted, stalled("RestartsExhausted"))).toEqual([
      "Warning RestartsExhausted on ControllerResilience",
    ]);
  });

  it("are not created for what the remedy's own Event has just said", () => {
    const { reporter, events, clock } = makeReporter();
    const about = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", namespace: "team", name: "edit" };
    const request = { type: "Warning", reason: "BindingContested", note: "It is Contested.", about } as const;
    const contested = [condition("BindingsCurrent", "False", "Contested"), condition("Stalled", "True", "Contested")];
    const pass = (after: readonly StatusCondition[], before: readonly StatusCondition[] = after): void => {
      const requests = before === after ? [] : [request];
      const object = makeObject(KEY, {}, { conditions: [...before] });
      reporter.conditions(KEY, object, after, requests);
      reporter.events(object, requests);
      clock.advance(25_000);
    };
    pass(contested, []);
    for (let passes = 0; passes < 10; passes++) pass(contested);
    reporter.conditions(KEY, makeObject(KEY, {}, { conditions: contested }), [
      condition("BindingsCurrent", "True", "Current"),
    ]);
    expect(events.records.map(({ type, reason }) => [type, reason])).toEqual([
      ["Warning", "BindingContested"],
      ["Normal", "Current"],
    ]);
  });

  it("do not repeat what another leader has written", () => {
    const { reporter, seen, clock } = makeReporter();
    reporter.conditions(KEY, makeObject(), [accepted]);
    seen();
    // The loop forgets every object with the lead.
    reporter.forget(KEY);
    const read = makeObject(KEY, {}, { conditions: [rejected] });
    for (let pass = 0; pass < 3; pass++) {
      reporter.conditions(KEY, read, [rejected]);
      clock.advance(30_000);
    }
    expect(seen()).toEqual([]);
  });
});
