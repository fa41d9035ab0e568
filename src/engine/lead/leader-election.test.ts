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
import type { LeaseRecord, LeaseStore } from "../../core/ports";
import { FakeClock, settle } from "../../core/testing/fake-clock";
import { makeCandidate } from "../testing/elector";
import { MemoryLease } from "../testing/fakes";

const hang = () => new Promise<never>(() => undefined);

async function leadingAlone() {
  const store = new MemoryLease();
  const clock = new FakeClock();
  const candidate = makeCandidate("a", { clock, store });
  candidate.elector.start();
  await clock.run(100);
  expect(candidate.elector.isLeader()).toBe(true);
  return { clock, store, ...candidate };
}

describe("becoming leader", () => {
  it("creates the Lease, leads, and renews every ten seconds", async () => {
    const { clock, store, heard, metrics, elector } = await leadingAlone();
    expect(store.record).toMatchObject({ holderIdentity: "a", leaseDurationSeconds: 20, leaseTransitions: 0 });
    const before = store.calls;
    await clock.run(60_000);
    expect(store.calls - before).toBe(6);
    expect([elector.isLeader(), heard, metrics.gauges.get("leader")]).toEqual([true, ["started"], 1]);
    expect(store.record?.renewTimeMs).toBeGreaterThan(store.record?.acquireTimeMs ?? 0);
  });

  /** A candidate for the Lease of a holder that is dead. */
  function follow(record: Partial<LeaseRecord> = {}) {
    const [clock, store] = [new FakeClock(), new MemoryLease()];
    const times = { acquireTimeMs: 0, renewTimeMs: 0 };
    store.put({ holderIdentity: "z", leaseDurationSeconds: 15, ...times, leaseTransitions: 4, ...record });
    const { elector } = makeCandidate("a", { clock, store });
    elector.start();
    return { clock, store, elector };
  }

  it.each([
    ["unchanged for the lease duration", 20, 19_900],
    ["with a longer lease duration, which it respects", 60, 59_000],
    ["with one of years, of which it respects a minute", 2 ** 31 - 1, 59_000],
    ["with a shorter one, which it does not", 2, 19_000],
    ["with none", Number.NaN, 19_000],
  ])("takes over a Lease %s, and ignores the times in it", async (_, leaseDurationSeconds, waitedMs) => {
    const { clock, store, elector } = follow({ leaseDurationSeconds });
    await clock.run(waitedMs);
    expect(elector.isLeader()).toBe(false);
    await clock.run(9_000);
    expect(elector.isLeader()).toBe(true);
    expect(store.record).toMatchObject({ holderIdentity: "a", leaseTransitions: 5 });
  });

  it("takes over the Lease of a dead leader although somebody edits its labels", async () => {
    // The field is an int32.
    const { clock, store, elector } = follow({ leaseTransitions: 2 ** 31 - 1 });
    for (let i = 0; i < 6; i++) {
      store.put(store.record!);
      await clock.run(5_000);
    }
    expect([elector.isLeader(), store.record?.leaseTransitions]).toEqual([true, 2 ** 31 - 1]);
  });
});

