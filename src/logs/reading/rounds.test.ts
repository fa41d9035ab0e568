import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import type { GaugeSample } from "../../core/metrics";
import type { LogRead, Refusal, Rest, RoundsLog, Urgency } from "../../core/readers";
import { FakeClock } from "../../core/testing/fake-clock";
import { Rounds } from "./rounds";

let clock: FakeClock;
let passes: string[];
let rounds: Rounds;
let isLeader: boolean;
/** As measured, in seconds. */
let intervals: number[];
/** Until when requests may have been refused, and how often the counters were read. */
let refusedMs: Map<Refusal, number>;
let countsRead: number;
let states: string[];
/** Starts of all reads, in milliseconds. */
let reads: { readonly log: Log; readonly ms: number }[];

let containers = 0;

class Log implements RoundsLog {
  hasNews = false;
  /** Requests of each read. */
  requests = 1;
  /** While set, reads wait for it. */
  until: Promise<void> | undefined;
  isReading = false;
  resting: Rest | undefined = { as: "dozing", wokenBy: ["401"] };
  #isRead = false;

  constructor(
    private present: Urgency = "healthy",
    readonly container = `container ${containers++}`,
  ) {}
  become(urgency: Urgency): void {
    this.present = urgency;
  }
  urgency(): Urgency {
    return this.#isRead ? this.present : "first";
  }
  rest(): Rest | undefined {
    return this.resting;
  }
  async read(): Promise<LogRead> {
    reads.push({ log: this, ms: clock.monotonicMs() });
    this.isReading = true;
    await this.until;
    this.isReading = false;
    this.#isRead = true;
    return { hasNews: this.hasNews, requests: this.requests };
  }
}

function some(count: number, urgency?: Urgency): Log[] {
  return Array.from({ length: count }, () => new Log(urgency));
}

/** Gaps between two reads of the same log, in milliseconds. */
function gaps(log: Log): number[] {
  const own = reads.filter(read => read.log === log).map(({ ms }) => ms);
  return own.slice(1).map((ms, i) => ms - own[i]!);
}

function begin(readsPerSecond = 50): void {
  clock = new FakeClock();
  passes = [];
  reads = [];
  intervals = [];
  states = [];
  const metrics = {
    show: (_: string, value: number | readonly GaugeSample[]) => {
      if (typeof value === "number") intervals.push(value);
      else states.push(...value.map(({ labels }) => labels["state"] ?? ""));
    },
  };
  isLeader = true;
  refusedMs = new Map();
  countsRead = 0;
  const refusals = {
    read: () => Promise.resolve(void countsRead++),
    refusedUntilMs: (kinds: readonly Refusal[]) => Math.max(...kinds.map(kind => refusedMs.get(kind) ?? Infinity)),
  };
  const requestPass = (key: string): void => void passes.push(key);
  rounds = new Rounds({ clock, metrics, refusals, isLeader: () => isLeader, requestPass }, readsPerSecond);
}

beforeEach(() => begin());

