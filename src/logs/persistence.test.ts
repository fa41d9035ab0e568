import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  persistenceOf,
  MAX_OCCASIONS,
  NO_TRACE,
  withGap,
  withLine,
  withUnauthorized,
  type PersistenceRule,
  type UnauthorizedTrace,
} from "./persistence";

const RULE: PersistenceRule = { occasions: 3, windowMs: 900_000, minDurationMs: 60_000 };

/** One entry of a log, in seconds: a number or `at` is a 401, `line` is any other line; `life` is 1 by default. */
type Entry = number | { line: number; life?: number } | { at: number; life: number };

function fold(trace: UnauthorizedTrace, entry: Entry): UnauthorizedTrace {
  if (typeof entry === "number") return withUnauthorized(trace, entry * 1000, 1);
  if ("line" in entry) return withLine(trace, entry.line * 1000, entry.life ?? 1);
  return withUnauthorized(trace, entry.at * 1000, entry.life);
}

const timeOf = (entry: Entry): number => (typeof entry === "number" ? entry : "line" in entry ? entry.line : entry.at);

/** Evaluates the rule at every entry; returns the second at which it is first met, or null. */
function persistentAt(entries: readonly Entry[], rule = RULE): number | null {
  let trace = NO_TRACE;
  for (const entry of entries) {
    trace = fold(trace, entry);
    if (persistenceOf(trace, rule, timeOf(entry) * 1000).state === "persistent") return timeOf(entry);
  }
  return null;
}

const every = (seconds: number, from: number, to: number): number[] => {
  const times: number[] = [];
  for (let t = from; t <= to; t += seconds) times.push(t);
  return times;
};

const after = (...pauses: number[]): number[] => {
  let at = 0;
  return [0, ...pauses.map(pause => (at += pause))];
};

/** One of several lives, each so many seconds after the one before: its 401s and another line, in seconds from its start. */
function lived(life: number, seconds: number, rejections: readonly number[], line: number): Entry[] {
  const startS = life * seconds;
  const entries = [...rejections.map(at => ({ at: startS + at, life })), { line: startS + line, life }];
  return entries.toSorted((a, b) => timeOf(a) - timeOf(b));
}

describe("fresh", () => {
  const traceOf = (entries: readonly Entry[]): UnauthorizedTrace => entries.reduce(fold, NO_TRACE);
  const isFresh = (entries: readonly Entry[], seconds: number): boolean | undefined =>
    persistenceOf(traceOf(entries), RULE, seconds * 1000).isFresh;

  it.each<[string, Entry[], number]>([
    ["one line per second: for 60 s", every(1, 0, 100), 160],
    ["one line every 60 s: for 90 s", every(60, 0, 240), 330],
    ["one line every 2 s for six hours, most of them forgotten: for 60 s", every(2, 0, 21_600), 21_660],
    ["a crash loop of 5 min: for 7.5 min", every(300, 0, 600), 1050],
  ])("%s", (_, entries, last) => {
    expect(isFresh(entries, last)).toBe(true);
    expect(isFresh(entries, last + 0.001)).not.toBe(true);
  });

  it("ends when the log goes on without a 401 for longer than during the rejections", () => {
    const sick = every(1, 0, 100);
    expect(isFresh([...sick, { line: 110 }], 110)).toBe(true);
    expect(isFresh([...sick, { line: 111 }], 111)).toBe(false);
    const busy = every(30, 0, 120).flatMap((at): Entry[] => [at, { line: at + 28 }]);
    expect(isFresh([...busy, { line: 165 }], 165)).toBe(true);
    expect(isFresh([...busy, { line: 166 }], 166)).toBe(false);
  });

  it("begins again with the next 401", () => {
    expect(isFresh([...every(1, 0, 100), { line: 111 }, 112], 112)).toBe(true);
  });
});

