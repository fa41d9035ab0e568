import { describe, expect, it } from "vitest";
import type { Execution, Outcome } from "../../core/intent";
import { summarize, withPending } from "./finding";

it("a message tells of five, and says how many are left", () => {
  const told = (amount: number) => {
    const findings = Array.from(
      { length: amount },
      (_, i) => ({ status: "True", reason: "A", sentence: `${i}.` }) as const,
    );
    return summarize(findings, { status: "True", reason: "A", sentence: "Nothing." }, "status.list").message;
  };
  expect(told(0)).toBe("Nothing.");
  expect(told(5)).toBe("0. 1. 2. 3. 4.");
  expect(told(7)).toBe("0. 1. 2. 3. 4. Plus 2 more; see status.list.");
});

describe("a write that is pending", () => {
  it("waits, and needs a person if a right is missing", () => {
    const pending = (verb: "apply" | "evict", kind: string, name: string, outcome: Outcome): Execution => ({
      intent: { verb, target: { apiVersion: "v1", kind, name }, why: "w", eventReason: "E" },
      outcome,
    });
    const decision = { status: "False", reason: "Rolling", message: "It rolls." } as const;
    const budget = pending("evict", "Pod", "b", { result: "Blocked", message: "no", retryAfterMs: 1 });
    const failed = pending("apply", "DaemonSet", "a", { result: "Failed", message: "no" });
    const forbidden = pending("apply", "DaemonSet", "c", { result: "Forbidden", message: "no" });
    expect(withPending(decision, [])).toEqual(decision);
    const message = "It rolls. Pending: apply DaemonSet a: no; evict Pod b: no.";
    expect(withPending(decision, [budget, failed])).toMatchObject({ reason: "Rolling", message, progressing: true });
    const stalled = { reason: "Stuck", message: "It rolls." };
    expect(withPending({ ...decision, stalled }, [failed, budget])).toMatchObject({ stalled: { ...stalled, message } });
    expect(withPending(decision, [forbidden], "Rolling")).toMatchObject({ reason: "Rolling", progressing: true });
    expect(withPending({ ...decision, status: "True" }, [forbidden])).toMatchObject({ status: "Unknown" });
    expect(withPending(decision, [budget, forbidden])).toMatchObject({
      reason: "Forbidden",
      stalled: { reason: "Forbidden" },
      progressing: false,
    });
    const many = withPending(
      decision,
      Array.from({ length: 7 }, () => failed),
    ).message;
    expect(many.match(/apply DaemonSet a/g)).toHaveLength(5);
    expect(many).toMatch(/; 2 more\.$/);
  });
});
