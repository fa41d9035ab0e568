import { describe, expect, it } from "vitest";
import { Cause } from "../../api/conditions";
import type { RestartStatus } from "../../api/controller-resilience";
import { isCreatedAfter, settleOpenRestarts } from "./settle";

const T = Date.parse("2025-06-01T12:00:00.700Z");
const MINUTE = 60_000;

function entry(outcome: RestartStatus["outcome"], time = new Date(T).toISOString()): RestartStatus {
  return { pod: "app-1", podUID: "uid-1", workload: "Deployment/app", time, cause: Cause.Unknown, outcome };
}

function settle(one: RestartStatus, executed: boolean, outcome: RestartStatus["outcome"], afterMs = 0) {
  const evidence = { wasExecuted: () => executed, outcomeOf: () => outcome };
  return settleOpenRestarts([one], evidence, T + afterMs).map(settled => settled.outcome);
}

describe("an open restart", () => {
  it("that was requested is executed once its effect is visible, and then has the outcome that was observed", () => {
    expect(settle(entry("Requested"), true, "Restarted")).toEqual(["Restarted"]);
    expect(settle(entry("Requested"), true, "Recovered")).toEqual(["Recovered"]);
  });

  it("that was requested stays open for five minutes without a visible effect, and is dropped then", () => {
    expect(settle(entry("Requested"), false, "Recovered", 5 * MINUTE - 1)).toEqual(["Requested"]);
    expect(settle(entry("Requested"), false, "Recovered", 5 * MINUTE)).toEqual([]);
    expect(settle(entry("Requested", "yesterday"), false, "Recovered")).toEqual([]);
  });

  it("that was executed gets the outcome that was observed, however old it is", () => {
    expect(settle(entry("Restarted"), false, "Ineffective", 600 * MINUTE)).toEqual(["Ineffective"]);
    expect(settle(entry("Restarted"), false, "Restarted", 600 * MINUTE)).toEqual(["Restarted"]);
  });
});

describe("a restart with a final outcome", () => {
  it.each(["Recovered", "Ineffective"] as const)("stays %s", outcome => {
    expect(settle(entry(outcome), true, "Restarted")).toEqual([outcome]);
  });
});

describe("a pod", () => {
  it("is created after a restart in the same second, with a clock that is up to five seconds behind", () => {
    const second = Date.parse("2025-06-01T12:00:00Z");
    expect(isCreatedAfter(second - 5_000, entry("Restarted"))).toBe(true);
    expect(isCreatedAfter(second - 6_000, entry("Restarted"))).toBe(false);
    expect(isCreatedAfter(second, entry("Restarted", "yesterday"))).toBe(false);
  });
});
