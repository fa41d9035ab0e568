import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Execution, Outcome } from "../../core/intent";
import { nextAfter, RateLimiter } from "./requeue";
import { makePatch } from "../testing/remedies";
import { FakeClock } from "../../core/testing/fake-clock";

const after = (recheckAfterMs?: number) => (recheckAfterMs === undefined ? {} : { recheckAfterMs });
const executed = (...outcomes: Outcome[]): Execution[] => outcomes.map(outcome => ({ intent: makePatch(), outcome }));

describe("the result of a pass", () => {
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

describe("the rate limiter", () => {
  it("doubles the delay of a key from 5 ms up to 1000 s", () => {
    const clock = new FakeClock();
    const limiter = new RateLimiter(clock);
    const delays = Array.from({ length: 20 }, () => {
      clock.advance(1_000);
      return limiter.when("a");
    });
    expect(delays.slice(0, 4)).toEqual([5, 10, 20, 40]);
    expect(delays.slice(16)).toEqual([327_680, 655_360, 1_000_000, 1_000_000]);
    for (let i = 0; i < 2_000; i++) limiter.when("b");
    clock.advance(1_000_000);
    expect(limiter.when("b")).toBe(1_000_000);
  });

  it("resets the delay of a key that succeeded, and of no other key", () => {
    const limiter = new RateLimiter(new FakeClock());
    for (const key of ["a", "a", "a", "b", "b"]) limiter.when(key);
    expect([limiter.failures("a"), limiter.failures("b"), limiter.failures("c")]).toEqual([3, 2, 0]);
    limiter.forget("a");
    expect([limiter.when("a"), limiter.when("b")]).toEqual([5, 20]);
  });

  it("ignores the wall clock", () => {
    const clock = new FakeClock();
    const limiter = new RateLimiter<number>(clock);
    for (let key = 0; key < 110; key++) limiter.when(key);
    clock.jumpWall(-86_400_000);
    expect(limiter.when(111)).toBeCloseTo(1_100);
  });

  it("never exceeds burst and rate, for any schedule", () => {
    const schedule = fc.array(fc.record({ key: fc.nat(50), pauseMs: fc.nat(300), forget: fc.boolean() }), {
      maxLength: 400,
    });
    fc.assert(
      fc.property(schedule, steps => {
        const clock = new FakeClock();
        const limiter = new RateLimiter<number>(clock);
        const times: number[] = [];
        for (const { key, pauseMs, forget } of steps) {
          clock.advance(pauseMs);
          if (forget) limiter.forget(key);
          const failures = limiter.failures(key);
          const delay = limiter.when(key);
          expect(delay).toBeGreaterThanOrEqual(Math.min(5 * 2 ** failures, 1_000_000));
          times.push(clock.monotonicMs() + delay);
        }
        times.sort((a, b) => a - b);
        times.forEach((time, i) => {
          const later = times[i + 109];
          // 110 retries take at least the second that refills the last ten tokens.
          if (later !== undefined) expect(later - time).toBeGreaterThanOrEqual(900 - 1e-6);
        });
      }),
    );
  });

  it("does not make a key wait for tokens that others took again and again while they waited", () => {
    const clock = new FakeClock();
    const limiter = new RateLimiter<number>(clock);
    // A thousand keys, each woken and failing every second of ten minutes.
    for (let i = 0; i < 600; i++) {
      for (let key = 0; key < 1_000; key++) limiter.when(key);
      clock.advance(1_000);
    }
    expect(limiter.when(1_001)).toBeLessThanOrEqual(30_000);
    clock.advance(30_000);
    expect(limiter.when(1_002)).toBeLessThan(1_000);
  });

  it("takes no token for a key that is requeued earlier for another reason", () => {
    const clock = new FakeClock();
    const limiter = new RateLimiter<number>(clock);
    for (let i = 0; i < 10_000; i++) {
      expect(limiter.when(i % 100, 5_000)).toBeLessThanOrEqual(5_000);
      clock.advance(10);
    }
    clock.advance(10_000);
    expect(limiter.when(101)).toBe(5);
  });
});
