import { describe, expect, it } from "vitest";
import type { RestartStatus } from "../api/controller-resilience";
import { joinRestarts, settleOpenRestarts } from "./history";
import { Cause } from "../api/conditions";
import { pod } from "../core/testing/views";
import { restartAt } from "./testing/history";

const NOW = new Date("2025-06-01T12:00:00Z");

const restart = (id: number, outcome: RestartStatus["outcome"] = "Recovered"): RestartStatus =>
  restartAt(NOW.getTime() - id * 60_000, { outcome });

describe("restarts of several remedies", () => {
  const token = (id: number, outcome?: RestartStatus["outcome"]) => ({
    ...restart(id, outcome),
    cause: "TokenTooLong",
  });

  it("are merged by time, each as reported by its own remedy; entries of no remedy stay", () => {
    const foreign = { ...restart(9), cause: "Somebody" };
    const before = [restart(4, "Restarted"), token(3, "Requested"), foreign];
    const told = [
      { causes: ["Unknown"], restarts: [restart(4, "Recovered")] },
      { causes: ["TokenTooLong"], restarts: [] },
    ];
    expect(joinRestarts(before, told)).toEqual([foreign, restart(4, "Recovered")]);
    expect(joinRestarts(before, [])).toEqual([foreign, restart(4, "Restarted"), token(3, "Requested")]);
  });
});

const T = Date.parse("2025-06-01T12:00:00.700Z");
const MINUTE = 60_000;

const entry = (outcome: RestartStatus["outcome"], time = new Date(T).toISOString()): RestartStatus =>
  restartAt(T, { outcome, time });

function settle(one: RestartStatus, executed: boolean, outcome: RestartStatus["outcome"], afterMs = 0) {
  const pods = executed ? [] : [{ view: pod({ uid: one.podUID }) }];
  const workloads = new Map([[one.workload, { pods }]]);
  const evidence = { causes: [Cause.Unknown], workloads, outcomeOf: () => outcome };
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
});
