import { describe, expect, it } from "vitest";
import { complaintsOf, ONCE, pointsOf } from "./points";

describe("points", () => {
  it("are two of each scenario, chosen by the seed", () => {
    const chosen = [1, 2, 3, 4, 5].map(seed => pointsOf(seed, false));
    for (const points of chosen) {
      const names = points.map(({ scenario }) => scenario);
      expect(ONCE.map(({ scenario: { name } }) => names.filter(one => one === name).length)).toEqual([2, 2, 2]);
      expect(points.filter(({ isLong }) => isLong)).toEqual([]);
    }
    expect(pointsOf(1, false)).toEqual(chosen[0]);
    expect(new Set(chosen.map(points => JSON.stringify(points))).size).toBeGreaterThan(2);
  });

  it("are all points in a full run, each of an existing scenario", () => {
    const names = ONCE.map(({ scenario: { name } }) => name);
    expect(pointsOf(1, true).length).toBeGreaterThan(pointsOf(1, false).length);
    for (const { scenario } of pointsOf(1, true)) expect(names).toContain(scenario);
  });
});

describe("differences from a run without a freeze", () => {
  const once = { action: "PATCH daemonsets", state: { generation: 2 } };

  it.each([
    ["nothing", { "PATCH daemonsets": 1 }, { generation: 2, more: 1 }, []],
    [
      "an action that was repeated",
      { "PATCH daemonsets": 2 },
      { generation: 2 },
      ["PATCH daemonsets was carried out 2 times"],
    ],
    ["an action that is missing", {}, { generation: 2 }, ["PATCH daemonsets was carried out 0 times"]],
    [
      "any other repeated action",
      { "PATCH daemonsets": 1, "POST pods/eviction": 2 },
      { generation: 2 },
      ["POST pods/eviction was carried out 2 times"],
    ],
    ["another final state", { "PATCH daemonsets": 1 }, { generation: 3 }, ["generation is 3, not 2"]],
  ])("report %s", (_, actions, state, complaints) => {
    expect(complaintsOf(once, { actions, state })).toEqual(complaints);
  });
});