describe("losing the lead", () => {
  it("stops leading when a renewal hangs", async () => {
    const { clock, store, elector, heard, metrics } = await leadingAlone();
    store.fault = hang;
    await clock.run(14_000);
    expect(elector.isLeader()).toBe(true);
    await clock.run(3_000);
    expect([elector.isLeader(), heard, metrics.gauges.get("leader")]).toEqual([false, ["started", "stopped"], 0]);
    expect(metrics.seen).toContain("lease:renew-failed");
    expect(metrics.seen.at(-1)).not.toBe("lease:acquired");
  });

  it("stops leading immediately after a freeze, and reports the loss before it leads again", async () => {
    const { clock, elector, heard } = await leadingAlone();
    clock.freeze(3_600_000);
    expect(elector.isLeader()).toBe(false);
    await clock.run(5_000);
    expect([elector.isLeader(), heard]).toEqual([true, ["started", "stopped", "started"]]);
  });

  it("reports the loss if the renewal is answered before the late timer fires", async () => {
    const { clock, store, elector, heard } = await leadingAlone();
    let answer: () => void = () => undefined;
    store.beforeAnswer = () => new Promise<void>(resolve => (answer = resolve));
    await clock.run(10_000);
    store.beforeAnswer = undefined;
    clock.freeze(20_000);
    answer();
    await settle();
    expect([elector.isLeader(), heard]).toEqual([false, ["started", "stopped"]]);
    await clock.run(8_000);
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
  ])("survives API error %s, loses the lead in time, and regains it", async error => {
    const { clock, store, elector, heard } = await leadingAlone();
    store.fault = () => Promise.reject(error);
    await clock.run(16_000);
    expect([elector.isLeader(), heard]).toEqual([false, ["started", "stopped"]]);
    const before = store.calls;
    await clock.run(3_600_000);
    // Five 401s, each 30 s after the one before, have to come within about two minutes (Reachability).
    expect(store.calls - before).toBeGreaterThan(200);
    expect(store.calls - before).toBeLessThan(600);
    store.fault = undefined;
    await clock.run(30_000);
    expect([elector.isLeader(), heard]).toEqual([true, ["started", "stopped", "started"]]);
  });

  it("tries a renewal that fails again after two seconds", async () => {
    const { clock, store, elector } = await leadingAlone();
    const [fromMs, triedMs] = [clock.monotonicMs() - 100, [] as number[]];
    store.fault = () => {
      triedMs.push(clock.monotonicMs() - fromMs);
      return Promise.reject(new TransientError("reset"));
    };
    await clock.run(14_500);
    expect([elector.isLeader(), triedMs]).toEqual([true, [10_000, 12_000, 14_000]]);
  });

  it("goes on leading after a renewal that hangs, by another one", async () => {
    const { clock, store, elector, heard } = await leadingAlone();
    store.fault = () => {
      store.fault = undefined;
      return hang();
    };
    await clock.run(30_000);
    expect([store.fault, elector.isLeader(), heard]).toEqual([undefined, true, ["started"]]);
  });

  it("waits as long as the API server asks a candidate to", async () => {
    const clock = new FakeClock();
    const store = new MemoryLease();
    store.fault = () => Promise.reject(new WaitError("slow down", 40_000));
    const { elector } = makeCandidate("a", { clock, store });
    elector.start();
    await clock.run(39_000);
    expect(store.calls).toBe(1);
    await clock.run(2_000);
    expect(store.calls).toBe(2);
  });
});

describe("the reason why the Lease is not reached", () => {
  const forbidden = new ForbiddenError("get leases operators/controller-resilience: not allowed (403)");

  it("is reported until the Lease is seen with any holder", async () => {
    const clock = new FakeClock();
    const store = new MemoryLease();
    store.fault = () => Promise.reject(forbidden);
    const { elector } = makeCandidate("a", { clock, store });
    expect(elector.failure()).toBe("failed to acquire lease: not requested yet");
    elector.start();
    await clock.run(100);
    expect(elector.failure()).toBe(`failed to acquire lease: ${forbidden.message}`);
    store.fault = undefined;
    await clock.run(20_000);
    expect(elector.failure()).toBeNull();
    const follower = makeCandidate("b", { clock, store }).elector;
    follower.start();
    await clock.run(100);
    expect([follower.isLeader(), follower.failure()]).toEqual([false, null]);
  });

  it("is reported again once the Lease was out of reach for two minutes, also of a former leader", async () => {
    const { clock, store, elector } = await leadingAlone();
    store.fault = () => Promise.reject(forbidden);
    await clock.run(110_000);
    expect([elector.isLeader(), elector.failure()]).toEqual([false, null]);
    await clock.run(20_000);
    expect(elector.failure()).toBe(`failed to acquire lease: ${forbidden.message}`);
    store.fault = undefined;
    await clock.run(20_000);
    expect([elector.isLeader(), elector.failure()]).toEqual([true, null]);
  });
});

