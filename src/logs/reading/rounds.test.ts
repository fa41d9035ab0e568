import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import type { LogRead, RoundsLog, Urgency } from "../../core/readers";
import { FakeClock } from "../../core/testing/fake-clock";
import { Rounds } from "./rounds";

let clock: FakeClock;
let passes: string[];
let rounds: Rounds;
let isLeader: boolean;
/** As measured, in seconds. */
let intervals: number[];
/** Starts of all reads, in milliseconds. */
let reads: { readonly log: Log; readonly ms: number }[];

class Log implements RoundsLog {
  hasNews = false;
  /** Requests of each read. */
  requests = 1;
  /** While set, reads wait for it. */
  until: Promise<void> | undefined;
  isReading = false;
  #isRead = false;

  constructor(private present: Urgency = "healthy") {}
  become(urgency: Urgency): void {
    this.present = urgency;
  }
  urgency(): Urgency {
    return this.#isRead ? this.present : "first";
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
  const metrics = { logReadInterval: (seconds: number) => void intervals.push(seconds) };
  isLeader = true;
  rounds = new Rounds(
    { clock, metrics, isLeader: () => isLeader, requestPass: key => void passes.push(key) },
    readsPerSecond,
  );
}

beforeEach(() => begin());

describe("rounds", () => {
  it("read new logs at once, healthy ones every 30 s and suspects every 5 s", async () => {
    const [healthy, suspect] = [new Log(), new Log("suspect")];
    await rounds.keep({}, "team/a", [healthy, suspect]);
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

  it("keep the budget with 10,000 logs, and read each of them in turn", async () => {
    const logs = some(10_000);
    const owner = {};
    await rounds.keep(owner, "team/a", logs);
    await clock.run(500_000);
    expect(reads.length).toBeLessThanOrEqual(500 * 50 + 10);
    expect(reads.length).toBeGreaterThan(500 * 50 * 0.98);
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
    expect(gaps(log)).toEqual([10_000]);
  });

  it("request a pass only for news", async () => {
    const [quiet, loud] = [new Log(), new Log()];
    loud.hasNews = true;
    await rounds.keep({}, "team/quiet", [quiet]);
    await rounds.keep({}, "team/loud", [loud]);
    await clock.run(29_000);
    expect(passes).toEqual(["team/loud"]);
  });

  it("go on beside a thousand logs that hang", async () => {
    const [hanging, healthy] = [some(1_000, "failing"), some(100)];
    await rounds.keep({}, "team/a", [...hanging, ...healthy]);
    await clock.run(30_000);
    const never = new Promise<void>(() => undefined);
    for (const log of hanging) log.until = never;
    const fromMs = clock.monotonicMs();
    await clock.run(120_000);
    const of = (logs: readonly Log[]) => reads.filter(({ log, ms }) => ms > fromMs && logs.includes(log)).length;
    expect(of(hanging)).toBe(16);
    expect(of(healthy)).toBeGreaterThanOrEqual(350);
  });

  it("end with their owner, and leave no timer", async () => {
    const owner = {};
    await rounds.keep(owner, "team/a", some(3));
    await rounds.keep({}, "team/b", some(2));
    rounds.drop(owner);
    expect(rounds.size).toBe(2);
    await rounds.keep(owner, "team/a", some(1));
    await rounds.keep(owner, "team/a", []);
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
    rounds.drop(owner);
    answer();
    await clock.run(60_000);
    expect([reads.length, passes]).toEqual([1, []]);
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
  const groupOf = (lane: Urgency): Urgency => (lane === "unreadable" ? "failing" : lane);
  const run = async (lane: Urgency, own: number, counts: Readonly<Record<Urgency, number>>): Promise<void> => {
    begin(1_000);
    const others = (one: Urgency): Log[] => (groupOf(one) === groupOf(lane) ? [] : some(counts[one], one));
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
    expect([...fresh, ...known].filter(({ isReading }) => isReading).length).toBeLessThanOrEqual(64);
  };
  const count = fc.constantFrom(0, 3, 20, 100);
  const counts = fc.record({ first: count, suspect: count, healthy: count, failing: count, unreadable: count });
  const none = { first: 0, suspect: 0, healthy: 0, failing: 0, unreadable: 0 };
  await fc.assert(
    fc.asyncProperty(fc.constantFrom<Urgency>("first", ...KNOWN), fc.integer({ min: 1, max: 8 }), counts, run),
    { numRuns: 60, examples: [["suspect", 1, { ...none, first: 100 }]] },
  );
});
