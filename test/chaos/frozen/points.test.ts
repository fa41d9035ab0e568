import { describe, expect, it } from "vitest";
import { complaintsOf, ONCE, pointsOf } from "./points";

describe("points", () => {
  it("are two of each scenario, the same for the same seed, and others for others", () => {
    const chosen = [1, 2, 3, 4, 5].map(seed => pointsOf(seed, false));
    for (const points of chosen) {
      const names = points.map(({ scenario }) => scenario);
      expect(ONCE.map(({ scenario: { name } }) => names.filter(one => one === name).length)).toEqual([2, 2, 2]);
      expect(points.filter(({ isLong }) => isLong)).toEqual([]);
    }
    expect(pointsOf(1, false)).toEqual(chosen[0]);
    expect(new Set(chosen.map(points => JSON.stringify(points))).size).toBeGreaterThan(2);
  });

  it("are all of them in full, and each is of a scenario that there is", () => {
    const names = ONCE.map(({ scenario: { name } }) => name);
    expect(pointsOf(1, true).length).toBeGreaterThan(pointsOf(1, false).length);
    for (const { scenario } of pointsOf(1, true)) expect(names).toContain(scenario);
  });
});

describe("what is not as if nobody had been frozen", () => {
  const once = { deed: "PATCH daemonsets", state: { generation: 2 } };

  it.each([
    ["nothing", { "PATCH daemonsets": 1 }, { generation: 2, more: 1 }, []],
    ["what was done twice", { "PATCH daemonsets": 2 }, { generation: 2 }, ["PATCH daemonsets was carried out 2 times"]],
    ["what was not done", {}, { generation: 2 }, ["PATCH daemonsets was carried out 0 times"]],
    [
      "anything else that was done twice",
      { "PATCH daemonsets": 1, "POST pods/eviction": 2 },
      { generation: 2 },
      ["POST pods/eviction was carried out 2 times"],
    ],
    ["another world", { "PATCH daemonsets": 1 }, { generation: 3 }, ["generation is 3, not 2"]],
  ])("is told: %s", (_, deeds, state, complaints) => {
    expect(complaintsOf(once, { deeds, state })).toEqual(complaints);
  });
});
