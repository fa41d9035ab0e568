import { describe, expect, it } from "vitest";
import {
  ConflictError,
  ForbiddenError,
  GoneError,
  TerminalError,
  TransientError,
  UnauthorizedError,
  WaitError,
} from "../../core/errors";
import type { LeaseStore } from "../../core/ports";
import { FakeClock, settle } from "../../core/testing/fake-clock";
import { LeaderElector, type ElectionTiming } from "./leader-election";
import { MemoryLease, RecordingLog, RecordingMetrics } from "../testing/fakes";

interface Candidate {
  readonly elector: LeaderElector;
  readonly heard: string[];
  readonly metrics: RecordingMetrics;
  readonly log: RecordingLog;
}

function makeCandidate(
  identity: string,
  clock: FakeClock,
  store: LeaseStore,
  timing: Partial<ElectionTiming> = { absentLeaseWaitMs: 0 },
): Candidate {
  const heard: string[] = [];
  const metrics = new RecordingMetrics();
  const log = new RecordingLog();
  const elector = new LeaderElector(
    identity,
    {
      store,
      clock,
      log,
      metrics,
      random: () => 0.5,
      onStartedLeading: () => heard.push("started"),
      onStoppedLeading: () => heard.push("stopped"),
    },
    timing,
  );
  return { elector, heard, metrics, log };
}

const hang = () => new Promise<never>(() => undefined);

async function leadingAlone() {
  const store = new MemoryLease();
  const clock = new FakeClock();
  const candidate = makeCandidate("a", clock, store);
  candidate.elector.start();
  await clock.run(100);
  expect(candidate.elector.isLeader()).toBe(true);
  return { clock, store, ...candidate };
}

describe("becoming leader", () => {
  it("creates the Lease, leads, and renews every two seconds", async () => {
    const { clock, store, heard, metrics, elector } = await leadingAlone();
    expect(store.record).toMatchObject({ holderIdentity: "a", leaseDurationSeconds: 15, leaseTransitions: 0 });
    const before = store.calls;
    await clock.run(60_000);
    expect(store.calls - before).toBe(30);
    expect([elector.isLeader(), heard, metrics.leading]).toEqual([true, ["started"], true]);
    expect(store.record?.renewTimeMs).toBeGreaterThan(store.record?.acquireTimeMs ?? 0);
  });

  it("waits for a Lease that is missing, since a living leader may be about to make it again", async () => {
    const clock = new FakeClock();
    const { elector } = makeCandidate("a", clock, new MemoryLease(), {});
    elector.start();
    await clock.run(9_000);
    expect(elector.isLeader()).toBe(false);
    await clock.run(6_000);
    expect(elector.isLeader()).toBe(true);
  });

  it("takes over what it has seen unchanged for the lease duration, whatever the times in it say", async () => {
    const clock = new FakeClock();
    const store = new MemoryLease();
    store.put({ holderIdentity: "z", leaseDurationSeconds: 15, acquireTimeMs: 0, renewTimeMs: 0, leaseTransitions: 4 });
    const { elector } = makeCandidate("a", clock, store);
    elector.start();
    await clock.run(14_900);
    expect(elector.isLeader()).toBe(false);
    await clock.run(5_000);
    expect(elector.isLeader()).toBe(true);
    expect(store.record).toMatchObject({ holderIdentity: "a", leaseTransitions: 5 });
  });

  it("leaves a Lease alone that goes on changing, also when its clock stands still", async () => {
    const clock = new FakeClock();
    const store = new MemoryLease();
    const record = {
      holderIdentity: "z",
      leaseDurationSeconds: 15,
      acquireTimeMs: 0,
      renewTimeMs: 0,
      leaseTransitions: 0,
    };
    const { elector } = makeCandidate("a", clock, store);
    elector.start();
    for (let i = 0; i < 20; i++) {
      store.put(record);
      await clock.run(10_000);
      expect(elector.isLeader()).toBe(false);
    }
  });

  it("respects a longer lease that the holder has promised, and no shorter one", async () => {
    for (const [promised, waitedMs] of [
      [60, 59_000],
      [2, 14_000],
      [Number.NaN, 14_000],
    ] as const) {
      const clock = new FakeClock();
      const store = new MemoryLease();
      store.put({
        holderIdentity: "z",
        leaseDurationSeconds: promised,
        acquireTimeMs: 0,
        renewTimeMs: 0,
        leaseTransitions: 0,
      });
      const { elector } = makeCandidate("a", clock, store);
      elector.start();
      await clock.run(waitedMs);
      expect(elector.isLeader()).toBe(false);
      await clock.run(7_000);
      expect(elector.isLeader()).toBe(true);
    }
  });

  it("waits out a holder of the same identity: the name proves nothing", async () => {
    const clock = new FakeClock();
    const store = new MemoryLease();
    const first = makeCandidate("same", clock, store);
    first.elector.start();
    await clock.run(100);
    const second = makeCandidate("same", clock, store);
    second.elector.start();
    await clock.run(120_000);
    expect([first.elector.isLeader(), second.elector.isLeader()]).toEqual([true, false]);
  });
});

