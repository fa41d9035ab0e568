import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StatusCondition } from "../api/controller-resilience";
import { nextConditions, type ConditionUpdate } from "./conditions";
import { toSeconds } from "./time";

const EARLIER = new Date("2025-01-01T00:00:00Z");
const LATER = new Date("2025-01-01T00:05:00.900Z");

function update(changes: Partial<ConditionUpdate> = {}): ConditionUpdate {
  return { type: "Ready", status: "True", reason: "AllHold", message: "Fine.", ...changes };
}

const at = (time: Date, ...updates: ConditionUpdate[]) => nextConditions([], updates, 1, time);

describe("conditions", () => {
  it("start with the current time in whole seconds", () => {
    expect(at(LATER, update())).toEqual([
      {
        type: "Ready",
        status: "True",
        observedGeneration: 1,
        lastTransitionTime: "2025-01-01T00:05:00Z",
        reason: "AllHold",
        message: "Fine.",
      },
    ]);
    expect(toSeconds(new Date("2025-01-01T23:59:59.999Z"))).toBe("2025-01-01T23:59:59Z");
  });

  it("keep lastTransitionTime while only reason, message or generation change", () => {
    const before = at(EARLIER, update());
    const after = nextConditions(before, [update({ reason: "NoRemedies", message: "Other." })], 7, LATER);
    expect(after[0]).toMatchObject({
      lastTransitionTime: "2025-01-01T00:00:00Z",
      reason: "NoRemedies",
      message: "Other.",
      observedGeneration: 7,
    });
  });

  it("change lastTransitionTime when their own status changes", () => {
    const before = at(EARLIER, update(), update({ type: "Stalled", status: "False" }));
    const after = nextConditions(
      before,
      [update({ status: "False" }), update({ type: "Stalled", status: "False" })],
      1,
      LATER,
    );
    expect(after.map(condition => condition.lastTransitionTime)).toEqual([
      "2025-01-01T00:05:00Z",
      "2025-01-01T00:00:00Z",
    ]);
  });

  it("are dropped when their remedy is disabled", () => {
    const before = at(EARLIER, update(), update({ type: "TokensAccepted" }));
    expect(nextConditions(before, [update()], 1, LATER).map(({ type }) => type)).toEqual(["Ready"]);
  });

  const status = fc.constantFrom("True" as const, "False" as const, "Unknown" as const);
  const anyUpdates = fc.uniqueArray(
    fc.record({
      type: fc.constantFrom("Ready" as const, "Stalled" as const, "TokensAccepted" as const),
      status,
      reason: fc.constantFrom("AllHold" as const, "Idle" as const),
      message: fc.string(),
    }),
    { selector: one => one.type },
  );

  it("have one entry per type and a transition exactly when status changes, for any sequence", () => {
    fc.assert(
      fc.property(fc.array(anyUpdates, { maxLength: 20 }), rounds => {
        let current: StatusCondition[] = [];
        rounds.forEach((updates, round) => {
          const now = new Date(EARLIER.getTime() + (round + 1) * 60_000);
          const next = nextConditions(current, updates, round, now);
          expect(next.map(({ type }) => type)).toEqual(updates.map(({ type }) => type));
          for (const condition of next) {
            const before = current.find(({ type }) => type === condition.type);
            const same = before?.status === condition.status;
            expect(condition.lastTransitionTime).toBe(same ? before.lastTransitionTime : toSeconds(now));
          }
          current = next;
        });
      }),
    );
  });
});
