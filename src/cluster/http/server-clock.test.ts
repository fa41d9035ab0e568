import { describe, expect, it } from "vitest";
import { FakeClock } from "../../core/testing/fake-clock";
import { ServerClock } from "./server-clock";

function makeBench() {
  const machine = new FakeClock("2025-01-01T12:00:00.000Z");
  const warnings: object[] = [];
  const offsets: number[] = [];
  const log = { warn: (fields: object) => void warnings.push(fields) };
  const clock = new ServerClock(machine, { log: () => log, clockOffset: seconds => void offsets.push(seconds) });
  /** The server's clock is ahead by `offset`; the request takes `tripMs`, and the server reads its clock halfway. */
  const hear = (aheadMs: number, tripMs = 0) => {
    const sentAtMs = machine.monotonicMs();
    const date = new Date(machine.now().getTime() + tripMs / 2 + aheadMs).toUTCString();
    machine.advance(tripMs);
    clock.heard(date, sentAtMs);
  };
  const aheadMs = () => clock.now().getTime() - machine.now().getTime();
  return { machine, warnings, offsets, clock, hear, aheadMs };
}

describe("the server's clock", () => {
  it("equals this machine's clock before the first answer", () => {
    const bench = makeBench();
    expect(bench.aheadMs()).toBe(0);
    for (const offset of [0, 900, -900]) bench.hear(offset);
    bench.clock.heard(undefined, 0);
    bench.clock.heard("soon", 0);
    expect([bench.aheadMs(), bench.warnings]).toEqual([0, []]);
  });

  it.each([2_000, -2_000, 45_000, -3_600_000])(
    "follows a clock that differs by %d ms to within about half a second",
    offset => {
      const bench = makeBench();
      bench.hear(offset, 40);
      expect(Math.abs(bench.aheadMs() - offset)).toBeLessThanOrEqual(520);
      expect(bench.offsets.at(-1)).toBe(bench.aheadMs() / 1000);
      expect(bench.warnings).toEqual([{ offsetSeconds: bench.aheadMs() / 1000 }]);
    },
  );

  it("trusts a quick answer more than a slow one, for five minutes", () => {
    const bench = makeBench();
    bench.hear(2_000, 10);
    const quickMs = bench.aheadMs();
    bench.machine.advance(1_300);
    bench.hear(2_000, 4_000);
    expect(bench.aheadMs()).toBe(quickMs);
    bench.machine.advance(300_000);
    bench.hear(2_900, 2_000);
    expect(bench.aheadMs()).not.toBe(quickMs);
  });

  it("follows at once when one of the two clocks is set, and logs that once", () => {
    const bench = makeBench();
    bench.hear(0, 10);
    bench.machine.jumpWall(10_000);
    bench.hear(-10_000, 400);
    bench.hear(-10_000, 400);
    expect(Math.abs(bench.aheadMs() + 10_000)).toBeLessThanOrEqual(700);
    expect(bench.warnings).toHaveLength(1);
    bench.machine.jumpWall(-10_000);
    bench.hear(0, 400);
    expect([bench.aheadMs(), bench.warnings.at(-1)]).toEqual([0, { offsetSeconds: 0 }]);
  });

  it("follows one of several servers whose clocks differ by seconds", () => {
    const bench = makeBench();
    bench.hear(3_000, 10);
    const firstMs = bench.aheadMs();
    for (let i = 0; i < 600; i++) {
      bench.machine.advance(1_000);
      bench.hear(i % 20 === 0 ? 3_000 : 0, 10);
      expect(Math.abs(bench.aheadMs() - firstMs)).toBeLessThanOrEqual(1_000);
    }
    expect(bench.warnings).toHaveLength(1);
  });

  it("follows another server when that one no longer answers", () => {
    const bench = makeBench();
    bench.hear(3_000, 10);
    for (let i = 0; i < 61; i++) {
      bench.machine.advance(1_000);
      bench.hear(0, 10);
    }
    expect(bench.aheadMs()).toBe(0);
    bench.hear(3_000, 10);
    expect(bench.aheadMs()).toBe(0);
  });

  it("warns again when the offset becomes critical", () => {
    const bench = makeBench();
    for (const offset of [5_000, 6_500, 40_000, 42_000, -5_000]) bench.hear(offset);
    expect(bench.warnings).toHaveLength(3);
  });

  it("does not affect durations and timers", () => {
    const bench = makeBench();
    bench.hear(60_000);
    expect(bench.clock.monotonicMs()).toBe(bench.machine.monotonicMs());
    let fired = false;
    bench.clock.after(1_000, () => (fired = true));
    bench.machine.advance(1_000);
    expect(fired).toBe(true);
  });
});
