import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TransientError, WaitError } from "../../core/errors";
import type { Key } from "../../core/ports";
import { FakeClock, seededRandom, settle } from "../../core/testing/fake-clock";
import { Controller, type LoopSettings } from "./controller";
import type { PassResult } from "./requeue";
import { RecordingLog, RecordingMetrics } from "../testing/fakes";

type Pass = (key: Key, mayWrite: () => boolean) => Promise<PassResult>;
const RECHECK: PassResult = { next: "recheck" };

function makeBench(pass: Pass = () => Promise.resolve(RECHECK), settings: Partial<LoopSettings> = {}) {
  const clock = new FakeClock();
  const log = new RecordingLog();
  const metrics = new RecordingMetrics();
  const listed: Key[] = [];
  const cache: { keys?: readonly Key[] } = {};
  const ports = { list: () => Promise.resolve([...listed]), lists: 0, live: [] as (readonly Key[])[] };
  const passes: { key: Key; atMs: number }[] = [];
  const startedMs = clock.monotonicMs();
  const leading = { yes: true };
  const forgotten: Key[] = [];
  const controller = new Controller(
    {
      list: () => (ports.lists++, ports.list()),
      cachedKeys: () => cache.keys,
      reconcile: (key, mayWrite) => {
        passes.push({ key, atMs: clock.monotonicMs() - startedMs });
        return pass(key, mayWrite);
      },
      listed: live => void ports.live.push(live),
      forget: key => void forgotten.push(key),
      isLeader: () => leading.yes,
      clock,
      random: () => 0.5,
      log,
      metrics,
    },
    settings,
  );
  const keys = () => passes.splice(0).map(({ key }) => key);
  const times = () => passes.splice(0).map(({ atMs }) => atMs);
  return { clock, log, metrics, listed, cache, ports, controller, leading, forgotten, passes, keys, times };
}

/** A bench whose controller leads and lists these objects. */
function makeLeader(keys: readonly Key[], ...options: Parameters<typeof makeBench>) {
  const bench = makeBench(...options);
  bench.listed.push(...keys);
  bench.controller.startLeading();
  return bench;
}

