import { describe, expect, it } from "vitest";
import { TransientError } from "./errors";
import { FakeClock } from "./testing/fake-clock";
import { withDeadline } from "./deadline";

const never = () => new Promise<never>(() => undefined);

describe("a deadline", () => {
  it("returns the result of the work, and leaves no timer", async () => {
    const clock = new FakeClock();
    await expect(withDeadline(clock, 1_000, "reading", () => Promise.resolve(7))).resolves.toBe(7);
    await expect(withDeadline(clock, 1_000, "reading", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(clock.pendingTimers).toBe(0);
  });

  it("turns a synchronous throw into a rejection", async () => {
    const failing = () => {
      throw new Error("thrown");
    };
    await expect(withDeadline(new FakeClock(), 1_000, "reading", failing)).rejects.toThrow("thrown");
  });

  it("rejects when the work hangs, and names it", async () => {
    const clock = new FakeClock();
    const result = withDeadline(clock, 45_000, "observe of token-restart", never);
    clock.advance(45_000);
    await expect(result).rejects.toThrow(new TransientError("observe of token-restart timed out after 45s"));
  });
});
