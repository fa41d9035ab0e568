import { describe, expect, it } from "vitest";
import { askedMs, backoffMs, formatDuration, parseDuration, pause, withDeadline, TokenBucket } from "./time";
import { TransientError, UnavailableError, WaitError } from "./errors";
import { FakeClock } from "./testing/fake-clock";

describe("parsing a duration", () => {
  it.each([
    ["90s", 90_000],
    ["15m", 900_000],
    ["1h30m", 5_400_000],
    ["0s", 0],
    ["168h", 604_800_000],
    ["1m1m", 120_000],
    ["007s", 7_000],
  ])("reads %s", (text, ms) => expect(parseDuration(text)).toBe(ms));

  it.each(["", "s", "5", "1d", "1.5h", "-1s", "1h 30m", "1H", "10ms", "1hm", "٣s"])("rejects '%s' by name", text => {
    expect(() => parseDuration(text)).toThrow(RangeError);
    expect(() => parseDuration(text)).toThrow(`"${text}"`);
  });
});

it.each([
  [0, "0s"],
  [-5_000, "0s"],
  [499, "0s"],
  [1_500, "2s"],
  [59_600, "1m"],
  [90_000, "1m30s"],
  [3_600_000, "1h"],
  [3_605_000, "1h"],
  [5_400_000, "1h30m"],
  [90_000_000, "1d1h"],
  [Number.NaN, "0s"],
])("a formatted duration prints %d ms as %s", (ms, text) => expect(formatDuration(ms)).toBe(text));

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

it("a pause ends with its signal", async () => {
  const stopping = new AbortController();
  const ended = pause(new FakeClock(), 1_000, stopping.signal).then(() => true);
  stopping.abort();
  expect(await Promise.race([ended, new Promise(resolve => setTimeout(resolve, 50, false))])).toBe(true);
});

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

describe("a backoff", () => {
  it("doubles its bound from 0.8 s to 30 s", () => {
    const waits = Array.from({ length: 8 }, (_, failures) => backoffMs(failures, () => 1));
    expect(waits).toEqual([800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
    expect(backoffMs(100_000, () => 1)).toBe(30_000);
  });

  it("is jittered over the whole range, but never zero", () => {
    expect([backoffMs(0, () => 0.25), backoffMs(0, () => 0)]).toEqual([200, 50]);
  });

  it("is no shorter than what the server asked for", () => {
    const asked = [new WaitError("429", 5_000), new UnavailableError("503", 1_000), new TransientError("reset")];
    expect(asked.map(error => backoffMs(1, () => 1, askedMs(error)))).toEqual([5_000, 1_600, 1_600]);
  });
});
