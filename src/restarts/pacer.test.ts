import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../core/testing/fake-clock";
import { RestartPacer } from "./ledger";

describe("the restart pacer", () => {
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
          const ask = (): number => {
            const leftMs = pacer.waitMs({ isProven });
            if (leftMs === 0) pacer.take();
            return leftMs;
          };
          const allowed = Array.from({ length: asks }, ask).filter(ms => ms === 0);
          expect(allowed.length).toBeLessThanOrEqual(1);
          const start = clock.monotonicMs();
          clock.advance(takesMs);
          if (used && allowed.length > 0)
            restarts.push({ start, end: clock.monotonicMs(), leastMs: isProven ? intervalMs / 5 : intervalMs });
          if (allowed.length > 0) pacer.giveBack(used);
        }
        restarts.slice(1).forEach((restart, i) => {
          expect(restart.start - restarts[i]!.end).toBeGreaterThanOrEqual(restart.leastMs);
        });
      }),
    );
  });
});
