import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FlowStatus } from "../../api/controller-resilience";
import {
  FORGIVEN_MS,
  MAX_RELEASE_MS,
  nextThrottle,
  overdueMs,
  statusOf,
  type Throttle,
  throttleIn,
  type ThrottleLimits,
} from "./throttle";
import type { Reading } from "./rate";

const MINUTE = 60_000;
const LIMITS: ThrottleLimits = {
  threshold: 100,
  forMs: 30_000,
  releaseMs: 5 * MINUTE,
  mayThrottle: true,
  mayStayThrottled: true,
  isHeld: false,
};
const NOW = 1_000_000_000;
const reading = (perSecond: number, overMs = 0): Reading => ({ perSecond, overMs });
const UNKNOWN: Reading = { overMs: 0 };
const RUNAWAY = reading(5_000, 30_000);
const at = (state: Throttle["state"], more: Partial<Throttle> = {}): Throttle => ({ state, sinceMs: NOW, ...more });
const next = (own: Throttle | undefined, seen: Reading, afterMs = 0, limits: Partial<ThrottleLimits> = {}): Throttle =>
  nextThrottle(own, seen, { ...LIMITS, ...limits }, NOW + afterMs);

describe("a flow that is Normal", () => {
  it("is Elevated at the threshold, and never throttled immediately, however long the excess has lasted", () => {
    expect(next(undefined, reading(99))).toEqual(at("Normal"));
    expect(next(at("Normal"), reading(100), 1)).toEqual({ state: "Elevated", sinceMs: NOW + 1 });
    expect(next(undefined, RUNAWAY)).toEqual(at("Elevated"));
  });
});

describe("a flow that is Elevated", () => {
  it("is throttled for the time in the spec after the excess has lasted for `for`", () => {
    expect(next(at("Elevated"), reading(5_000, 29_999))).toEqual(at("Elevated"));
    expect(next(at("Elevated"), RUNAWAY, 7)).toEqual({
      state: "Throttled",
      sinceMs: NOW + 7,
      untilMs: NOW + 7 + 5 * MINUTE,
      releaseMs: 5 * MINUTE,
    });
  });

  it("stays Elevated if throttling is off", () => {
    expect(next(at("Elevated"), RUNAWAY, 0, { mayThrottle: false })).toEqual(at("Elevated"));
  });

  it("is Normal again well below the threshold, but not just below it, nor while the rate is unknown", () => {
    expect(next(at("Elevated"), reading(80), 5)).toEqual(at("Elevated"));
    expect(next(at("Elevated"), UNKNOWN, 5)).toEqual(at("Elevated"));
    expect(next(at("Elevated"), reading(79), 5)).toEqual({ state: "Normal", sinceMs: NOW + 5 });
  });
});

