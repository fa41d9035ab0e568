import { describe, expect, it } from "vitest";
import { FakeClock } from "../../core/testing/fake-clock";
import { ServerClock } from "./server-clock";

function makeBench() {
  const machine = new FakeClock("2025-01-01T12:00:00.000Z");
  const warnings: object[] = [];
  const offsets: number[] = [];
  const log = { warn: (fields: object) => void warnings.push(fields) };
  const differences: number[] = [];
  const clock = new ServerClock(machine, {
    log: () => log,
    clockOffset: seconds => void offsets.push(seconds),
    clockDifference: seconds => void differences.push(Math.round(seconds)),
  });
  /** The server's clock is ahead by `offset`; the request takes `tripMs`, and the server reads its clock halfway. */
  const hear = (aheadMs: number, tripMs = 0) => {
    const sentAtMs = machine.monotonicMs();
    const date = new Date(machine.now().getTime() + tripMs / 2 + aheadMs).toUTCString();
    machine.advance(tripMs);
    clock.heard(date, sentAtMs);
  };
  const aheadMs = () => clock.now().getTime() - machine.now().getTime();
  /** Answers come every second for that time, from the server that is ahead by what `aheadMs` returns. */
  const hearFor = (ms: number, aheadMs: (second: number) => number): void => {
    for (let second = 0; second < ms / 1_000; second++) {
      machine.advance(990);
      hear(aheadMs(second), 10);
    }
  };
  return { machine, warnings, offsets, differences, clock, hear, hearFor, aheadMs };
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
    let setByMs = 0;
    for (const offset of [5_000, 6_500, 40_000, 42_000, -5_000]) {
      bench.machine.advance(1_000);
      bench.machine.jumpWall(setByMs - offset);
      setByMs = offset;
      bench.hear(offset);
    }
    expect(bench.warnings).toHaveLength(3);
  });

  it.each([3_700_000, -3_700_000, 45_000])(
    "stays that of the first of two servers whose clocks differ by %d ms, and is in doubt",
    otherMs => {
      const bench = makeBench();
      bench.hear(0, 10);
      expect(bench.clock.doubt()).toBeUndefined();
      bench.hearFor(3_600_000, second => (second % 300 === 299 ? 0 : otherMs));
      expect(bench.aheadMs()).toBe(0);
      const { differenceMs = 0, earliest = new Date(0) } = bench.clock.doubt() ?? {};
      expect(Math.abs(differenceMs - Math.abs(otherMs))).toBeLessThan(1_500);
      const earliestMs = earliest.getTime() - bench.machine.now().getTime();
      expect(Math.abs(earliestMs - Math.min(0, otherMs))).toBeLessThan(1_500);
      expect(bench.warnings).toHaveLength(1);
      expect(new Set(bench.differences).size).toBeLessThan(4);
    },
  );

  it("follows a server that is far from the one before after ten minutes without the latter", () => {
    const bench = makeBench();
    bench.hear(0, 10);
    bench.hearFor(600_000, () => 7_200_000);
    expect([bench.aheadMs(), bench.clock.doubt() === undefined]).toEqual([0, false]);
    bench.hearFor(2_000, () => 7_200_000);
    expect(Math.abs(bench.aheadMs() - 7_200_000)).toBeLessThan(1_000);
    expect([bench.clock.doubt(), bench.differences.at(-1)]).toEqual([undefined, 0]);
    bench.hear(0, 10);
    expect(bench.clock.doubt()?.earliest.getTime()).toBeCloseTo(bench.machine.now().getTime(), -4);
  });

  it("takes more than one answer from a server that is far, however long none came", () => {
    const bench = makeBench();
    bench.hear(0, 10);
    for (let i = 0; i < 10; i++) {
      bench.machine.advance(660_000);
      bench.hear(7_200_000, 10);
      expect(bench.aheadMs()).toBe(0);
    }
    bench.machine.advance(660_000);
    bench.hear(7_200_000, 10);
    expect(Math.abs(bench.aheadMs() - 7_200_000)).toBeLessThan(1_000);
  });

  it("is no longer in doubt when the other server has not answered for ten minutes", () => {
    const bench = makeBench();
    bench.hear(0, 10);
    bench.hear(-60_000, 10);
    bench.hearFor(599_000, () => 0);
    expect(bench.clock.doubt()).toBeDefined();
    bench.hearFor(2_000, () => 0);
    expect([bench.clock.doubt(), bench.differences.at(-1), bench.warnings.length]).toEqual([undefined, 0, 2]);
  });

  it("follows at once when the local clock is set, also by more than 30 s", () => {
    const bench = makeBench();
    bench.hear(0, 10);
    bench.machine.advance(1_000);
    bench.machine.jumpWall(-3_600_000);
    bench.hear(3_600_000, 10);
    expect(Math.abs(bench.aheadMs() - 3_600_000)).toBeLessThan(1_000);
    expect(bench.clock.doubt()).toBeUndefined();
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