describe("persistent", () => {
  const long = [1, 2, 3].flatMap(life => lived(life, 360, [0], 240));
  const cases: [string, Entry[], number][] = [
    ["an old reflector, one line per second", every(1, 0, 300), 60],
    ["five old reflectors, shifted", every(0.25, 0, 300), 60],
    ["a reflector backing off to 30 s", after(1.3, 2.7, 5.5, 11, 22, 30, 41, 27), 72.5],
    ["a single informer, one line every 30 s", every(30, 0, 600), 60],
    ["a single informer, one line every 60 s", every(60, 0, 600), 120],
    ["leader election every 4.4 s", every(4.4, 0, 300).map(t => Math.round(t * 10) / 10), 61.6],
    ["leader election every 13 s", every(13, 0, 300), 65],
    ["a pause of 0.1 s", every(0.1, 0, 100).map(t => Math.round(t * 10) / 10), 60],
    ["a pause of 5 s", every(5, 0, 300), 60],
    ["a pause of 10 s", every(10, 0, 300), 60],
    ["a pause of 11 s", every(11, 0, 300), 66],
    ["a work queue backing off", after(15, 26, 46, 87, 168), 87],
    ["a work queue at 15, 26, 46, 87, 168 s", [15, 26, 46, 87, 168], 87],
    ["a poll every five minutes", every(300, 0, 1200), 600],
    ["a crash loop with one line per life", [1, 2, 3, 4].flatMap(life => lived(life, 330, [0], -2)), 990],
    ["a crash loop that logs on for four minutes after the 401", long, 1080],
    ["lines every 30 s among many others", every(1, 0, 200).map((t): Entry => (t % 30 === 0 ? t : { line: t })), 60],
  ];
  it.each(cases)("%s", (_, entries, at) => expect(persistentAt(entries)).toBe(at));
});

describe("not persistent", () => {
  const recovering = [1, 2, 3].flatMap(life => lived(life, 400, [0, 3], 390));
  const healthy = (from: number, to: number): Entry[] => every(5, from, to).map(line => ({ line }));
  const cases: [string, Entry[]][] = [
    ["one line", [0, ...healthy(1, 3600)]],
    ["20 informers within 10 ms at startup", [...every(0.0005, 0, 0.01), ...healthy(1, 3600)]],
    ["4 lines in 3 ms during a rotation", [0, 0.001, 0.002, 0.003]],
    ["3 calls in 21 ms at shutdown", [...healthy(0, 600), 601, 601.01, 601.021]],
    ["an API server that is unavailable for under a minute", [...every(5, 0, 55), ...healthy(56, 3600)]],
    ["a burst of 10 s at startup and one line much later", [...every(1, 0, 10), ...healthy(11, 480), 480]],
    ["the same in an otherwise empty log", [...every(1, 0, 10), 480]],
    ["a burst at startup and a short outage much later", [0, 0.01, 480, 490, 505]],
    ["one 401 every half hour", every(1800, 0, 36_000)],
    ["a burst at the start of three long lives, with a recovery each", recovering],
  ];
  it.each(cases)("%s", (_, entries) => expect(persistentAt(entries)).toBeNull());
});