describe("the loop", () => {
  it("runs the pass of an event before the rest of a long full pass", async () => {
    const order: Key[] = [];
    const keys = Array.from({ length: 2_000 }, (_, i) => `a/${i}`);
    const pass: Pass = key => {
      order.push(key);
      if (key === "a/100" || key === "a/1000") bench.controller.enqueue("b/urgent");
      return Promise.resolve(RECHECK);
    };
    const bench = makeLeader(keys, pass, { workers: 1, minPassIntervalMs: 0 });
    await bench.clock.run(1_000);
    const urgent = order.flatMap((key, index) => (key === "b/urgent" ? index : []));
    expect(urgent).toHaveLength(2);
    // After the pass that caused the event, and at most one of the full pass.
    expect(urgent[0]! - order.indexOf("a/100")).toBeLessThanOrEqual(2);
    expect(urgent[1]! - order.indexOf("a/1000")).toBeLessThanOrEqual(2);
    expect(new Set(order).size).toBe(2_001);
  });

  it("ignores a list call of an earlier term", async () => {
    const bench = makeBench();
    const list = bench.ports.list;
    bench.ports.list = () => new Promise(() => undefined);
    bench.controller.startLeading();
    await bench.clock.run(1_000);
    bench.controller.stopLeading();
    bench.ports.list = list;
    bench.controller.startLeading();
    await bench.clock.run(35_000);
    expect([bench.controller.fullPassFailure(), bench.log.lines]).toEqual([null, []]);
  });

  it("reaches every object even if a full pass takes longer than its interval", async () => {
    const pass: Pass = () => new Promise(resolve => void bench.clock.after(1_000, () => resolve(RECHECK)));
    const keys = Array.from({ length: 200 }, (_, i) => `a/${i}`);
    const bench = makeLeader(keys, pass, { workers: 1 });
    await bench.clock.run(220_000);
    expect(new Set(bench.keys()).size).toBe(200);
  });

  it("does not add the namespace of a deleted object again when its requeue is due", async () => {
    let isThere = true;
    const bench = makeLeader(["gone/1"], () =>
      Promise.resolve(isThere ? { next: "recheck", afterMs: 30_000 } : { next: "forget" }),
    );
    await bench.clock.run(5_000);
    isThere = false;
    bench.listed.length = 0;
    bench.controller.enqueue("gone/1");
    await bench.clock.run(5_000);
    expect(bench.controller.knownIn("gone")).toEqual([]);
    await bench.clock.run(40_000);
    expect(bench.controller.knownIn("gone")).toEqual([]);
    expect(bench.keys()).toEqual(["gone/1", "gone/1", "gone/1"]);
  });

  it("knows no namespaces while it does not lead", async () => {
    const bench = makeBench();
    const size = (): number => ["a", "b", "c"].flatMap(name => bench.controller.knownIn(name)).length;
    bench.controller.enqueue("c/1");
    expect(size()).toBe(0);
    bench.listed.push("a/1", "b/1");
    bench.controller.startLeading();
    await bench.clock.run(0);
    expect(size()).toBe(2);
    bench.controller.stopLeading();
    bench.controller.enqueue("c/1");
    expect(size()).toBe(0);
  });

  it("forgets all objects when it loses the lead; those in a pass when the pass ends", async () => {
    const bench = makeLeader(["a/1", "a/slow", "b/1"], async key => {
      if (key === "a/slow") await new Promise<void>(resolve => void bench.clock.after(10_000, resolve));
      return RECHECK;
    });
    await bench.clock.run(1_000);
    expect(bench.forgotten).toEqual([]);
    bench.controller.stopLeading();
    expect(bench.forgotten).toEqual(["a/1", "b/1"]);
    await bench.clock.run(10_000);
    expect(bench.forgotten).toEqual(["a/1", "b/1", "a/slow"]);
  });

  it("logs an error for a list that fails or hangs, and retries soon", async () => {
    const bench = makeBench();
    bench.listed.push("a/1");
    bench.ports.list = () => Promise.reject(new TransientError("reset"));
    bench.controller.startLeading();
    await bench.clock.run(20_000);
    expect(bench.log.lines.filter(({ level }) => level === "error").length).toBeGreaterThan(3);
    bench.ports.list = () => new Promise(() => undefined);
    await bench.clock.run(31_000);
    bench.ports.list = () => Promise.resolve(["a/1"]);
    await bench.clock.run(61_000);
    expect(bench.keys().length).toBeGreaterThan(0);
  });

  it("keeps passes of one key a second apart despite many events", async () => {
    const bench = makeLeader([]);
    for (let i = 0; i < 100; i++) {
      bench.controller.enqueue("a/1");
      await bench.clock.run(50);
    }
    expect(bench.times()).toEqual([0, 1_000, 2_000, 3_000, 4_000, 5_000]);
  });

  it("requests a pass of every known object of a namespace", async () => {
    const bench = makeLeader(["a/1", "a/2", "b/1"]);
    await bench.clock.run(5_000);
    bench.keys();
    bench.controller.enqueueNamespace("a");
    bench.controller.enqueueNamespace("nowhere");
    await settle();
    expect(bench.keys()).toEqual(["a/1", "a/2"]);
  });
});