describe("rounds", () => {
  it("read new logs at once, healthy ones every 30 s and suspects every 5 s", async () => {
    const [healthy, suspect] = [new Log(), new Log("suspect")];
    await rounds.keep({}, "team/a", [healthy, suspect]);
    await clock.run(0);
    expect(reads.map(({ log }) => log)).toEqual([healthy, suspect]);
    await clock.run(120_000);
    expect(gaps(suspect)).toEqual(Array.from({ length: 24 }, () => 5_000));
    expect(gaps(healthy)).toEqual([30_000, 30_000, 30_000, 30_000]);
  });

  it("charge every request of a read to the budget", async () => {
    const logs = some(1_000, "suspect");
    for (const log of logs) log.requests = 4;
    await rounds.keep({}, "team/a", logs);
    await clock.run(60_000);
    const late = reads.filter(({ ms }) => ms > 10_000).length;
    expect(late * 4).toBeGreaterThan(49 * 55);
    expect(late * 4).toBeLessThan(51 * 55);
  });

  it("spread healthy logs over the interval", async () => {
    const logs = some(300);
    await rounds.keep({}, "team/a", logs);
    await clock.run(300_000);
    const late = reads.map(({ ms }) => Math.floor(ms / 1_000)).filter(second => second > 60);
    const perSecond = [...new Set(late)].map(second => late.filter(one => one === second).length);
    expect(Math.max(...perSecond)).toBeLessThanOrEqual(21);
    expect(Math.max(...logs.flatMap(gaps))).toBeLessThan(46_000);
  });

  it("keep the budget with more logs than it is for, and read each of them in turn", async () => {
    begin(10);
    const logs = some(2_000);
    const owner = {};
    await rounds.keep(owner, "team/a", logs);
    await clock.run(500_000);
    expect(reads.length).toBeLessThanOrEqual(500 * 10 + 2);
    expect(reads.length).toBeGreaterThan(500 * 10 * 0.98);
    expect(Math.max(...logs.flatMap(gaps))).toBeLessThan(210_000);
    expect(rounds.intervalMs()).toBe(200_000);
    await rounds.keep(owner, "team/a", logs);
    expect(intervals).toEqual([30, 200]);
  });

  it("read suspects first, and healthy logs beside any number of them", async () => {
    const [suspects, healthy] = [some(1_000, "suspect"), some(100)];
    await rounds.keep({}, "team/a", [...healthy, ...suspects]);
    await clock.run(60_000);
    const late = reads.filter(({ ms }) => ms > 35_000);
    const share = late.filter(({ log }) => suspects.includes(log)).length / late.length;
    expect(share).toBeGreaterThan(0.7);
    expect(Math.max(...healthy.flatMap(gaps))).toBeLessThan(46_000);
  });

  it.each<Urgency>(["healthy", "failing", "unreadable"])(
    "read %s and new logs beside any number of suspects",
    async urgency => {
      const [suspects, others] = [some(1_000, "suspect"), some(40, urgency)];
      await rounds.keep({}, "team/a", [...others, ...suspects, ...some(600)]);
      await clock.run(60_000);
      const late = some(10);
      await rounds.keep({}, "team/b", late);
      await clock.run(60_000);
      expect(Math.min(...late.map(log => reads.filter(read => read.log === log).length))).toBe(1);
      expect(Math.min(...others.map(log => gaps(log).length))).toBeGreaterThan(0);
    },
  );

  it("read nothing for a process that does not lead", async () => {
    const owner = {};
    await rounds.keep(owner, "team/a", some(3));
    isLeader = false;
    await rounds.keep(owner, "team/a", some(3));
    const { length } = reads;
    await clock.run(60_000);
    expect([rounds.size, reads.length - length]).toEqual([0, 0]);
  });

  it("move a log as soon as its owner suspects it", async () => {
    const log = new Log();
    const owner = {};
    await rounds.keep(owner, "team/a", [log]);
    await clock.run(10_000);
    log.become("suspect");
    await rounds.keep(owner, "team/a", [log]);
    await clock.run(0);
    expect(gaps(log)).toEqual([10_000]);
  });

  it("read the log of a container once for all remedies of a pass", async () => {
    const logs = [new Log("healthy", "web"), new Log("healthy", "web")];
    for (const log of logs) await rounds.keep({}, "team/a", [log]);
    await clock.run(1_000);
    expect(reads.map(({ log, ms }) => [log, ms])).toEqual(logs.map(log => [log, reads[0]!.ms]));
  });

  it("read the logs that several remedies have of one container together, as often as one of them needs", async () => {
    const [healthy, suspect, other] = [new Log("healthy", "web"), new Log("suspect", "web"), new Log()];
    healthy.hasNews = true;
    await rounds.keep({}, "team/a", [healthy, other]);
    await clock.run(12_000);
    const owner = {};
    await rounds.keep(owner, "team/b", [suspect]);
    expect(rounds.size).toBe(2);
    await clock.run(20_000);
    expect(gaps(healthy)).toEqual([12_000, 5_000, 5_000, 5_000, 5_000]);
    expect(gaps(suspect)).toEqual([5_000, 5_000, 5_000, 5_000]);
    expect(new Set(passes)).toEqual(new Set(["team/a"]));
    rounds.drop(owner);
    const { length } = reads;
    await clock.run(60_000);
    expect(reads.slice(length).filter(({ log }) => log === healthy)).toHaveLength(2);
    expect(reads.slice(length).map(({ log }) => log)).not.toContain(suspect);
  });

  it("begin while more and more objects name their logs", async () => {
    // As in Node.js.
    const after = clock.after.bind(clock);
    clock.after = (delayMs, callback) => after(Math.max(1, delayMs), callback);
    for (let i = 0; i < 100; i++) {
      await rounds.keep({}, `team/${i}`, some(1));
      await clock.run(0.3);
    }
    expect(reads.length).toBeGreaterThanOrEqual(10);
  });

  it("request a pass only for news", async () => {
    const [quiet, loud] = [new Log(), new Log()];
    loud.hasNews = true;
    await rounds.keep({}, "team/quiet", [quiet]);
    await rounds.keep({}, "team/loud", [loud]);
    await clock.run(29_000);
    expect(passes).toEqual(["team/loud"]);
  });

  it("end with their owner, and leave no timer", async () => {
    const owner = {};
    await rounds.keep(owner, "team/a", some(3));
    await rounds.keep({}, "team/b", some(2));
    rounds.drop(owner);
    expect(rounds.size).toBe(2);
    await rounds.keep(owner, "team/a", some(1));
    await rounds.keep(owner, "team/a", []);
    await clock.run(0);
    const { length } = reads;
    await clock.run(40_000);
    expect(reads.length - length).toBe(2);
    begin();
    await rounds.keep(owner, "team/a", some(3));
    await clock.run(1_000);
    rounds.drop(owner);
    await clock.run(60_000);
    expect(clock.pendingTimers).toBe(0);
  });

  it("drop a log while it is read, and it does not come back", async () => {
    let answer = (): void => undefined;
    const log = new Log();
    log.hasNews = true;
    log.until = new Promise(resolve => (answer = resolve));
    const owner = {};
    await rounds.keep(owner, "team/a", [log]);
    await clock.run(0);
    rounds.drop(owner);
    answer();
    await clock.run(60_000);
    expect([reads.length, passes, clock.pendingTimers]).toEqual([1, [], 0]);
  });
});

