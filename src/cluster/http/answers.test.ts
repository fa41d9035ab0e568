import { describe, expect, it } from "vitest";
import { FakeClock } from "../../core/testing/fake-clock";
import { RecordingLog } from "../../engine/testing/fakes";
import { ClockOffset, Reachability } from "./answers";

function reached() {
  const clock = new FakeClock();
  const log = new RecordingLog();
  const seen = { deaths: 0, rejected: undefined as boolean | undefined };
  const metrics = { show: (_: string, value: unknown) => void (seen.rejected = value === 1) };
  const reachability = new Reachability({ clock, log, metrics, onDead: () => void seen.deaths++ });
  /** The same answer every 5 s for some time, as to renewals of the Lease. */
  const answers = (code: number, ms: number): void => {
    for (let left = ms; left > 0; left -= 5_000) {
      reachability.answered(code);
      clock.advance(5_000);
    }
  };
  return { clock, log, seen, reachability, answers };
}

describe("the operator's own identity", () => {
  it("is rejected while the API server answers 401, and is dead after two minutes of that", () => {
    const { log, seen, reachability, answers } = reached();
    answers(200, 30_000);
    expect([reachability.rejection(), seen.rejected]).toEqual([null, undefined]);
    answers(401, 120_000);
    expect(reachability.rejection()).toBe("the API server has rejected the operator's credentials (401) for 120 s");
    expect([seen.rejected, seen.deaths]).toEqual([true, 0]);
    expect(log.lines.map(({ fields }) => fields)).toEqual(
      [30, 60, 90].map(rejectedForSeconds => ({ rejectedForSeconds })),
    );
    answers(401, 5_000);
    expect(seen.deaths).toBe(1);
  });

  it("is accepted again with the first success, also of another request", () => {
    const { seen, reachability, answers } = reached();
    for (let i = 0; i < 20; i++) {
      answers(401, 60_000);
      answers(403, 30_000);
      expect(reachability.rejection()).not.toBeNull();
      reachability.answered(200);
      expect([reachability.rejection(), seen.rejected, seen.deaths]).toEqual([null, false, 0]);
    }
  });

  it("is not dead by two 401s around an outage, nor by any other failure", () => {
    const { clock, seen, reachability, answers } = reached();
    for (const code of [401, 401]) reachability.answered(code);
    answers(503, 600_000);
    for (const code of [401, 401]) reachability.answered(code);
    for (const deaths of [0, 0, 1]) {
      clock.advance(30_000);
      reachability.answered(401);
      expect(seen.deaths).toBe(deaths);
    }
  });
});

describe("reachability", () => {
  it("depends on successful answers of the last minute, whatever other requests are refused", () => {
    const { clock, reachability } = reached();
    reachability.answered(401);
    expect(reachability.trouble()).toBe("no response from the API server yet");
    reachability.answered(200);
    clock.advance(60_000);
    reachability.answered(403);
    expect(reachability.trouble()).toBeNull();
    clock.advance(5_000);
    expect(reachability.trouble()).toBe("no successful response from the API server for 65 s");
    reachability.answered(200);
    expect(reachability.trouble()).toBeNull();
  });

  it("remembers the last 401 and the end of the last outage", () => {
    const { clock, reachability } = reached();
    reachability.answered(503);
    reachability.answered(200);
    clock.advance(60_000);
    reachability.answered(403);
    expect(reachability.sinceTroubleMs()).toBe(Infinity);
    reachability.answered(401);
    clock.advance(5_000);
    expect(reachability.sinceTroubleMs()).toBe(5_000);
    clock.advance(100_000);
    reachability.answered(200);
    clock.advance(7_000);
    expect(reachability.sinceTroubleMs()).toBe(7_000);
  });
});

describe("the offset of the API server's clock", () => {
  function scene() {
    const clock = new FakeClock("2025-01-01T12:00:00.400Z");
    const log = new RecordingLog();
    const seconds: number[] = [];
    const offset = new ClockOffset(clock, log, one => void seconds.push(one));
    const answer = (aheadMs: number, tripMs = 0): void => {
      const sentAtMs = clock.monotonicMs();
      clock.advance(tripMs);
      offset.answered(new Date(clock.now().getTime() + aheadMs).toUTCString(), sentAtMs);
    };
    return { clock, log, seconds, offset, answer };
  }

  it.each([
    ["within the same second", 0, 0, 0],
    ["ahead", 90_000, 0, 89.6],
    ["behind", -90_000, 0, -89.4],
    ["behind by less than a slow answer took", -8_000, 10_000, 0],
    ["behind by more than a slow answer took", -60_000, 10_000, -49.4],
  ])("is the least that the header proves: %s", (_, aheadMs, tripMs, expected) => {
    const { seconds, answer } = scene();
    answer(aheadMs, tripMs);
    expect(seconds).toEqual([expected]);
  });

  it("is the largest of five minutes, since API servers answer in turn, and is warned of once", () => {
    const { clock, log, seconds, answer } = scene();
    answer(0);
    for (let minute = 0; minute < 4; minute++) {
      answer(minute === 0 ? 120_000 : 0);
      clock.advance(60_000);
    }
    expect(seconds).toEqual([0, 119.6]);
    clock.advance(60_000);
    answer(0);
    expect(seconds).toEqual([0, 119.6, 0]);
    expect(log.lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      "warn: clock differs from the API server's",
      "warn: clock agrees with the API server's again",
    ]);
  });

  it("stays the largest of five minutes where a slow answer, which proves less, follows those", () => {
    const { clock, offset, answer } = scene();
    answer(-33_000);
    clock.advance(290_000);
    answer(-31_500);
    clock.advance(10_000);
    answer(-31_500, 2_000);
    expect(offset.trouble()).not.toBeNull();
  });

  it.each([
    ["ahead of an API server's", -93_000, "the operator's clock is more than 30 s ahead of an API server's"],
    ["behind an API server's", 208_000, "the operator's clock is more than 30 s behind an API server's"],
    ["a little off", 29_000, null],
  ])("is trouble for a clock that is %s, until both agree for five minutes", (_, aheadMs, expected) => {
    const { clock, offset, answer } = scene();
    expect(offset.trouble()).toBeNull();
    answer(aheadMs);
    expect(offset.trouble()).toBe(expected);
    clock.advance(300_000);
    answer(0);
    expect(offset.trouble()).toBeNull();
  });

  it("makes what has ended by the server's clock ended, as long as it may be right", () => {
    const { clock, offset, answer } = scene();
    answer(-93_000);
    expect(offset.behindMs()).toBe(0);
    clock.advance(300_000);
    answer(20_000);
    expect(offset.behindMs()).toBe(19_600);
  });

  it("ignores a header that is no date", () => {
    const { seconds, offset } = scene();
    for (const date of [undefined, "", "tomorrow"]) offset.answered(date, 0);
    expect(seconds).toEqual([]);
  });
});
