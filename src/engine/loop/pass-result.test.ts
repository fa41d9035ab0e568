import { describe, expect, it } from "vitest";
import type { Execution, Outcome } from "../../core/intent";
import { nextAfter } from "./pass-result";
import { makePatch } from "../testing/remedies";

const after = (recheckAfterMs?: number) => (recheckAfterMs === undefined ? {} : { recheckAfterMs });
const backoff = { retry: { kind: "backoff" } } as const;
const executed = (...outcomes: Outcome[]): Execution[] => outcomes.map(outcome => ({ intent: makePatch(), outcome }));
const FAILED: Outcome = { result: "Failed", message: "no" };

describe("when an object comes again", () => {
  it("as soon as the first of its remedies wants it", () => {
    expect(nextAfter([after(30_000), after(7_000), after()], [])).toEqual({ next: "recheck", afterMs: 7_000 });
    expect(nextAfter([after()], [])).toEqual({ next: "recheck" });
    expect(nextAfter([after(Infinity), after(Number.NaN)], [])).toEqual({ next: "recheck" });
  });

  it("as soon as what was held back may be tried", () => {
    const outcome: Outcome = { result: "Limited", limit: "PassTime", retryAfterMs: 1_000 };
    expect(nextAfter([after(30_000)], executed(outcome))).toEqual({ next: "recheck", afterMs: 1_000 });
  });

  it.each<[string, Outcome, boolean]>([
    ["a write that failed", FAILED, false],
    ["a conflict", { result: "Conflict", message: "changed" }, true],
  ])("after %s: with backoff, and at the latest when a remedy wants it", (_what, outcome, conflict) => {
    expect(nextAfter([after(6_000)], executed(outcome))).toEqual({ next: "retry", conflict, afterMs: 6_000 });
    expect(nextAfter([after()], executed(outcome))).toEqual({ next: "retry", conflict });
  });

  it("after a remedy that could not read: the same", () => {
    expect(nextAfter([backoff, after(20_000)], [])).toEqual({ next: "retry", conflict: false, afterMs: 20_000 });
  });

  it("after a failure, not for a remedy's sake sooner than in five seconds", () => {
    const next = nextAfter([after(1_000)], executed(FAILED));
    expect(next).toEqual({ next: "retry", conflict: false, afterMs: 5_000 });
  });
});