describe("manual changes of the Lease", () => {
  it("that empty it again make a candidate wait anew: somebody may have held it between", async () => {
    const clock = new FakeClock();
    const store = new MemoryLease();
    const times = { acquireTimeMs: NaN, renewTimeMs: NaN };
    const empty = { holderIdentity: "", leaseDurationSeconds: NaN, ...times, leaseTransitions: 0 };
    store.put(empty);
    const { elector } = makeCandidate("a", { clock, store });
    elector.start();
    await clock.run(18_000);
    store.put(empty);
    await clock.run(17_000);
    expect(elector.isLeader()).toBe(false);
    await clock.run(12_000);
    expect(elector.isLeader()).toBe(true);
  });

  it("that restore a hold which another one has ended give no lead before it expires", async () => {
    const { clock, store, elector } = await leadingAlone();
    const before = store.record!;
    const renewal = { holderIdentity: "b", leaseTransitions: before.leaseTransitions + 1 };
    for (let seconds = 0; seconds < 30; seconds += 5) {
      store.put({ ...before, ...renewal, renewTimeMs: +clock.now() });
      await clock.run(5_000);
    }
    store.put(before);
    await clock.run(15_000);
    expect([elector.isLeader(), store.record?.holderIdentity]).toEqual([false, "a"]);
    await clock.run(15_000);
    expect(elector.isLeader()).toBe(true);
  });

  it.each(["somebody", ""])("stops leading immediately if the holder is set to '%s'", async holder => {
    const { clock, store, elector, heard } = await leadingAlone();
    store.put({ ...store.record!, holderIdentity: holder });
    await clock.run(10_100);
    expect([elector.isLeader(), heard]).toEqual([false, ["started", "stopped"]]);
    await clock.run(15_000);
    expect(elector.isLeader()).toBe(false);
    await clock.run(15_000);
    expect([elector.isLeader(), store.record?.holderIdentity]).toEqual([true, "a"]);
  });
});

/** The network of one candidate. */
interface Network {
  /** Requests wait for this. */
  opened?: Promise<void> | undefined;
  /** Writes are answered after this. */
  updatedAfterMs?: number;
}

describe("a Lease that is deleted", () => {
  async function leaderAndCandidate() {
    const [clock, store] = [new FakeClock(), new MemoryLease()];
    const networks: Record<"a" | "b", Network> = { a: {}, b: {} };
    const networkOf = (who: "a" | "b"): LeaseStore => {
      const call = async <T>(work: () => Promise<T>): Promise<T> => {
        await networks[who].opened;
        return work();
      };
      const update = async (record: LeaseRecord): Promise<LeaseRecord> => {
        const written = await store.update(record);
        await new Promise<void>(resolve => void clock.after(networks[who].updatedAfterMs ?? 0, resolve));
        return written;
      };
      return {
        ref: store.ref,
        get: () => call(() => store.get()),
        create: record => call(() => store.create(record)),
        update: record => call(() => update(record)),
      };
    };
    const leader = makeCandidate("a", { clock, store: networkOf("a") }, { isPatient: true });
    leader.elector.start();
    await clock.run(40_000);
    expect(leader.elector.isLeader()).toBe(true);
    const candidate = makeCandidate("b", { clock, store: networkOf("b") }, { isPatient: true });
    const runWithOneLeader = async (ms: number): Promise<void> => {
      const stepMs = Math.min(ms, 100);
      for (let i = 0; i < ms / stepMs; i++) {
        await clock.run(stepMs);
        expect([leader.elector.isLeader(), candidate.elector.isLeader()]).not.toEqual([true, true]);
      }
    };
    return { clock, store, networks, leader, candidate, runWithOneLeader };
  }

  it("is led by its creator only after a renewal that was sent when a leader from before had stopped", async () => {
    const { clock, store, leader, candidate, runWithOneLeader, networks } = await leaderAndCandidate();
    store.remove();
    candidate.elector.start();
    await runWithOneLeader(100);
    networks.b.opened = hang();
    await runWithOneLeader(60_000);
    // The candidate reads again just after a renewal and a deletion, creates the Lease, and renews it after 3.2, 6.4, 9.6 and 12.8 s.
    const { get } = store;
    store.get = async () => {
      const before = store.record?.renewTimeMs;
      // As long as the candidate waits for an answer.
      for (let waitedMs = 0; waitedMs < 3_900; waitedMs += 10) {
        await new Promise<void>(resolve => void clock.after(10, resolve));
        if (store.record?.renewTimeMs === before) continue;
        store.get = get;
        store.remove();
        return get();
      }
      throw new TransientError("reset");
    };
    networks.b.opened = undefined;
    while (store.record?.holderIdentity !== "b") await runWithOneLeader(10);
    // The leader knows nothing of that. The last renewal is answered late, when the leader has created the Lease again.
    let open = (): void => undefined;
    networks.a.opened = new Promise(resolve => (open = resolve));
    await runWithOneLeader(12_700);
    networks.b.updatedAfterMs = 3_000;
    await runWithOneLeader(150);
    store.remove();
    open();
    await runWithOneLeader(30_000);
    expect([leader.elector.isLeader(), candidate.elector.isLeader()]).toEqual([true, false]);
  });
});

