import { describe, expect, it, vi } from "vitest";
import { ForbiddenError, TerminatingError, TransientError, WaitError } from "../../core/errors";
import type { EventRecord } from "../../core/ports";
import { FakeClock, settle } from "../../core/testing/fake-clock";
import { RecordingLog } from "../../engine/testing/fakes";
import type { ApiRequest } from "../http/api";
import { ApiEventSink } from "./event-sink";

function setUp(answer = (): Promise<void> => Promise.resolve()) {
  const clock = new FakeClock();
  const log = new RecordingLog();
  const calls: string[] = [];
  const failures: Error[] = [];
  let lost = 0;
  let gate: Promise<void> = Promise.resolve();
  const api = {
    json: async <T>(request: ApiRequest): Promise<T> => {
      const { note } = request.body as { note: string };
      calls.push(`${request.method} ${note}`);
      await gate;
      await answer();
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      return {} as T;
    },
  };
  const metrics = { count: () => void lost++ };
  const sink = new ApiEventSink({ api, clock, random: () => 0.5, log, metrics, instance: "i" });
  const holdBack = (): (() => void) => {
    let open: () => void = () => undefined;
    gate = new Promise(resolve => (open = resolve));
    return open;
  };
  return { clock, calls, failures, sink, holdBack, lost: () => lost, lines: log.lines };
}

const event = (note: string, namespace = "kai"): EventRecord => ({
  regarding: { apiVersion: "v1", kind: "Pod", namespace, name: "a", uid: "u" },
  type: "Normal",
  reason: "R",
  action: "A",
  note,
});

describe("the event sink", () => {
  it("does not write the last Event of an object again within five minutes, even if the wall clock is set back", async () => {
    const { clock, calls, sink } = setUp();
    const recordBoth = async (): Promise<void> => {
      for (const namespace of ["a", "b"]) sink.record(event(namespace, namespace));
      await settle();
    };
    await recordBoth();
    clock.jumpWall(-3_600_000);
    for (let minute = 0; minute < 4; minute++) {
      await clock.run(60_000);
      await recordBoth();
    }
    expect(calls).toEqual(["POST a", "POST b"]);
    await clock.run(60_000);
    await recordBoth();
    expect(calls).toEqual(["POST a", "POST b", "POST a", "POST b"]);
  });

  it("writes an Event again after another one of its object, so that the last one is true", async () => {
    const { clock, calls, sink } = setUp();
    for (const note of ["Stalled", "Recovered", "Stalled", "Stalled"]) {
      sink.record(event(note));
      await clock.run(60_000);
    }
    expect(calls).toEqual(["POST Stalled", "POST Recovered", "POST Stalled"]);
  });

  it("writes an Event that was lost when it is repeated", async () => {
    const { calls, failures, sink } = setUp();
    failures.push(new ForbiddenError("no"));
    for (let times = 0; times < 2; times++) {
      sink.record(event("a"));
      await settle();
    }
    expect(calls).toEqual(["POST a", "POST a"]);
  });

  it.each<[string, Error[], number]>([
    ["at once when it is forbidden", [new ForbiddenError("no")], 1],
    ["after half a minute", [new WaitError("1", 20_000), new WaitError("2", 10_000), new TransientError("3")], 3],
  ])("drops an Event %s, and continues with the next", async (_, errors, tries) => {
    const { clock, calls, failures, sink, lost } = setUp();
    failures.push(...errors);
    sink.record(event("a"));
    sink.record(event("b"));
    await clock.run(60_000);
    expect(calls.filter(call => call === "POST a")).toHaveLength(tries);
    expect(calls.at(-1)).toBe("POST b");
    expect(lost()).toBe(1);
  });

  it("has a bounded queue for all namespaces together", async () => {
    const { sink, holdBack, lost, calls } = setUp();
    const warning = vi.spyOn(process, "emitWarning");
    const open = holdBack();
    for (let i = 0; i < 6_000; i++) sink.record(event("n", `namespace-${i}`));
    expect(lost()).toBe(999);
    open();
    await settle();
    expect(calls).toHaveLength(5_001);
    sink.record(event("later", "another"));
    await settle();
    expect([lost(), calls.length]).toEqual([999, 5_002]);
    expect(warning).not.toHaveBeenCalled();
  });

  it("loses nothing of a quiet namespace beside a loud one, and writes it in its turn", async () => {
    const { calls, sink, holdBack, lost, lines } = setUp();
    const open = holdBack();
    for (let i = 0; i < 300; i++) sink.record(event(`loud ${i}`, "loud"));
    const lostOfLoud = lost();
    sink.record(event("quiet", "quiet"));
    open();
    await settle();
    expect(calls.indexOf("POST quiet")).toBeLessThan(3);
    expect([lostOfLoud, lost(), calls.length]).toEqual([99, 99, 202]);
    expect(lines.filter(({ level }) => level === "warn")).toHaveLength(99);
  });

  it("writes Events in time while those of another namespace fail", async () => {
    const { clock, calls, sink, lost } = setUp(() =>
      calls.at(-1)?.includes("bad") === true ? Promise.reject(new TransientError("500")) : Promise.resolve(),
    );
    for (let i = 0; i < 10; i++) {
      sink.record(event(`bad ${i}`, "bad"));
      sink.record(event(`good ${i}`, "good"));
      await clock.run(1_000);
      expect(calls).toContain(`POST good ${i}`);
    }
    await clock.run(120_000);
    expect(lost()).toBe(10);
    // Each attempt backs off, and an Event that has waited for half a minute has one.
    expect(calls.filter(call => call.includes("bad")).length).toBeLessThan(30);
  });

  it("counts no loss in a terminating namespace, since its Events are deleted with it", async () => {
    const { clock, calls, failures, sink, lost, lines } = setUp();
    failures.push(new TerminatingError("because it is being terminated"));
    sink.record(event("a"));
    await clock.run(60_000);
    expect([calls, lost()]).toEqual([["POST a"], 0]);
    expect(lines.map(({ level }) => level)).toEqual(["debug"]);
  });

  it("stops in time however many Events wait, and however slow the API server is", async () => {
    const { clock, calls, sink, lost } = setUp(() => new Promise(resolve => void clock.after(300, () => resolve())));
    for (let i = 0; i < 100; i++) sink.record(event(`n${i}`));
    await clock.run(0);
    let isStopped = false;
    void sink.stop(500).then(() => (isStopped = true));
    await clock.run(1_000);
    expect([isStopped, calls.length, lost()]).toEqual([true, 2, 98]);
  });

  it("waits for pending Events on stop, and leaves no timer", async () => {
    const { clock, failures, sink, lost } = setUp();
    failures.push(new WaitError("429", 60_000));
    sink.record(event("a"));
    await settle();
    const stopped = sink.stop(2_000);
    await clock.run(2_000);
    await stopped;
    sink.record(event("b"));
    expect(clock.pendingTimers).toBe(0);
    expect(lost()).toBe(2);
  });
});
