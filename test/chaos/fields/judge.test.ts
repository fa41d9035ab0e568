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

describe("the end of a value", () => {
  it("is that of an object that never had another", () => {
    expect(
      judge(FIELD, { value: 1 }, { seen: GOOD, before: plot("Other"), fresh: plot("AllHold", { level: 1 }) }),
    ).toEqual({
      fresh: [],
    });
    const { fresh } = judge(FIELD, { value: 1 }, { seen: GOOD, before: GOOD, fresh: plot("AllHold", {}) });
    expect(fresh).toEqual(["level: 1, expected nothing"]);
  });

  it("is not compared where there is nothing to compare it with", () => {
    expect(judge(FIELD, { value: 1 }, { seen: GOOD, before: plot("Other"), fresh: undefined })).toEqual({});
    expect(
      judge(FIELD, { value: 1, oracle: "none" }, { seen: GOOD, before: plot("Other"), fresh: plot("Other") }),
    ).toEqual({});
  });

  it("that is to leave all as it is leaves what was made, and may say something else", () => {
    const value = { value: true, oracle: "before" } as const;
    expect(judge(FIELD, value, { seen: GOOD, before: plot("Other", { level: 1 }) })).toEqual({ before: [] });
    const changed = judge(FIELD, value, { seen: GOOD, before: plot("AllHold", { level: 2 }) });
    expect(changed.before).toEqual(["level: 1, expected 2"]);
  });

  it("that means nothing is told of by the condition that it concerns", () => {
    const value = { value: 1, oracle: "none", says: ["Ready", "AllHold"] } as const;
    expect(judge(FIELD, value, { seen: GOOD, before: GOOD })).toEqual({ told: [] });
    expect(judge(FIELD, value, { seen: plot("Other"), before: GOOD }).told).toEqual([
      "Ready says Other, expected AllHold",
    ]);
  });
});

it("what an object says counts as well as what was made", () => {
  expect(asFresh(FIELD, plot("Other"), plot("AllHold"))).toEqual(['status.conditions[0]: "Other", expected "AllHold"']);
});

it("a value is told in one line", () => {
  const base = bases[0]!;
  expect(describeValue({ field: "mode", base }, { value: undefined })).toBe("mode absent (template)");
  expect(describeValue({ field: "mode", base }, { value: "n".repeat(253) }).length).toBeLessThan(100);
});

it("what rightly stays as it was counts only for the fields for which it does", () => {
  const [changed, untouched] = [300, 7_200].map(seconds =>
    plot("AllHold", { "daemonsets/agent": { spec: { template: { seconds } } } }),
  );
  expect(asFresh("tokenLifetime", changed!, untouched!)).toEqual([]);
  expect(asFresh("mode", changed!, untouched!)).toEqual(["daemonsets/agent.spec.template.seconds: 300, expected 7200"]);
});