describe("a flow that is Throttled", () => {
  const throttled = at("Throttled", { untilMs: NOW + 5 * MINUTE, releaseMs: 5 * MINUTE });

  it.each([
    ["it is quiet", reading(0)],
    ["it is as busy as ever", RUNAWAY],
    ["nothing is known", UNKNOWN],
  ])("stays Throttled until its end, while %s", (_, seen) => {
    expect(next(throttled, seen, 5 * MINUTE - 1)).toEqual(throttled);
    expect(next(throttled, seen, 5 * MINUTE)).toEqual({
      state: "Probation",
      sinceMs: NOW + 5 * MINUTE,
      untilMs: NOW + 10 * MINUTE,
      releaseMs: 5 * MINUTE,
    });
  });

  it("stays Throttled after its end while the cluster still throttles it, then is on Probation", () => {
    const late = next(throttled, reading(4), 60 * MINUTE, { isHeld: true });
    expect(late).toEqual(throttled);
    expect(overdueMs(late, NOW + 60 * MINUTE)).toBe(55 * MINUTE);
    expect(next(late, reading(4), 61 * MINUTE)).toMatchObject({ state: "Probation", sinceMs: NOW + 61 * MINUTE });
  });

  it("stays Throttled but ends now if the spec only reports while the cluster still throttles it", () => {
    const limits = { mayThrottle: false, mayStayThrottled: false, isHeld: true };
    const ended = next(throttled, RUNAWAY, 1, limits);
    expect(ended).toEqual({ ...throttled, untilMs: NOW + 1 });
    expect(next(ended, RUNAWAY, 2, limits)).toEqual(ended);
  });

  it("is released if status has no end of the throttle", () => {
    expect(next(at("Throttled"), RUNAWAY)).toMatchObject({ state: "Probation" });
    const odd = throttleIn({ serviceAccount: "app", state: "Throttled", until: "soon" }, NOW);
    expect(next(odd, RUNAWAY)).toMatchObject({ state: "Probation" });
  });

  it("never lasts longer than its full time, also when the clock was set back", () => {
    const record = { serviceAccount: "app", ...statusOf(throttled) };
    expect(next(throttleIn(record, NOW - 60 * MINUTE), UNKNOWN, -60 * MINUTE)).toMatchObject({
      sinceMs: NOW - 60 * MINUTE,
      untilMs: NOW - 55 * MINUTE,
    });
  });
});

describe("a flow on Probation", () => {
  const released = at("Probation", { untilMs: NOW + 5 * MINUTE, releaseMs: 5 * MINUTE });

  it("is Normal after a quiet time as long as the throttle, and its history is dropped", () => {
    expect(next(released, reading(0), 5 * MINUTE - 1)).toEqual(released);
    expect(next(released, reading(99), 5 * MINUTE)).toEqual({ state: "Normal", sinceMs: NOW + 5 * MINUTE });
  });

  it("must be quiet all the time", () => {
    const busy = next(released, reading(100), MINUTE);
    expect(busy).toEqual({ state: "Probation", sinceMs: NOW, releaseMs: 5 * MINUTE });
    expect(next(busy, reading(0), 2 * MINUTE)).toEqual({ ...released, untilMs: NOW + 7 * MINUTE });
  });

  it("must be quiet for `for` if that is longer", () => {
    const throttled = at("Throttled", { untilMs: NOW, releaseMs: MINUTE });
    expect(next(throttled, UNKNOWN, 0, { forMs: 20 * MINUTE })).toMatchObject({ untilMs: NOW + 20 * MINUTE });
  });

  it("stays on Probation while the rate is unknown", () => {
    expect(next(released, UNKNOWN, 60 * MINUTE)).toEqual(released);
  });

  it("is throttled for twice as long when it relapses, for an hour at most", () => {
    expect(next(released, RUNAWAY, 1)).toMatchObject({ state: "Throttled", releaseMs: 10 * MINUTE });
    const long = at("Probation", { releaseMs: 40 * MINUTE });
    expect(next(long, RUNAWAY, 1)).toMatchObject({ releaseMs: 60 * MINUTE, untilMs: NOW + 1 + 60 * MINUTE });
  });
});

describe("a flow that relapses again and again", () => {
  const relapsed = (relapses: number): Throttle => at("Probation", { releaseMs: MINUTE, relapses });

  it("is given up instead of a sixth relapse, until it has been calm for a day", () => {
    expect(next(relapsed(4), RUNAWAY, 1)).toMatchObject({ state: "Throttled", relapses: 5 });
    const givenUp = next(relapsed(5), RUNAWAY, 1);
    expect(givenUp).toEqual({ state: "GivenUp", sinceMs: NOW + 1, relapses: 5 });
    for (const seen of [RUNAWAY, reading(80), UNKNOWN]) expect(next(givenUp, seen, 600 * MINUTE)).toEqual(givenUp);
    const calm = next(givenUp, reading(79), MINUTE);
    expect(calm).toEqual({ ...givenUp, untilMs: NOW + MINUTE + FORGIVEN_MS });
    expect(next(calm, reading(0), FORGIVEN_MS)).toEqual(calm);
    expect(next(calm, reading(80), FORGIVEN_MS)).toEqual(givenUp);
    expect(next(calm, reading(0), MINUTE + FORGIVEN_MS)).toMatchObject({ state: "Normal" });
  });
});

