import { describe, expect, it } from "vitest";
import { ServerChanges } from "./request-counts";

const MINUTE = 60_000;
const EPOCH_MS = 1_700_000_000_000;

/** A reading of servers that started so many minutes after the first one; a number of minutes after the first one. */
class Readings {
  #minute = 0;
  readonly changes = new ServerChanges({
    now: () => new Date(EPOCH_MS + this.#minute * MINUTE),
    monotonicMs: () => 7 + this.#minute * MINUTE,
  });

  /** Reads, and returns for how many more minutes clients may list again. */
  read(minute: number, starts: readonly number[], addresses: readonly string[] = ["a"]): number | undefined {
    const counts = starts.map(start => ({ startSeconds: (EPOCH_MS + start * MINUTE) / 1_000 }));
    this.#minute = minute;
    this.changes.note(
      counts,
      addresses.map(address => ({ address })),
    );
    const { untilMs } = this.changes;
    return untilMs === undefined ? undefined : (untilMs - 7) / MINUTE - minute;
  }
}

describe("the time in which clients list anew", () => {
  it("lasts five minutes from the reading that first sees a server's start", () => {
    const readings = new Readings();
    readings.read(0, [-60, -90]);
    expect(readings.read(20, [-60, 19])).toBe(5);
    expect(readings.read(22, [-60, 19])).toBe(3);
    expect(readings.read(26, [-60, 19])).toBe(-1);
  });

  it("lasts five minutes from the start, if the first reading of the operator already has it", () => {
    const readings = new Readings();
    expect(readings.read(0, [-60, -2])).toBe(3);
    expect(new Readings().read(0, [-6])).toBeUndefined();
  });

  it("is five minutes at most at the first reading, also for a start in the future", () => {
    expect(new Readings().read(0, [600])).toBe(5);
  });

  it("does not begin with an old server behind the same address, read for the first time", () => {
    const readings = new Readings();
    readings.read(0, [-600], []);
    expect(readings.read(1, [-700], [])).toBeUndefined();
  });

  it("goes on while one server after the other restarts, but for half an hour at most", () => {
    const readings = new Readings();
    readings.read(0, [-600]);
    expect(readings.read(10, [10])).toBe(5);
    expect(readings.read(18, [18])).toBe(5);
    expect(readings.read(26, [26])).toBe(5);
    expect(readings.read(36, [36])).toBe(4);
    expect(readings.read(44, [44])).toBe(-4);
    expect(readings.read(56, [56])).toBe(5);
  });
});
