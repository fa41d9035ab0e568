import { describe, expect, it } from "vitest";
import type { Execution, Outcome } from "../../core/intent";
import { nextAfter } from "./pass-result";
import { makePatch } from "../testing/remedies";

const after = (recheckAfterMs?: number) => (recheckAfterMs === undefined ? {} : { recheckAfterMs });
const backoff = { retry: { kind: "backoff" } } as const;
const executed = (...outcomes: Outcome[]): Execution[] => outcomes.map(outcome => ({ intent: makePatch(), outcome }));
const FAILED: Outcome = { result: "Failed", message: "no" };

describe("the result of a pass", () => {
  it("requeues after the earliest delay requested by a remedy", () => {
    expect(nextAfter([after(30_000), after(7_000), after()], [])).toEqual({ next: "recheck", afterMs: 7_000 });
    expect(nextAfter([after()], [])).toEqual({ next: "recheck" });
    expect(nextAfter([after(Infinity), after(Number.NaN)], [])).toEqual({ next: "recheck" });
  });

  it("requeues when a limited write is allowed again", () => {
    const outcome: Outcome = { result: "Limited", limit: "PassTime", retryAfterMs: 1_000 };
    expect(nextAfter([after(30_000)], executed(outcome))).toEqual({ next: "recheck", afterMs: 1_000 });
  });

  it.each<[string, Outcome, boolean]>([
    ["a failed write", FAILED, false],
    ["a conflict", { result: "Conflict", message: "changed" }, true],
  ])("requeues with backoff after %s, and no later than a remedy requested", (_what, outcome, conflict) => {
    expect(nextAfter([after(6_000)], executed(outcome))).toEqual({ next: "retry", conflict, afterMs: 6_000 });
    expect(nextAfter([after()], executed(outcome))).toEqual({ next: "retry", conflict });
  });

  it("requeues with backoff after a failed read of a remedy", () => {
    expect(nextAfter([backoff, after(20_000)], [])).toEqual({ next: "retry", conflict: false, afterMs: 20_000 });
  });

  it("requeues no earlier than 5 s after a failure, even if a remedy requests it", () => {
    const next = nextAfter([after(1_000)], executed(FAILED));
    expect(next).toEqual({ next: "retry", conflict: false, afterMs: 5_000 });
  });
});