const states = fc.constantFrom<Throttle["state"][]>("Normal", "Elevated", "Throttled", "Probation");
const odd = fc.constantFrom(NaN, Infinity, -Infinity, 0, -1);
const times = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: NOW - 10 * 60 * MINUTE, max: NOW + 600 * MINUTE }) },
  odd,
);
const texts = times.map(ms => (Number.isFinite(ms) ? new Date(ms).toISOString() : `${ms}`));
const records: fc.Arbitrary<FlowStatus> = fc.record(
  {
    ...{ serviceAccount: fc.constant("app"), state: states, since: texts, until: texts },
    releaseSeconds: fc.oneof(fc.nat(7_200), odd),
  },
  { requiredKeys: ["serviceAccount", "state", "since"] },
);
const readings: fc.Arbitrary<Reading> = fc.oneof(
  fc.constant(UNKNOWN),
  fc.record({ perSecond: fc.nat(200), overMs: fc.nat(60_000) }),
);
const limits: fc.Arbitrary<ThrottleLimits> = fc
  .record({ mayThrottle: fc.boolean(), mayStayThrottled: fc.boolean(), releaseS: fc.integer({ min: 30, max: 3_600 }) })
  .map(({ releaseS, ...rest }) => ({ ...LIMITS, ...rest, releaseMs: releaseS * 1_000 }));

describe("any status, and any jumps of the clock", () => {
  it("begin a throttle only after a recorded runaway, and end it within an hour", () => {
    fc.assert(
      fc.property(records, readings, limits, fc.integer({ min: -1e9, max: 1e9 }), (record, seen, bounds, jumpMs) => {
        const nowMs = NOW + jumpMs;
        const own = throttleIn(record, nowMs)!;
        const after = nextThrottle(own, seen, bounds, nowMs);
        if (after.state !== "Throttled") return;
        expect(bounds.mayThrottle || own.state === "Throttled").toBe(true);
        expect(after.untilMs).toBeGreaterThan(nowMs);
        expect(after.untilMs! - nowMs).toBeLessThanOrEqual(MAX_RELEASE_MS);
        if (own.state === "Throttled") expect(after.untilMs).toBeLessThanOrEqual(own.untilMs!);
        else expect([own.state === "Normal", seen.overMs >= bounds.forMs]).toEqual([false, true]);
      }),
      { numRuns: 2_000 },
    );
  });

  it("stay Throttled while the cluster still throttles the flow, without a longer throttle", () => {
    fc.assert(
      fc.property(records, readings, limits, fc.integer({ min: -1e9, max: 1e9 }), (record, seen, bounds, jumpMs) => {
        const nowMs = NOW + jumpMs;
        const own = throttleIn(record, nowMs)!;
        const after = nextThrottle(own, seen, { ...bounds, isHeld: true }, nowMs);
        expect(after.state).toBe("Throttled");
        expect(after.untilMs! - nowMs).toBeLessThanOrEqual(MAX_RELEASE_MS);
        if (own.state !== "Throttled") expect(after.untilMs).toBe(nowMs);
      }),
      { numRuns: 1_000 },
    );
  });

  it("end in Normal within two hours of silence", () => {
    fc.assert(
      fc.property(records, limits, (record, bounds) => {
        let after = throttleIn(record, NOW)!;
        for (let ms = 0; ms <= 2 * 60 * MINUTE + 4 * MINUTE; ms += MINUTE) {
          after = nextThrottle(after, reading(0), bounds, NOW + ms);
        }
        expect(after.state).toBe("Normal");
      }),
      { numRuns: 500 },
    );
  });
});