describe("stepping down", () => {
  it("stops leading, then releases the Lease, so that another leads within seconds", async () => {
    const { clock, store, elector, heard } = await leadingAlone();
    const other = makeCandidate("b", { clock, store });
    other.elector.start();
    await clock.run(30_000);
    expect(other.elector.isLeader()).toBe(false);
    const stopped = elector.stop();
    expect([elector.isLeader(), heard]).toEqual([false, ["started", "stopped"]]);
    await stopped;
    expect(store.record).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 0 });
    await clock.run(7_500);
    expect([other.elector.isLeader(), store.record?.leaseTransitions]).toEqual([true, 1]);
  });

  it("releases an edited Lease, but not the Lease of another holder", async () => {
    const edited = await leadingAlone();
    edited.store.put({ ...edited.store.record! });
    await edited.elector.stop();
    expect(edited.store.record?.holderIdentity).toBe("");

    const taken = await leadingAlone();
    taken.store.put({ ...taken.store.record!, holderIdentity: "b" });
    await taken.elector.stop();
    expect(taken.store.record?.holderIdentity).toBe("b");
  });

  it.each(["is answered after the stop", "is applied but never answered"])(
    "releases a Lease whose takeover %s",
    async answer => {
      const clock = new FakeClock();
      const store = new MemoryLease();
      const { elector } = makeCandidate("a", { clock, store });
      const times = { acquireTimeMs: 0, renewTimeMs: 0 };
      store.put({ holderIdentity: "", leaseDurationSeconds: 1, ...times, leaseTransitions: 0 });
      let open: () => void = () => undefined;
      const isTaken = (): boolean => store.record?.holderIdentity === "a";
      store.beforeAnswer = () => (isTaken() ? new Promise(resolve => (open = resolve)) : Promise.resolve());
      elector.start();
      await clock.run(1_000);
      expect([isTaken(), elector.isLeader()]).toEqual([true, false]);
      store.beforeAnswer = undefined;
      const stopped = elector.stop();
      if (answer === "is answered after the stop") open();
      await clock.run(20_000);
      await stopped;
      expect([elector.isLeader(), store.record?.holderIdentity]).toEqual([false, ""]);
    },
  );

  it("stops in bounded time if the API server hangs, and does not lead again", async () => {
    const { clock, store, elector, heard } = await leadingAlone();
    store.fault = hang;
    await clock.run(10_500);
    let ended = false;
    void elector.stop().then(() => (ended = true));
    await clock.run(11_000);
    expect(ended).toBe(true);
    store.fault = undefined;
    await clock.run(60_000);
    expect([elector.isLeader(), heard, clock.pendingTimers]).toEqual([false, ["started", "stopped"], 0]);
  });
});
