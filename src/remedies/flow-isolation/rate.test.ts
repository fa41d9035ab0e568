import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RequestRates, RequestSpan } from "../../core/readers";
import { readRate } from "./rate";
import { nextThrottle } from "./throttle";

/** Requests per second of a client at a moment. */
type Client = (ms: number) => number;

/** A client that floods from one moment to another. */
function flood(perSecond: number, fromMs: number, toMs: number): Client {
  return ms => (ms >= fromMs && ms < toMs ? perSecond : 0);
}

/** What would be counted of it, second by second, between readings at these moments. */
function spansOf(client: Client, readings: readonly number[]): RequestSpan[] {
  return readings.slice(1).map((toMs, i) => {
    const fromMs = readings[i] ?? toMs;
    return { fromMs, toMs, requests: requestsOf(client, fromMs, toMs) };
  });
}

/** How many requests it makes. */
function requestsOf(client: Client, fromMs: number, toMs: number): number {
  let requests = 0;
  for (let ms = fromMs; ms < toMs; ms += 1_000) requests += client(ms);
  return requests;
}

/** All API servers were read. */
function ratesOf(spans: RequestRates["spans"]): RequestRates {
  return { spans, readMs: 0, servers: { found: 1, read: 1 } };
}

const THRESHOLD = 100;
const read = (client: Client, readings: number[], fromMs = -Infinity) =>
  readRate(ratesOf({ flow: spansOf(client, readings) }), "flow", THRESHOLD, { fromMs });
const seconds = (...at: number[]): number[] => at.map(one => one * 1_000);

describe("the rate of a flow", () => {
  it("is zero if no request was ever counted", () => {
    expect(readRate(ratesOf({}), "flow", THRESHOLD)).toEqual({ perSecond: 0, overMs: 0 });
  });

  it.each([
    ["nothing has been read yet", { spans: {}, servers: { found: 0, read: 0 } }],
    ["it can't be read any more", { ...ratesOf({}), unknown: "Forbidden." }],
  ])("is unknown while %s", (_, rates) => {
    expect(readRate(rates, "flow", THRESHOLD)).toEqual({ overMs: 0 });
  });

  it("is unknown while every span began before the relevant time", () => {
    expect(read(flood(500, 0, 60_000), seconds(0, 30, 35), 31_000)).toEqual({ overMs: 0 });
    expect(read(flood(500, 0, 60_000), seconds(0, 30, 35, 40), 31_000)).toEqual({ perSecond: 500, overMs: 0 });
  });

  it("is unknown after the counters were unreadable for long", () => {
    const always = flood(500, 0, 999_000);
    expect(read(always, seconds(0, 30, 35, 635))).toEqual({ overMs: 0 });
    expect(read(always, seconds(0, 30, 35, 635, 640))).toEqual({ perSecond: 500, overMs: 0 });
  });

  it("ignores empty spans", () => {
    const spans = [
      { fromMs: 0, toMs: 0, requests: 7 },
      { fromMs: 0, toMs: 1_000, requests: NaN },
      { fromMs: 5, toMs: 1, requests: 1 },
      { fromMs: NaN, toMs: 1, requests: 1 },
    ];
    expect(readRate(ratesOf({ flow: spans }), "flow", THRESHOLD)).toEqual({ perSecond: 0, overMs: 0 });
  });
});