describe("a full pass", () => {
  it("lists at the start of each term and every ten minutes, and takes keys from the cache in between", async () => {
    const { clock, cache, ports, controller, keys } = makeLeader(["team/listed"]);
    cache.keys = ["team/cached"];
    await clock.run(599_000);
    expect(ports.lists).toBe(1);
    expect(keys().filter(key => key === "team/cached")).toHaveLength(9);
    await clock.run(2_000);
    expect(ports.lists).toBe(2);
    controller.stopLeading();
    controller.startLeading();
    await clock.run(1_000);
    expect(ports.lists).toBe(3);
  });

  it("lists every time while the cache cannot be trusted", async () => {
    const { clock, cache, ports } = makeLeader(["team/listed"]);
    await clock.run(301_000);
    expect(ports.lists).toBe(6);
    cache.keys = [];
    await clock.run(300_000);
    expect(ports.lists).toBe(6);
  });

  it("lists no more often than the API server allows, and with backoff after another failure", async () => {
    const { clock, ports, controller } = makeBench();
    ports.list = () => Promise.reject(new WaitError("list controllerresiliences: refused for now (429)", 60_000));
    controller.startLeading();
    await clock.run(59_000);
    expect(ports.lists).toBe(1);
    await clock.run(2_000);
    ports.list = () => Promise.reject(new TransientError("reset"));
    await clock.run(600_000);
    expect(ports.lists).toBeLessThan(50);
    expect(controller.fullPassFailure()).toBe("reset");
  });

  it("takes keys from the cache while lists fail, once a minute, and does not take them for all that there are", async () => {
    const { clock, cache, ports, controller, keys } = makeBench();
    cache.keys = ["team/cached"];
    ports.list = () => Promise.reject(new TransientError("listing all objects timed out after 30s"));
    controller.startLeading();
    await clock.run(130_000);
    expect([keys(), ports.live]).toEqual([Array.from({ length: 3 }, () => "team/cached"), []]);
    expect(controller.fullPassFailure()).toMatch(/^listing all objects timed out/);
  });

  it("lets the event loop go on although it makes no request", async () => {
    let passMs = 0;
    const { clock, cache, keys } = makeLeader([], () => {
      clock.freeze(passMs);
      return Promise.resolve(RECHECK);
    });
    cache.keys = Array.from({ length: 1_000 }, (_, i) => `team/it-${i}`);
    await clock.run(30_000);
    passMs = 1;
    keys();
    const blockedMs: number[] = [];
    let atMs = clock.monotonicMs();
    const tick = (): void => {
      blockedMs.push(clock.monotonicMs() - atMs);
      atMs = clock.monotonicMs();
      clock.after(5, tick);
    };
    tick();
    await clock.run(60_000);
    expect(keys().length).toBeGreaterThanOrEqual(1_000);
    expect(Math.max(...blockedMs)).toBeLessThan(30);
  });
});

describe("the result of a pass", () => {
  async function timesAfter(results: (PassResult | Error)[], ms = 50_000) {
    const bench = makeLeader(["a/1"], () => {
      const result = results.shift() ?? RECHECK;
      return result instanceof Error ? Promise.reject(result) : Promise.resolve(result);
    });
    await bench.clock.run(ms);
    return { times: bench.times(), seen: bench.metrics.seen, retries: bench.metrics.retries, log: bench.log };
  }

  it("doubles the delay with each failure, and resets it after a success", async () => {
    const retry: PassResult = { next: "retry", conflict: false };
    const { times, seen } = await timesAfter([retry, retry, retry, { next: "recheck", afterMs: 5_000 }, retry]);
    // Half of the bounds 800, 1,600 and 3,200 ms, by this bench's luck.
    expect(times).toEqual([0, 400, 1_200, 2_800, 7_800, 8_200]);
    expect(seen.slice(0, 4)).toEqual([...Array<string>(3).fill("reconciled:error"), "reconciled:success"]);
  });

  it.each<[string, PassResult, number]>([
    ["requeues with backoff after a conflict, which is no error", { next: "retry", conflict: true }, 400],
    ["waits as long as the API server asked", { next: "wait", afterMs: 9_000 }, 9_000],
  ])("%s", async (_what, result, ms) => {
    const { times, seen } = await timesAfter([result]);
    expect([times, seen[0]]).toEqual([[0, ms], "reconciled:requeue"]);
  });

  it("waits for the full pass after a permanent failure", async () => {
    const { times, seen } = await timesAfter([{ next: "give-up" }], 70_000);
    expect([times, seen[0]]).toEqual([[0, 60_000], "reconciled:error"]);
  });

  it("logs, counts and retries an unexpected exception", async () => {
    const { times, seen, retries, log } = await timesAfter([new RangeError("a bug with secrets")]);
    expect([times, seen[0], retries]).toEqual([[0, 400], "reconciled:panic", 1]);
    expect(log.lines[0]).toMatchObject({ level: "error", fields: { key: "a/1", error: "an unexpected RangeError" } });
  });
});

describe("losing the lead", () => {
  it("takes no more keys, and passes in flight may not write, not even after the lead is regained", async () => {
    const mayWrites: (() => boolean)[] = [];
    const recheck: PassResult = { next: "recheck", afterMs: 1_000 };
    const pass: Pass = (_key, mayWrite) => {
      mayWrites.push(mayWrite);
      return new Promise(resolve => void bench.clock.after(10_000, () => resolve(recheck)));
    };
    const bench = makeLeader(["a/1", "a/2"], pass, { workers: 1 });
    await bench.clock.run(0);
    expect([bench.keys(), mayWrites[0]?.()]).toEqual([["a/1"], true]);
    bench.leading.yes = false;
    expect(mayWrites[0]?.()).toBe(false);
    bench.controller.stopLeading();
    bench.leading.yes = true;
    expect(mayWrites[0]?.()).toBe(false);
    await bench.clock.run(120_000);
    expect(bench.keys()).toEqual([]);
    bench.controller.startLeading();
    expect(mayWrites[0]?.()).toBe(false);
    await bench.clock.run(0);
    expect([bench.keys(), mayWrites[1]?.()]).toEqual([["a/1"], true]);
  });
});