describe("still going on", () => {
  const sick = every(10, 0, 100).reduce<UnauthorizedTrace>(fold, NO_TRACE);

  it("becomes quiet after the 401s end", () => {
    expect(persistenceOf(sick, RULE, 190_000).state).toBe("persistent");
    expect(persistenceOf(sick, RULE, 190_001)).toEqual({ state: "quiet", occasions: 0 });
  });

  it("waits up to 10 minutes for the next life of a crash loop", () => {
    const loop = [1, 2, 3].reduce((trace, life) => withUnauthorized(trace, life * 340_000, life), NO_TRACE);
    expect(persistenceOf(loop, RULE, 1_020_000 + 200_000).state).toBe("persistent");
    expect(persistenceOf(loop, RULE, 1_020_000 + 600_001).state).toBe("quiet");
  });

  it("ends when the next life runs without 401s", () => {
    const loop = [1, 2, 3].reduce((trace, life) => withUnauthorized(trace, life * 340_000, life), NO_TRACE);
    const revived = withLine(withLine(loop, 1_330_000, 4), 1_511_000, 4);
    expect(persistenceOf(revived, RULE, 1_511_000).state).toBe("quiet");
  });

  it("counts only occasions inside the window", () => {
    expect(persistentAt([0, 450, 900])).toBeNull();
    expect(persistentAt([0, 449, 899])).toBe(899);
  });

  it("does not count an unread part of the log as silence", () => {
    const before = every(5, 0, 50).reduce<UnauthorizedTrace>(fold, NO_TRACE);
    const skipped = [withLine(before, 250_000, 1), withGap(before, 250_000)].map(trace =>
      withUnauthorized(trace, 250_001, 1),
    );
    expect(skipped.map(trace => persistenceOf(trace, RULE, 250_001).state)).toEqual(["suspected", "persistent"]);
  });
});

describe("clocks that jump", () => {
  it("ignores occasions in the future until their time comes", () => {
    expect(persistentAt([5000, 0, 20, 40, 60])).toBe(60);
    expect(persistentAt([0, 20, 7200, 7230, 7260])).toBe(7260);
  });

  it("accepts lines out of order", () => {
    expect(persistentAt([0, 30, 29.5, 10, 60])).toBe(60);
  });
});

describe("properties", () => {
  const times = fc.array(fc.integer({ min: 0, max: 3_000_000 }), { maxLength: 60 });
  const rules = fc.record({
    occasions: fc.integer({ min: 2, max: 100 }),
    windowMs: fc.integer({ min: 60_000, max: 3_600_000 }),
    minDurationMs: fc.integer({ min: 10_000, max: 600_000 }),
  });

  it("needs the asked number of occasions and duration, and never throws", () => {
    fc.assert(
      fc.property(times, rules, fc.integer({ min: 0, max: 4_000_000 }), (unsorted, rule, now) => {
        const persistence = persistenceOf(
          unsorted.reduce((trace, at) => withUnauthorized(trace, at, at % 3), NO_TRACE),
          rule,
          now,
        );
        if (persistence.state !== "persistent") return;
        const apart = [...new Set(unsorted.filter(at => at <= now && now - at < rule.windowMs))].sort((a, b) => a - b);
        expect(persistence.occasions).toBeGreaterThanOrEqual(rule.occasions);
        expect(apart.at(-1)! - apart[0]!).toBeGreaterThanOrEqual(rule.minDurationMs);
        expect(apart.length).toBeGreaterThanOrEqual(rule.occasions);
      }),
      { numRuns: 2000 },
    );
  });

  it("ignores a line that is seen twice", () => {
    fc.assert(
      fc.property(times, unsorted => {
        const sorted = unsorted.sort((a, b) => a - b);
        const once = sorted.reduce((trace, at) => withUnauthorized(trace, at, 1), NO_TRACE);
        const twice = sorted.flatMap(at => [at, at]).reduce((trace, at) => withUnauthorized(trace, at, 1), NO_TRACE);
        expect(twice).toEqual(once);
      }),
    );
  });

  it("keeps a bounded number of occasions: the newest half and the very first", () => {
    const trace = every(2, 0, 100_000).reduce<UnauthorizedTrace>(fold, NO_TRACE);
    expect(trace.occasions.length).toBeLessThanOrEqual(MAX_OCCASIONS);
    expect(trace.occasions[0]?.startMs).toBe(0);
    const newest = trace.occasions.slice(-100).map(occasion => occasion.startMs);
    expect(newest).toEqual(every(2, 100_000 - 198, 100_000).map(t => t * 1000));
    const day = { occasions: 100, windowMs: 86_400_000, minDurationMs: 21_600_000 };
    expect(persistenceOf(trace, day, 100_000_000).state).toBe("persistent");
  });
});