describe("while no API server refuses anyone, rounds", () => {
  const quiet = (): void => {
    for (const kind of ["401", "403", "429"] as const) refusedMs.set(kind, -Infinity);
  };
  const keep = (...logs: readonly Log[]): Promise<void> => rounds.keep({}, "team/a", logs);
  const since = (ms: number, log: Log): number[] =>
    reads.flatMap(one => (one.log === log && one.ms > ms ? [one.ms] : []));

  it("read a healthy log every five minutes, and suspects as ever", async () => {
    quiet();
    const [healthy, suspect] = [new Log(), new Log("suspect")];
    await keep(healthy, suspect);
    await clock.run(660_000);
    expect(gaps(healthy)).toEqual([300_000, 300_000]);
    expect(gaps(suspect)).toHaveLength(132);
    expect(states.at(-1)).toBe("quiet");
  });

  it("let a log sleep where only a 401 counts, for 40 minutes, and however many sleep, read one in 2.5 s", async () => {
    quiet();
    const [asleep, dozing] = [some(2_000), new Log()];
    for (const log of asleep) log.resting = { as: "asleep", wokenBy: ["401"] };
    await keep(dozing, ...asleep);
    await clock.run(2_300_000);
    expect(asleep.flatMap(gaps)).toEqual([]);
    await clock.run(200_000);
    reads = [];
    await clock.run(1_000_000);
    expect(reads.filter(({ log }) => asleep.includes(log))).toHaveLength(400);
    expect(gaps(dozing)).toHaveLength(2);
  });

  it("wake those that sleep at once, and let them sleep again", async () => {
    quiet();
    const log = new Log();
    log.resting = { as: "asleep", wokenBy: ["401"] };
    await keep(log);
    await clock.run(2_000_000);
    const nowMs = clock.monotonicMs();
    refusedMs.set("401", nowMs);
    await clock.run(2_000_000);
    expect(since(nowMs, log).map(ms => Math.round((ms - nowMs) / 10_000))).toEqual([1, 4, 7]);
  });

  it("read a log every 30 s from a refusal of its kind on, until a minute after the last", async () => {
    quiet();
    const [token, stall] = [new Log(), new Log()];
    stall.resting = { as: "dozing", wokenBy: ["401", "403", "429"] };
    await keep(token, stall);
    await clock.run(100_000);
    const nowMs = clock.monotonicMs();
    refusedMs.set("403", nowMs);
    await clock.run(180_000);
    const woken = since(nowMs, stall);
    expect(woken[0]! - nowMs).toBeLessThanOrEqual(15_000);
    expect(woken.length).toBeGreaterThanOrEqual(2);
    expect(woken.at(-1)! - nowMs).toBeGreaterThanOrEqual(60_000);
    expect(woken.at(-1)! - nowMs).toBeLessThanOrEqual(105_000);
    expect(since(nowMs, token)).toEqual([]);
    expect(states.at(-1)).toBe("quiet");
    refusedMs.set("401", clock.monotonicMs());
    await clock.run(20_000);
    expect(since(nowMs, token)).toHaveLength(1);
    expect(states.at(-1)).toBe("refused");
  });

  it("read as ever from the moment on that the counters are unknown", async () => {
    quiet();
    const logs = some(50);
    await rounds.keep({}, "team/a", logs);
    await clock.run(100_000);
    refusedMs.clear();
    const nowMs = clock.monotonicMs();
    await clock.run(120_000);
    for (const log of logs) {
      const own = since(nowMs, log);
      expect(own[0]! - nowMs).toBeLessThanOrEqual(26_000);
      expect(Math.max(...own.slice(1).map((ms, i) => ms - own[i]!))).toBeLessThanOrEqual(46_000);
    }
    expect(states.at(-1)).toBe("unknown");
  });

  it("read a log that was ever suspect within 15 s of a refusal, however many wake with it", async () => {
    quiet();
    const [mended, known, others] = [new Log("suspect"), new Log("suspect"), some(10_000)];
    await known.read();
    await keep(...others, mended, known);
    known.become("healthy");
    await clock.run(250_000);
    mended.become("healthy");
    await clock.run(500_000);
    const nowMs = clock.monotonicMs();
    refusedMs.set("401", nowMs);
    await clock.run(15_000);
    expect([mended, known].map(log => since(nowMs, log).length)).toEqual([1, 1]);
  });

  it("read a log that has rested before healthy ones that were awake meanwhile", async () => {
    quiet();
    refusedMs.delete("403");
    const [log, awake] = [new Log(), some(600)];
    for (const one of awake) one.resting = { as: "dozing", wokenBy: ["403"] };
    await keep(log, ...awake);
    await clock.run(100_000);
    const nowMs = clock.monotonicMs();
    refusedMs.set("401", nowMs);
    await clock.run(12_000);
    expect(since(nowMs, log)).toHaveLength(1);
  });

  it("let no log rest that must not, or that grows fast", async () => {
    quiet();
    const [restless, growing] = [new Log(), new Log()];
    restless.resting = undefined;
    growing.requests = 2;
    await keep(restless, growing);
    await clock.run(120_000);
    expect(gaps(restless)).toHaveLength(4);
    expect(gaps(growing)).toHaveLength(3);
  });

  it("read a log that has rested beside any number of suspects, and of healthy logs that are awake", async () => {
    quiet();
    refusedMs.delete("403");
    const [log, awake] = [new Log(), some(2_000)];
    for (const one of awake) one.resting = { as: "dozing", wokenBy: ["403"] };
    await rounds.keep({}, "team/a", [log, ...awake, ...some(1_000, "suspect")]);
    await clock.run(1_000_000);
    expect(gaps(log).length).toBeGreaterThanOrEqual(1);
    expect(Math.max(...gaps(log))).toBeLessThan(700_000);
  });

  it("read the counters only for a leader that watches a log", async () => {
    quiet();
    await rounds.keep({}, "team/none", []);
    await clock.run(60_000);
    expect(countsRead).toBe(0);
    await rounds.keep({}, "team/b", some(1));
    await rounds.keep({}, "team/c", some(1));
    await clock.run(60_000);
    expect([countsRead, states.at(-1)]).toEqual([7, "quiet"]);
    isLeader = false;
    await clock.run(60_000);
    expect(countsRead).toBe(7);
  });

  it("read the counters no more when no log is left", async () => {
    quiet();
    const owner = {};
    await rounds.keep(owner, "team/a", some(2));
    await clock.run(100_000);
    rounds.drop(owner);
    await clock.run(30_000);
    expect([clock.pendingTimers, states.at(-1)]).toEqual([0, "unknown"]);
  });
});