describe("stopping", () => {
  it("takes no more keys, lets the pass in flight write and end, and cannot be restarted", async () => {
    let mayWrite: () => boolean = () => false;
    const pass: Pass = (_key, may) => {
      mayWrite = may;
      return new Promise(resolve => void bench.clock.after(3_000, () => resolve(RECHECK)));
    };
    const bench = makeLeader(["a/1", "a/2"], pass, { workers: 1 });
    await bench.clock.run(0);
    let stopped = false;
    void bench.controller.stop().then(() => (stopped = true));
    await bench.clock.run(2_000);
    expect([stopped, mayWrite()]).toEqual([false, true]);
    await bench.clock.run(1_500);
    expect([stopped, mayWrite()]).toEqual([true, false]);
    bench.controller.startLeading();
    bench.controller.enqueue("a/3");
    await bench.clock.run(300_000);
    expect([bench.keys(), bench.clock.pendingTimers]).toEqual([["a/1"], 0]);
  });

  it("gives up on a pass that hangs, which may not write afterwards", async () => {
    let mayWrite: () => boolean = () => false;
    const bench = makeLeader([], (_key, may) => {
      mayWrite = may;
      return new Promise(() => undefined);
    });
    bench.controller.enqueue("a/1");
    const stopped = bench.controller.stop();
    await bench.clock.run(10_000);
    await stopped;
    expect([mayWrite(), bench.log.lines[0]?.level]).toEqual([false, "warn"]);
  });
});

describe("liveness", () => {
  it("stays below the full-pass interval while the loop makes progress, even when idle", async () => {
    const bench = makeLeader([]);
    for (let i = 0; i < 20; i++) {
      await bench.clock.run(20_000);
      expect(bench.controller.sinceProgressMs()).toBeLessThanOrEqual(60_000);
    }
  });

  it("grows while all workers hang, and is 0 without the lead", async () => {
    const bench = makeLeader(["a/1", "a/2"], () => new Promise(() => undefined), { workers: 2 });
    await bench.clock.run(600_000);
    expect(bench.controller.sinceProgressMs()).toBe(600_000);
    bench.controller.stopLeading();
    expect(bench.controller.sinceProgressMs()).toBe(0);
  });
});

it("any schedule of events, results and losses of the lead never has two passes of one key, never runs a pass without the lead, and reaches every key", async () => {
  const step = fc.record({
    key: fc.option(fc.constantFrom("a/1", "a/2", "b/1")),
    lead: fc.option(fc.boolean()),
    waitMs: fc.nat(15_000),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.integer(), async (steps, seed) => {
      const random = seededRandom(seed);
      const working = new Set<Key>();
      const faults: Key[] = [];
      let leads = false;
      const bench = makeBench(async key => {
        // The loop catches what a pass throws.
        if (!leads || working.has(key)) faults.push(key);
        working.add(key);
        await new Promise<void>(resolve => void bench.clock.after(random() * 8_000, resolve));
        working.delete(key);
        const results: PassResult[] = [RECHECK, { next: "retry", conflict: false }, { next: "wait", afterMs: 2_000 }];
        if (random() < 0.2) throw new Error("a bug");
        return results[Math.floor(random() * results.length)]!;
      });
      const lead = (yes: boolean) => {
        leads = yes;
        if (yes) bench.controller.startLeading();
        else bench.controller.stopLeading();
      };
      bench.listed.push("a/1", "a/2", "b/1");
      for (const { key, lead: change, waitMs } of steps) {
        if (change !== null) lead(change);
        if (key !== null) bench.controller.enqueue(key);
        await bench.clock.run(waitMs);
      }
      lead(true);
      bench.keys();
      await bench.clock.run(90_000);
      expect([faults, new Set(bench.keys())]).toEqual([[], new Set(["a/1", "a/2", "b/1"])]);
    }),
    { numRuns: 60 },
  );
});
