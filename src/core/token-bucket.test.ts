import { describe, expect, it } from "vitest";
import { FakeClock } from "./testing/fake-clock";
import { TokenBucket } from "./token-bucket";

describe("a token bucket", () => {
  it("allows a burst, then its rate, and does not count rejected requests", () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(clock, { burst: 3, ratePerSecond: 2 });
    expect(Array.from({ length: 10 }, () => bucket.take())).toEqual([
      true,
      true,
      true,
      ...Array<boolean>(7).fill(false),
    ]);
    clock.advance(499);
    expect(bucket.take()).toBe(false);
    clock.advance(1);
    expect([bucket.take(), bucket.take()]).toEqual([true, false]);
    clock.advance(60_000);
    expect(Array.from({ length: 4 }, () => bucket.take())).toEqual([true, true, true, false]);
  });

  it("returns the wait of each reservation, one after the other", () => {
    const bucket = new TokenBucket(new FakeClock(), { burst: 1, ratePerSecond: 2 });
    expect([bucket.reserve(), bucket.reserve(), bucket.reserve()]).toEqual([0, 500, 1_000]);
  });

  it("is full at first, and again when it has refilled", () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(clock, { burst: 2, ratePerSecond: 1 });
    expect(bucket.isFull()).toBe(true);
    bucket.take();
    clock.advance(999);
    expect(bucket.isFull()).toBe(false);
    clock.advance(1);
    expect(bucket.isFull()).toBe(true);
  });
});
