import { describe, expect, it } from "vitest";
import { ConditionType } from "../../api/conditions";
import type { Report } from "../../core/remedy";
import { conditionUpdates } from "./ready";
import type { Mode } from "../../core/mode";
import { makeReport } from "../testing/remedies";

const TYPES = [ConditionType.TokensAccepted, ConditionType.BindingsCurrent, ConditionType.FlowsIsolated];

function summary(decisions: Partial<Report>[], suspended = false) {
  const verdicts = decisions.map((changes, i) => ({ condition: TYPES[i]!, report: makeReport(changes) }));
  const updates = conditionUpdates(verdicts, { suspended, mode: "Enforce" });
  return Object.fromEntries(updates.map(({ type, status, reason }) => [type, `${status}/${reason}`]));
}

describe("Ready", () => {
  it("is True when all remedies hold", () => {
    expect(summary([{}, {}])).toMatchObject({ Ready: "True/AllHold", TokensAccepted: "True/Accepted" });
  });

  it("is False with the reason of the first that is False, even after an Unknown", () => {
    const decisions = [
      { status: "Unknown", reason: "ObserveFailed" },
      { status: "False", reason: "Rejected" },
      { status: "False", reason: "NoPods" },
    ] as const;
    expect(summary([...decisions])).toMatchObject({ Ready: "False/Rejected" });
  });

  it("is Unknown when none is False and one is Unknown", () => {
    expect(summary([{}, { status: "Unknown", reason: "DecideFailed" }])).toMatchObject({
      Ready: "Unknown/DecideFailed",
    });
  });

  it("is True when no remedy is on, and its message says so", () => {
    expect(summary([])).toEqual({
      Ready: "True/NoRemedies",
      Reconciling: "False/Idle",
      Stalled: "False/Idle",
    });
  });

  it("has the messages of the conditions that it summarizes", () => {
    const [ready] = conditionUpdates(
      [{ condition: "TokensAccepted", report: makeReport({ status: "False", message: "Pod x." }) }],
      { suspended: false, mode: "Enforce" },
    );
    expect(ready).toMatchObject({ type: "Ready", message: "Pod x." });
  });

  it.each<[Mode, string]>([
    ["Observe", "All remedies report True."],
    ["OperatorObserves", "All remedies report True. Only observed: the operator runs with --mode=Observe."],
    [
      "NamespaceSkipped",
      "All remedies report True. Only observed: the Namespace has the annotation controller-resilience.io/skip.",
    ],
  ])("says in mode %s what wins over spec.mode", (mode, message) => {
    const [ready] = conditionUpdates([{ condition: "TokensAccepted", report: makeReport({ status: "True" }) }], {
      suspended: false,
      mode,
    });
    expect(ready).toMatchObject({ type: "Ready", status: "True", reason: "AllHold", message });
  });
});

describe("Reconciling and Stalled", () => {
  it("are False in the normal state", () => {
    expect(summary([{}])).toMatchObject({ Reconciling: "False/Idle", Stalled: "False/Idle" });
  });

  it("are True while work is in progress, or a person must act", () => {
    expect(summary([{ progressing: true }])).toMatchObject({ Reconciling: "True/Progressing", Stalled: "False/Idle" });
    const stalled = { reason: "RestartsExhausted", message: "Look at it." } as const;
    expect(summary([{ stalled }])).toMatchObject({ Reconciling: "False/Idle", Stalled: "True/RestartsExhausted" });
  });

  it("are never True together", () => {
    const stalled = { reason: "RestartsExhausted", message: "Look at it." } as const;
    expect(summary([{ progressing: true }, { stalled }])).toMatchObject({
      Reconciling: "False/Idle",
      Stalled: "True/RestartsExhausted",
    });
  });

  it("are False while suspended, and Ready is Unknown", () => {
    expect(summary([{ status: "Unknown", reason: "Suspended" }], true)).toEqual({
      Ready: "Unknown/Suspended",
      TokensAccepted: "Unknown/Suspended",
      Reconciling: "False/Suspended",
      Stalled: "False/Suspended",
    });
  });
});