describe("losing the lead", () => {
  it("says no by itself when a renewal hangs, before any timer fires", async () => {
    const { clock, store, elector, heard, metrics } = await leadingAlone();
    store.fault = hang;
    await clock.run(9_000);
    expect(elector.isLeader()).toBe(true);
    await clock.run(3_000);
    expect([elector.isLeader(), heard, metrics.leading]).toEqual([false, ["started", "stopped"], false]);
    expect(metrics.seen).toContain("lease:renew-failed");
    expect(metrics.seen.at(-1)).not.toBe("lease:acquired");
  });

  it("says no at once in a process that was stopped and wakes up, and tells of the loss before it leads again", async () => {
    const { clock, elector, heard } = await leadingAlone();
    clock.freeze(3_600_000);
    expect(elector.isLeader()).toBe(false);
    await clock.run(5_000);
    expect([elector.isLeader(), heard]).toEqual([true, ["started", "stopped", "started"]]);
  });

  it("tells of the loss also when the renewal is answered before the late timer fires", async () => {
    const { clock, store, elector, heard } = await leadingAlone();
    let answer: () => void = () => undefined;
    store.beforeAnswer = () => new Promise<void>(resolve => (answer = resolve));
    await clock.run(2_000);
    store.beforeAnswer = undefined;
    clock.freeze(20_000);
    answer();
    await settle();
    expect([elector.isLeader(), heard]).toEqual([false, ["started", "stopped"]]);
    await clock.run(5_000);
    expect([elector.isLeader(), heard]).toEqual([true, ["started", "stopped", "started"]]);
  });

  it.each([
    new TransientError("reset"),
    new WaitError("slow down", 1_000),
    new TerminalError("bad request"),
    new ForbiddenError("update leases"),
    new UnauthorizedError("401"),
    new ConflictError("changed"),
    new GoneError("not found"),
    new RangeError("a bug"),
    "a string",
    undefined,
  ])("survives an API that answers %s, loses the lead in time, and gets it back", async error => {
    const { clock, store, elector, heard } = await leadingAlone();
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- anything can be thrown
    store.fault = () => Promise.reject(error);
    await clock.run(11_000);
    expect([elector.isLeader(), heard]).toEqual([false, ["started", "stopped"]]);
    const before = store.calls;
    await clock.run(3_600_000);
    expect(store.calls - before).toBeGreaterThan(100);
    expect(store.calls - before).toBeLessThan(600);
    store.fault = undefined;
    await clock.run(20_000);
    expect([elector.isLeader(), heard]).toEqual([true, ["started", "stopped", "started"]]);
  });

  it("keeps the lead through failures shorter than the deadline", async () => {
    const { clock, store, elector, heard } = await leadingAlone();
    store.fault = () => Promise.reject(new TransientError("reset"));
    await clock.run(7_000);
    store.fault = undefined;
    await clock.run(60_000);
    expect([elector.isLeader(), heard]).toEqual([true, ["started"]]);
  });

  it("survives a call that throws before it begins, and listeners that throw", async () => {
    const { clock, store, elector, log } = await leadingAlone();
    store.fault = () => {
      throw new Error("at once");
    };
    await clock.run(15_000);
    store.fault = undefined;
    await clock.run(30_000);
    expect(elector.isLeader()).toBe(true);
    expect(log.lines.some(line => line.level === "warn")).toBe(true);
  });

  it("respects the patience that the server asks of a candidate", async () => {
    const clock = new FakeClock();
    const store = new MemoryLease();
    store.fault = () => Promise.reject(new WaitError("slow down", 40_000));
    const { elector } = makeCandidate("a", clock, store);
    elector.start();
    await clock.run(39_000);
    expect(store.calls).toBe(1);
    await clock.run(2_000);
    expect(store.calls).toBe(2);
  });
});

