import { describe, expect, it } from "vitest";
import type { RestartStatus } from "../../api/controller-resilience";
import { countConfirmed, joinRestarts, oldestFirst, restartsOf } from "./history";

const NOW = new Date("2025-06-01T12:00:00Z");

function restart(id: number, outcome: RestartStatus["outcome"] = "Recovered"): RestartStatus {
  const time = new Date(NOW.getTime() - id * 60_000).toISOString();
  return { pod: `app-${id}`, podUID: `uid-${id}`, workload: "Deployment/app", time, cause: "Unknown", outcome };
}

describe("confirmed restarts", () => {
  it("are those that are new, and requests of a crash that turned out to have been carried out", () => {
    const before = [restart(5), restart(4, "Requested"), restart(3, "Requested")];
    const after = [
      restart(5, "Ineffective"),
      restart(4, "Restarted"),
      restart(3, "Requested"),
      restart(1, "Restarted"),
    ];
    expect(countConfirmed(before, after)).toBe(2);
    expect(countConfirmed(after, after)).toBe(0);
    expect(countConfirmed(before, [])).toBe(0);
  });
});

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

  it("is sorted by time; entries with an unreadable time come first", () => {
    expect(oldestFirst([restart(1), restart(3), undated, restart(2)])).toEqual([
      undated,
      restart(3),
      restart(2),
      restart(1),
    ]);
  });

  it("of one workload has only its entries, in the same order", () => {
    const other = { ...restart(2), workload: "StatefulSet/app" };
    expect(restartsOf("Deployment/app", [restart(1), other, restart(3)])).toEqual([restart(1), restart(3)]);
  });
});
