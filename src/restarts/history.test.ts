import { describe, expect, it } from "vitest";
import type { RestartStatus } from "../api/controller-resilience";
import { joinRestarts, oldestFirst, isCreatedAfter, settleOpenRestarts } from "./history";
import { Cause } from "../api/conditions";

const NOW = new Date("2025-06-01T12:00:00Z");

function restart(id: number, outcome: RestartStatus["outcome"] = "Recovered"): RestartStatus {
  const time = new Date(NOW.getTime() - id * 60_000).toISOString();
  return { pod: `app-${id}`, podUID: `uid-${id}`, workload: "Deployment/app", time, cause: "Unknown", outcome };
}

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

describe("a history", () => {
  const undated = { ...restart(1), time: "yesterday" };

  it("is sorted by time; entries with an unreadable time come last", () => {
    const sorted = [restart(3), restart(2), restart(1), undated];
    expect(oldestFirst([restart(1), restart(3), undated, restart(2)])).toEqual(sorted);
  });
});

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

it.each(["Recovered", "Ineffective"] as const)("a restart with a final outcome stays %s", outcome => {
  expect(settle(entry(outcome), true, "Restarted")).toEqual([outcome]);
});

it("a pod is created after a restart if it is newer than all pods that its workload had, whatever the operator's clock", () => {
  const newestPodTime = "2025-06-01T11:00:00Z";
  for (const time of [undefined, "2025-06-01T10:00:00Z", "yesterday"]) {
    expect(isCreatedAfter(Date.parse(newestPodTime), { ...entry("Restarted", time), newestPodTime })).toBe(false);
    expect(isCreatedAfter(Date.parse(newestPodTime) + 1_000, { ...entry("Restarted", time), newestPodTime })).toBe(
      true,
    );
  }
});
