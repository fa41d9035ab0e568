import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../core/testing/fake-clock";
import { RestartPacer, type RestartPermit } from "./pacer";

function permitOf(pacer: RestartPacer): RestartPermit {
  const verdict = pacer.ask();
  if (!verdict.allowed) throw new Error(`refused for ${verdict.retryAfterMs} ms`);
  return verdict.permit;
}

function readyBrake() {
  const clock = new FakeClock();
  const pacer = new RestartPacer(clock);
  clock.advance(10_000);
  return { clock, pacer };
}

describe("the restart pacer", () => {
  it("begins with an empty bucket", () => {
    const clock = new FakeClock();
    const pacer = new RestartPacer(clock);
    expect(pacer.ask()).toEqual({ allowed: false, retryAfterMs: 10_000 });
    clock.advance(10_000);
    expect(pacer.ask().allowed).toBe(true);
  });

  it("ignores a restart that certainly did not happen, and returns a permit only once", () => {
    const { pacer } = readyBrake();
    const first = permitOf(pacer);
    first(false);
    const second = permitOf(pacer);
    first(true);
    expect(pacer.ask().allowed).toBe(false);
    second(false);
    expect(pacer.ask().allowed).toBe(true);
  });

  it("keeps restarts an interval apart, for any schedule", () => {
    const action = fc.record({
      waitMs: fc.integer({ min: 0, max: 15_000 }),
      takesMs: fc.integer({ min: 0, max: 8_000 }),
      used: fc.boolean(),
      isProven: fc.boolean(),
      asks: fc.integer({ min: 1, max: 4 }),
      newTerm: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), fc.integer({ min: 1, max: 20_000 }), (actions, intervalMs) => {
        const clock = new FakeClock();
        const pacer = new RestartPacer(clock, intervalMs);
        const restarts: { start: number; end: number; leastMs: number }[] = [];
        for (const { waitMs, takesMs, used, isProven, asks, newTerm } of actions) {
          clock.advance(waitMs);
          if (newTerm) pacer.startTerm();
          const allowed = Array.from({ length: asks }, () => pacer.ask({ isProven })).filter(
            verdict => verdict.allowed,
          );
          expect(allowed.length).toBeLessThanOrEqual(1);
          const start = clock.monotonicMs();
          clock.advance(takesMs);
          if (used && allowed[0])
            restarts.push({ start, end: clock.monotonicMs(), leastMs: isProven ? intervalMs / 5 : intervalMs });
          for (const { permit } of allowed) permit(used);
        }
        restarts.slice(1).forEach((restart, i) => {
          expect(restart.start - restarts[i]!.end).toBeGreaterThanOrEqual(restart.leastMs);
        });
      }),
    );
  });
});
