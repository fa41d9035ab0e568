import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../core/testing/fake-clock";
import { RateLimiter } from "./rate-limiter";

describe("the rate limiter", () => {
  it("doubles a key's delay from 5 ms to 1000 s, and no further", () => {
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

  it("begins anew for a key that has succeeded, and for that key alone", () => {
    const limiter = new RateLimiter(new FakeClock());
    for (const key of ["a", "a", "a", "b", "b"]) limiter.when(key);
    expect([limiter.failures("a"), limiter.failures("b"), limiter.failures("c")]).toEqual([3, 2, 0]);
    limiter.forget("a");
    expect([limiter.when("a"), limiter.when("b")]).toEqual([5, 20]);
  });

  it("lets 100 retries come at once, and then 10 each second over all keys", () => {
    const clock = new FakeClock();
    const limiter = new RateLimiter<number>(clock);
    for (let key = 0; key < 100; key++) expect(limiter.when(key)).toBe(5);
    expect([limiter.when(100), limiter.when(101), limiter.when(102)]).toEqual([100, 200, 300]);
    clock.advance(1_300);
    expect(limiter.when(103)).toBe(5);
    clock.advance(3_600_000);
    for (let key = 200; key < 300; key++) expect(limiter.when(key)).toBe(5);
    expect(limiter.when(300)).toBe(100);
  });

  it("does not care about the wall clock", () => {
    const clock = new FakeClock();
    const limiter = new RateLimiter<number>(clock);
    for (let key = 0; key < 110; key++) limiter.when(key);
    clock.jumpWall(-86_400_000);
    expect(limiter.when(111)).toBeCloseTo(1_100);
  });

  it("for any schedule: never more retries in a span than the burst and the rate allow", () => {
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
          // 110 retries need at least the second in which the last ten tokens came.
          if (later !== undefined) expect(later - time).toBeGreaterThanOrEqual(900 - 1e-6);
        });
      }),
    );
  });

  it("owes nothing for what comes sooner for another reason", () => {
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
