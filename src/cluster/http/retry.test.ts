import { describe, expect, it } from "vitest";
import { TransientError, WaitError } from "../../core/errors";
import { RecordingLog } from "../../engine/testing/fakes";
import { FakeClock } from "../../core/testing/fake-clock";
import { untilDone } from "./retry";

function setUp(answers: (Error | undefined)[]) {
  const clock = new FakeClock();
  const stopping = new AbortController();
  const log = new RecordingLog();
  let tries = 0;
  const work = (): Promise<void> => {
    const answer = answers[Math.min(tries++, answers.length - 1)];
    return answer === undefined ? Promise.resolve() : Promise.reject(answer);
  };
  const ports = { clock, random: () => 1, log, signal: stopping.signal };
  const done = untilDone({ work, failed: "not yet" }, ports);
  const told = (): unknown[] => log.lines.filter(({ level }) => level === "warn").map(({ fields }) => fields["error"]);
  return { clock, stopping, told, done, tries: () => tries };
}

describe("untilDone", () => {
  it("runs the action once if it succeeds", async () => {
    const { done, tries, told } = setUp([undefined]);
    expect([await done, tries(), told()]).toEqual([true, 1, []]);
  });

  it("retries until the action succeeds, and reports each failure", async () => {
    const { clock, done, tries, told } = setUp([
      new TransientError("refused"),
      new TransientError("forbidden"),
      undefined,
    ]);
    await clock.run(60_000);
    expect([await done, tries(), told()]).toEqual([true, 3, ["refused", "forbidden"]]);
  });

  it("does not warn of a request to wait, such as for a resource that was just installed, unless it lasts", async () => {
    const wait = new WaitError("storage is (re)initializing", 1_000);
    const short = setUp([wait, wait, undefined]);
    await short.clock.run(60_000);
    expect([await short.done, short.tries(), short.told()]).toEqual([true, 3, []]);
    const long = setUp([wait]);
    await long.clock.run(300_000);
    expect(new Set(long.told())).toEqual(new Set(["storage is (re)initializing"]));
  });

  it("does not quote foreign errors", async () => {
    const { clock, told } = setUp([new Error("secret"), undefined]);
    await clock.run(60_000);
    expect(told()).toEqual(["an unexpected Error"]);
  });

  it("stops on abort, also during a wait", async () => {
    const { clock, stopping, done, tries } = setUp([new TransientError("refused")]);
    await clock.run(10_000);
    const before = tries();
    stopping.abort();
    expect(await done).toBe(false);
    await clock.run(600_000);
    expect(tries()).toBe(before);
  });
});