it("neither exceed the budget nor starve a log, whatever their urgencies", async () => {
  const urgency = fc.constantFrom<Urgency>("healthy", "suspect", "failing", "unreadable");
  const run = async (urgencies: readonly Urgency[], readsPerSecond: number): Promise<void> => {
    begin(readsPerSecond);
    const logs = urgencies.map(one => new Log(one));
    await rounds.keep({}, "team/a", logs);
    await clock.run(300_000);
    expect(reads.length).toBeLessThanOrEqual(300 * readsPerSecond + readsPerSecond);
    for (const log of logs) expect(gaps(log).length).toBeGreaterThan(0);
  };
  await fc.assert(fc.asyncProperty(fc.array(urgency, { maxLength: 40 }), fc.integer({ min: 2, max: 20 }), run), {
    numRuns: 30,
  });
});

it("read a log that is due, whatever hangs in the other lanes", async () => {
  const KNOWN: readonly Urgency[] = ["suspect", "healthy", "failing", "unreadable"];
  const never = new Promise<void>(() => undefined);
  const run = async (lane: Urgency, own: number, counts: Readonly<Record<Urgency, number>>): Promise<void> => {
    begin(1_000);
    const others = (one: Urgency): Log[] => (one === lane ? [] : some(counts[one], one));
    const [fresh, known] = [others("first"), KNOWN.flatMap(others)];
    const due = lane === "first" ? some(own) : some(own, lane);
    await rounds.keep({}, "team/known", lane === "first" ? known : [...known, ...due]);
    await clock.run(10_000);
    for (const log of [...fresh, ...known]) log.until = never;
    await rounds.keep({}, "team/new", fresh);
    await clock.run(60_000);
    const fromMs = clock.monotonicMs();
    if (lane === "first") await rounds.keep({}, "team/due", due);
    await clock.run(50_000);
    for (const log of due) expect(reads.some(read => read.log === log && read.ms >= fromMs)).toBe(true);
    const hanging = [...fresh, ...known].filter(({ isReading }) => isReading);
    expect(hanging.length).toBeLessThanOrEqual(4 * 32);
    // Those that were known to fail leave slots to all others.
    expect(hanging.filter(log => log.urgency() === "failing").length).toBeLessThanOrEqual(2);
  };
  const count = fc.constantFrom(0, 3, 20, 100);
  const counts = fc.record({ first: count, suspect: count, healthy: count, failing: count, unreadable: count });
  const none = { first: 0, suspect: 0, healthy: 0, failing: 0, unreadable: 0 };
  await fc.assert(
    fc.asyncProperty(fc.constantFrom<Urgency>("first", ...KNOWN), fc.integer({ min: 1, max: 8 }), counts, run),
    { numRuns: 60, examples: [["suspect", 1, { ...none, first: 100 }]] },
  );
});