describe("why the Lease can't be had", () => {
  const forbidden = new ForbiddenError("get leases operators/controller-resilience: not allowed (403)");

  it("is told until somebody, itself or another, is known to hold it", async () => {
    const clock = new FakeClock();
    const store = new MemoryLease();
    store.fault = () => Promise.reject(forbidden);
    const { elector } = makeCandidate("a", clock, store);
    expect(elector.trouble()).toBe("the Lease can't be had: it was not asked for yet");
    elector.start();
    await clock.run(100);
    expect(elector.trouble()).toBe(`the Lease can't be had: ${forbidden.message}`);
    store.fault = undefined;
    await clock.run(20_000);
    expect(elector.trouble()).toBeNull();
    const follower = makeCandidate("b", clock, store).elector;
    follower.start();
    await clock.run(100);
    expect([follower.isLeader(), follower.trouble()]).toEqual([false, null]);
  });

  it("is told where it can't be made, although nobody has it: its namespace may not be there", async () => {
    const clock = new FakeClock();
    const store = new MemoryLease();
    store.create = () => Promise.reject(new GoneError("create leases nowhere/it: not found (404)"));
    const { elector } = makeCandidate("a", clock, store);
    elector.start();
    await clock.run(60_000);
    expect(elector.trouble()).toContain("not found (404)");
  });

  it("is not told of once it was had: whoever loses it later says so in other ways, and stays Ready", async () => {
    const { clock, store, elector } = await leadingAlone();
    store.fault = () => Promise.reject(forbidden);
    await clock.run(120_000);
    expect([elector.isLeader(), elector.trouble()]).toEqual([false, null]);
  });
});

describe("a person at the Lease", () => {
  it("deletes it: the leader makes it again and leads on", async () => {
    const { clock, store, elector, heard } = await leadingAlone();
    store.remove();
    await clock.run(3_000);
    expect([elector.isLeader(), heard, store.record?.holderIdentity]).toEqual([true, ["started"], "a"]);
  });

  it("edits a label or the duration: the leader leads on", async () => {
    const { clock, store, elector, heard } = await leadingAlone();
    store.put({ ...store.record!, leaseDurationSeconds: 3_600 });
    await clock.run(3_000);
    expect([elector.isLeader(), heard, store.record?.leaseDurationSeconds]).toEqual([true, ["started"], 15]);
  });

  it.each(["somebody", ""])(
    "sets the holder to '%s': the leader stops at once and waits like everybody",
    async holder => {
      const { clock, store, elector, heard } = await leadingAlone();
      store.put({ ...store.record!, holderIdentity: holder });
      await clock.run(2_500);
      expect([elector.isLeader(), heard]).toEqual([false, ["started", "stopped"]]);
      await clock.run(10_000);
      expect(elector.isLeader()).toBe(false);
      await clock.run(10_000);
      expect([elector.isLeader(), store.record?.holderIdentity]).toEqual([true, "a"]);
    },
  );
});

describe("stepping down", () => {
  it("stops leading first, then releases the Lease as client-go does, so that another leads within seconds", async () => {
    const { clock, store, elector, heard } = await leadingAlone();
    const other = makeCandidate("b", clock, store);
    other.elector.start();
    await clock.run(30_000);
    expect(other.elector.isLeader()).toBe(false);
    const stopped = elector.stop();
    expect([elector.isLeader(), heard]).toEqual([false, ["started", "stopped"]]);
    await stopped;
    expect(store.record).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 0 });
    await clock.run(4_500);
    expect([other.elector.isLeader(), store.record?.leaseTransitions]).toEqual([true, 1]);
  });

  it("releases after an edit, and leaves the Lease of another alone", async () => {
    const edited = await leadingAlone();
    edited.store.put({ ...edited.store.record! });
    await edited.elector.stop();
    expect(edited.store.record?.holderIdentity).toBe("");

    const taken = await leadingAlone();
    taken.store.put({ ...taken.store.record!, holderIdentity: "b" });
    await taken.elector.stop();
    expect(taken.store.record?.holderIdentity).toBe("b");
  });

  it("does not lead again by a renewal that is answered after it has stopped", async () => {
    const { clock, store, elector, heard } = await leadingAlone();
    store.beforeAnswer = () => new Promise<void>(resolve => void clock.after(1_000, resolve));
    await clock.run(2_000);
    const stopped = elector.stop();
    await clock.run(5_000);
    await stopped;
    expect([elector.isLeader(), heard, store.record?.holderIdentity]).toEqual([false, ["started", "stopped"], ""]);
  });

  it("ends in bounded time when the API hangs, and never leads again", async () => {
    const { clock, store, elector, heard } = await leadingAlone();
    store.fault = hang;
    await clock.run(2_500);
    let ended = false;
    void elector.stop().then(() => (ended = true));
    await clock.run(11_000);
    expect(ended).toBe(true);
    store.fault = undefined;
    await clock.run(60_000);
    expect([elector.isLeader(), heard, clock.pendingTimers]).toEqual([false, ["started", "stopped"], 0]);
  });

  it("does not write when it does not lead", async () => {
    const clock = new FakeClock();
    const store = new MemoryLease();
    store.put({ holderIdentity: "z", leaseDurationSeconds: 15, acquireTimeMs: 0, renewTimeMs: 0, leaseTransitions: 0 });
    const { elector } = makeCandidate("a", clock, store);
    elector.start();
    await clock.run(5_000);
    await elector.stop();
    expect(store.record?.holderIdentity).toBe("z");
  });
});
