import { describe, expect, it } from "vitest";
import type { Execution, Outcome } from "../../core/intent";
import { nextAfter } from "./requeue";
import { makePatch } from "../testing/remedies";

const after = (recheckAfterMs?: number) => (recheckAfterMs === undefined ? {} : { recheckAfterMs });
const executed = (...outcomes: Outcome[]): Execution[] => outcomes.map(outcome => ({ intent: makePatch(), outcome }));

describe("the result of a pass", () => {
  it("waits for the full pass when no remedy wants a requeue", () => {
    expect(nextAfter([after(Infinity)], [])).toEqual({ next: "recheck" });
  });

  it("requeues when a limited write, or one that failed, may be tried again", () => {
    const limited: Outcome = { result: "Limited", limit: "PassTime", retryAfterMs: 2_000 };
    const failed: Outcome = { result: "Failed", message: "no", retryAfterMs: 1_000 };
    expect(nextAfter([after(30_000)], executed(limited, failed))).toEqual({ next: "recheck", afterMs: 1_000 });
  });

  it("requeues with backoff after a conflict, and no later than a remedy requested", () => {
    const conflict = executed({ result: "Conflict", message: "changed" });
    expect(nextAfter([after(6_000)], conflict)).toEqual({ next: "retry", conflict: true, afterMs: 6_000 });
    expect(nextAfter([after()], conflict)).toEqual({ next: "retry", conflict: true });
  });
});
