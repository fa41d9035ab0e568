import { describe, expect, it } from "vitest";
import { FakeClock, seededRandom } from "./fake-clock";

describe("the fake clock", () => {
  it("fires timers in order, each at its own time, including timers set by other timers", () => {
    const clock = new FakeClock();
    const startMs = clock.monotonicMs();
    const seen: string[] = [];
    const note = (name: string) => () => seen.push(`${name}@${clock.monotonicMs() - startMs}`);
    clock.after(20, note("b"));
    clock.after(10, () => {
      note("a")();
      clock.after(5, note("nested"));
    });
    clock.after(30, note("c"));
    clock.after(15, note("cancelled"))();

    clock.advance(25);
    expect(seen).toEqual(["a@10", "nested@15", "b@20"]);
    expect(clock.monotonicMs() - startMs).toBe(25);
    expect(clock.pendingTimers).toBe(1);
  });

  it("lets promises settle between timers when it runs", async () => {
    const clock = new FakeClock();
    let rounds = 0;
    const loop = async () => {
      for (;;) {
        await new Promise<void>(resolve => void clock.after(10, resolve));
        rounds++;
      }
    };
    void loop();
    await clock.run(100);
    expect(rounds).toBe(10);
  });

  it("freezes: time advances without timers, which then fire late", () => {
    const clock = new FakeClock();
    let fired = 0;
    clock.after(10, () => fired++);
    clock.freeze(1_000);
    expect(fired).toBe(0);
    clock.advance(0);
    expect(fired).toBe(1);
  });

  it("changes the wall clock independently of the monotonic clock", () => {
    const clock = new FakeClock("2025-06-01T00:00:00Z");
    const before = clock.monotonicMs();
    clock.jumpWall(-3_600_000);
    expect(clock.now().toISOString()).toBe("2025-05-31T23:00:00.000Z");
    expect(clock.skewed(60_000).now().toISOString()).toBe("2025-05-31T23:01:00.000Z");
    expect(clock.monotonicMs()).toBe(before);
  });
});

describe("seeded randomness", () => {
  it("repeats for the same seed and stays in [0, 1)", () => {
    const [a, b] = [seededRandom(7), seededRandom(7)];
    const numbers = Array.from({ length: 1000 }, () => a());
    expect(numbers).toEqual(Array.from({ length: 1000 }, () => b()));
    expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...numbers)).toBeLessThan(1);
    expect(numbers.reduce((sum, n) => sum + n, 0) / 1000).toBeCloseTo(0.5, 1);
  });
});