describe("the time over the threshold", () => {
  it("is zero with only two spans over the threshold, and after the flood", () => {
    expect(read(flood(1_000, 0, 35_000), seconds(0, 30, 35)).overMs).toBe(0);
    expect(read(flood(1_000, 0, 40_000), seconds(0, 30, 35, 40, 45)).overMs).toBe(0);
  });

  it("counts the spans in between completely, and the oldest and the newest in part", () => {
    expect(read(flood(1_000, 20_000, 99_000), seconds(0, 30, 35, 40)).overMs).toBeCloseTo(20_000, 3);
    expect(read(flood(1_000, 0, 13_000), seconds(0, 5, 10, 15)).overMs).toBeCloseTo(13_000, 3);
  });

  it("excludes a long span between others, and all before it", () => {
    const always = flood(500, 0, 999_000);
    expect(read(always, seconds(0, 5, 10, 15, 30, 35)).overMs).toBe(35_000);
    expect(read(always, seconds(0, 5, 10, 15, 31, 36)).overMs).toBe(0);
    expect(read(always, seconds(0, 5, 10, 15, 31, 36, 41)).overMs).toBe(26_000);
    expect(read(always, seconds(0, 5, 10, 40)).overMs).toBe(0);
  });

  it("excludes an oldest span that is longer than the reading interval", () => {
    const always = flood(500, 0, 999_000);
    expect(read(always, seconds(0, 35, 40, 45)).overMs).toBe(45_000);
    expect(read(always, seconds(0, 36, 41, 46)).overMs).toBe(10_000);
  });
});

const readingTimes = fc
  .array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 20 })
  .map(steps => steps.reduce((times, step) => [...times, times.at(-1)! + step * 1_000], [0]));

describe("readings at any time", () => {
  it("never count a flood for longer than it has lasted", () => {
    const floods = fc.record({
      perSecond: fc.integer({ min: 1, max: 10_000 }),
      fromMs: fc.integer({ min: 0, max: 200 }).map(s => s * 1_000),
      lengthMs: fc.integer({ min: 1, max: 120 }).map(s => s * 1_000),
    });
    fc.assert(
      fc.property(readingTimes, floods, (readings, { perSecond, fromMs, lengthMs }) => {
        const lasted = Math.max(0, Math.min(readings.at(-1)!, fromMs + lengthMs) - fromMs);
        expect(read(flood(perSecond, fromMs, fromMs + lengthMs), readings).overMs).toBeLessThanOrEqual(lasted + 1);
      }),
      { numRuns: 2_000 },
    );
  });

  it("count only time in which the client has reached the threshold on average", () => {
    const clients = fc.array(fc.nat(1_000), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(readingTimes, clients, (readings, perSecond) => {
        const client: Client = ms => perSecond[Math.floor(ms / 1_000) % perSecond.length]!;
        const { overMs } = read(client, readings);
        const nowMs = readings.at(-1)!;
        // The oldest span may have been busiest at its beginning, at most 30 s before its end.
        const fromMs = Math.max(0, Math.floor((nowMs - overMs) / 1_000) * 1_000 - 30_000);
        expect(requestsOf(client, fromMs, nowMs) + 1).toBeGreaterThanOrEqual((THRESHOLD * overMs) / 1_000);
      }),
      { numRuns: 2_000 },
    );
  });

  it("never throttle a burst of less than half a minute, in the rhythm of 30 s, and of 5 s once it is seen", () => {
    const limits = { threshold: THRESHOLD, forMs: 30_000, releaseMs: 300_000 };
    const allowed = { ...limits, mayThrottle: true, mayStayThrottled: true, isHeld: false };
    const seconds = fc.record({ from: fc.nat(60), length: fc.integer({ min: 1, max: 29 }) });
    fc.assert(
      fc.property(seconds, fc.integer({ min: 100, max: 1_000_000 }), ({ from, length }, perSecond) => {
        const burst = flood(perSecond, from * 1_000, (from + length) * 1_000);
        let own = nextThrottle(undefined, { overMs: 0 }, allowed, 0);
        for (const readings = [0]; readings.at(-1)! < 200_000; ) {
          const nowMs = readings.at(-1)! + (own.state === "Normal" ? 30_000 : 5_000);
          readings.push(nowMs);
          own = nextThrottle(own, read(burst, readings), allowed, nowMs);
          expect(own.state).not.toBe("Throttled");
        }
        expect(own.state).toBe("Normal");
      }),
    );
  });
});
