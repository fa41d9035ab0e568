import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RequestSpan } from "../../core/readers";
import { RequestHistory } from "./request-counts";
import type { ServerCounts } from "./metrics";

const told = (address: string, startSeconds: number, atMs: number, counts: Record<string, number>): ServerCounts => ({
  ...{ address, startSeconds, atMs, bytes: 0 },
  counts: new Map(Object.entries(counts)),
});

/** Spans as `from-to: requests`, in seconds. */
const lines = (spans: readonly RequestSpan[] = []): string[] =>
  spans.map(({ fromMs, toMs, requests }) => `${fromMs / 1000}-${toMs / 1000}: ${requests}`);

function history(...readings: ServerCounts[][]) {
  const memory = new RequestHistory();
  for (const reading of readings) memory.add(reading);
  const nowMs = memory.readMs ?? 0;
  return (name = "s") => lines(memory.spans(nowMs, 0)[name]);
}

describe("the requests between two readings", () => {
  it("are not merged if a missed server has no requests, or was missed for too long", () => {
    const missed = (atMs: number, requests: number) => [
      told("a", 1, atMs, { s: atMs / 1000 }),
      told("b", 2, atMs, { s: requests, "403": atMs, "429": atMs }),
    ];
    const alone = (atMs: number) => [told("a", 1, atMs, { s: atMs / 1000 })];
    expect(history(missed(0, 7), alone(10_000), missed(20_000, 7))()).toEqual(["0-10: 10", "10-20: 10"]);
    const late = history(missed(0, 7), alone(50_000), missed(91_000, 999), missed(100_000, 1_000));
    expect(late()).toEqual(["0-50: 50", "50-91: 41", "91-100: 10"]);
  });

  it("are not counted twice when a counter falls and recovers", () => {
    const spans = history(
      [told("a", 1, 0, { s: 1_000 })],
      [told("a", 1, 10_000, { s: 10 })],
      [told("a", 1, 20_000, {})],
      [told("a", 1, 30_000, { s: 1_001 })],
    );
    expect(spans()).toEqual(["0-10: 0", "10-20: 0", "20-30: 1"]);
  });

  it("are counted once when one server is seen at two addresses", () => {
    const both = (atMs: number, s: number) => [told("a", 1, atMs, { s }), told("b", 1, atMs, { s })];
    expect(history(both(0, 0), both(10_000, 10), both(20_000, 30))()).toEqual(["0-10: 10", "10-20: 20"]);
    const turns = history(
      [told("a", 1, 0, { s: 0 })],
      [told("b", 1, 10_000, { s: 10 })],
      [told("a", 1, 20_000, { s: 30 })],
    );
    expect(turns()).toEqual([]);
  });

  it("end with the latest answer, and have no empty span", () => {
    const spans = history(
      [told("a", 1, 0, { s: 0 }), told("b", 2, 400, { s: 0 })],
      [told("a", 1, 400, { s: 1_000 })],
      [told("a", 1, 10_000, { s: 10 }), told("b", 2, 10_400, { s: 20 })],
    );
    expect(spans()).toEqual(["0.4-10.4: 30"]);
  });

  it("are forgotten after 16 minutes, also while nothing can be read, and so are the servers", () => {
    const memory = new RequestHistory();
    for (let i = 0; i <= 100; i++) memory.add([told("a", 1, i * 10_000, { s: i })]);
    expect(lines(memory.spans(1_000_000, 0)["s"])).toHaveLength(96);
    expect(lines(memory.spans(1_950_000, 0)["s"])).toEqual(["990-1000: 1"]);
    expect(memory.spans(1_950_001, 0)).toEqual({});
    memory.add([told("a", 1, 2_000_000, { s: 5_000 })]);
    expect(memory.spans(2_000_000, 0)).toEqual({});
  });
});

describe("any behavior of servers and any failures of readings", () => {
  interface Step {
    readonly afterMs: number;
    /** Requests to each server during the step. */
    readonly made: readonly number[];
    readonly restarts: readonly boolean[];
    readonly read: readonly boolean[];
  }
  const SERVERS = 3;
  const each = <T>(value: fc.Arbitrary<T>) => fc.array(value, { minLength: SERVERS, maxLength: SERVERS });
  const step: fc.Arbitrary<Step> = fc.record({
    afterMs: fc.integer({ min: 1, max: 60_000 }),
    made: each(fc.nat(100)),
    restarts: each(fc.boolean().chain(may => (may ? fc.boolean() : fc.constant(false)))),
    read: each(fc.boolean()),
  });

  /** Runs the steps; all requests of a step happen in the middle of it. */
  function play(steps: readonly Step[]) {
    const memory = new RequestHistory();
    const made: { readonly atMs: number; readonly requests: number }[] = [];
    const counters = Array.from({ length: SERVERS }, (_, i) => ({ start: i, count: 0 }));
    let nowMs = 0;
    let starts = SERVERS;
    for (const { afterMs, made: more, restarts, read } of steps) {
      for (const [i, server] of counters.entries()) {
        if (restarts[i]) Object.assign(server, { start: starts++, count: 0 });
        server.count += more[i] ?? 0;
        made.push({ atMs: nowMs + afterMs / 2, requests: more[i] ?? 0 });
      }
      nowMs += afterMs;
      const reading = counters.flatMap(({ start, count }, i) =>
        read[i] ? [told(`a${i}`, start, nowMs, { s: count })] : [],
      );
      if (reading.length > 0) memory.add(reading);
    }
    const spans = memory.spans(nowMs, 0)["s"] ?? [];
    const between = (fromMs: number, toMs: number) =>
      made.filter(({ atMs }) => fromMs < atMs && atMs <= toMs).reduce((sum, { requests }) => sum + requests, 0);
    return { spans, between };
  }

  it("never give a span more requests than were made in it, and keep spans contiguous", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), steps => {
        const { spans, between } = play(steps);
        for (const [i, { fromMs, toMs, requests }] of spans.entries()) {
          expect(requests).toBeLessThanOrEqual(between(fromMs, toMs));
          expect(toMs).toBeGreaterThan(fromMs);
          expect(toMs).toBe(spans[i + 1]?.fromMs ?? toMs);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it("lose no request while all servers run and every reading succeeds", () => {
    const calm = step.map(one => ({ ...one, restarts: one.restarts.map(() => false), read: one.read.map(() => true) }));
    fc.assert(
      fc.property(fc.array(calm, { maxLength: 30 }), steps => {
        const { spans, between } = play(steps);
        for (const { fromMs, toMs, requests } of spans) expect(requests).toBe(between(fromMs, toMs));
      }),
    );
  });
});
