import { describe, expect, it } from "vitest";
import type { Plot } from "./census";
import { asFresh, describeValue, judge } from "./judge";
import { bases } from "./bases";

const plot = (reason: string, made: object = {}): Plot =>
  ({
    object: { status: { conditions: [{ type: "Ready", reason }] } },
    told: { status: { conditions: [reason] } },
    made,
  }) as unknown as Plot;

const FIELD = "mode";
const GOOD = plot("AllHold", { level: 1 });

describe("the final state of a value", () => {
  it("must equal that of an object that never had another value", () => {
    expect(
      judge(FIELD, { value: 1 }, { seen: GOOD, before: plot("Other"), fresh: plot("AllHold", { level: 1 }) }),
    ).toEqual({
      fresh: [],
    });
    const { fresh } = judge(FIELD, { value: 1 }, { seen: GOOD, before: GOOD, fresh: plot("AllHold", {}) });
    expect(fresh).toEqual(["level: 1, expected nothing"]);
  });

  it("is not compared without a reference", () => {
    expect(judge(FIELD, { value: 1 }, { seen: GOOD, before: plot("Other"), fresh: undefined })).toEqual({});
    expect(
      judge(FIELD, { value: 1, oracle: "none" }, { seen: GOOD, before: plot("Other"), fresh: plot("Other") }),
    ).toEqual({});
  });

  it("must leave created objects unchanged if the value promises that; conditions may change", () => {
    const value = { value: true, oracle: "before" } as const;
    expect(judge(FIELD, value, { seen: GOOD, before: plot("Other", { level: 1 }) })).toEqual({ before: [] });
    const changed = judge(FIELD, value, { seen: GOOD, before: plot("AllHold", { level: 2 }) });
    expect(changed.before).toEqual(["level: 1, expected 2"]);
  });

  it("must be reported by its condition if the value has no effect", () => {
    const value = { value: 1, oracle: "none", says: ["Ready", "AllHold"] } as const;
    expect(judge(FIELD, value, { seen: GOOD, before: GOOD })).toEqual({ told: [] });
    expect(judge(FIELD, value, { seen: plot("Other"), before: GOOD }).told).toEqual([
      "Ready says Other, expected AllHold",
    ]);
  });
});

it("compares status as well as created objects", () => {
  expect(asFresh(FIELD, plot("Other"), plot("AllHold"))).toEqual(['status.conditions[0]: "Other", expected "AllHold"']);
});

it("formats a value in one line", () => {
  const base = bases[0]!;
  expect(describeValue({ field: "mode", base }, { value: undefined })).toBe("mode absent (named)");
  expect(describeValue({ field: "mode", base }, { value: "n".repeat(253) }).length).toBeLessThan(100);
});

it("accepts remnants only for the fields that leave them", () => {
  const [changed, untouched] = [300, 7_200].map(seconds =>
    plot("AllHold", { "daemonsets/agent": { spec: { template: { seconds } } } }),
  );
  expect(asFresh("tokenLifetime", changed!, untouched!)).toEqual([]);
  expect(asFresh("mode", changed!, untouched!)).toEqual(["daemonsets/agent.spec.template.seconds: 300, expected 7200"]);
});
