import { type Cancel, type Clock, TokenBucket } from "../../core/time";
import {
  HEALTHY_INTERVAL_MS,
  INTERVALS_MS,
  type LogRounds,
  type Refusal,
  type RefusalWatch,
  type Rest,
  RESTS_MS,
  type RoundsLog,
  type Urgency,
} from "../../core/readers";
import type { Measures } from "../../core/metrics";

/** Reads per second over all objects, unless set otherwise. 1,500 healthy logs are then read every 30 s. */
export const DEFAULT_READS_PER_SECOND = 50;

/** Reads that start at once after a pause, as a share of one second's budget. */
const BURST_SHARE = 0.2;

/**
 * Reads in flight of one lane: however many of them hang, they delay no log of another lane. Above the number of slots that ApiLogReader
 * shares fairly among namespaces and nodes.
 */
const MOST_IN_FLIGHT = 32;

/** The same of logs whose last read failed, below the number of those slots: many of them may hang, as those of a dead node. */
const MOST_FAILING = 2;

/** A program logs a refusal within this time, in milliseconds: until then, healthy logs are read as if it went on. */
const LOGGED_WITHIN_MS = 60_000;

/** Time between two looks at what the API servers count, in milliseconds. */
const LOOK_MS = 10_000;

/** A log that took more requests than this for one read grows too fast to rest: a part of it might be skipped. */
const MOST_RESTING_REQUESTS = 1;

/** Least time between two reads of logs that are asleep, in milliseconds: however many they are, that costs next to nothing. */
const SLEEPERS_APART_MS = 2_500;

/** Whose turn it is. Every kind of log has turns, so that none waits for ever, whatever is in the others. */
const TURNS: readonly Urgency[] = [
  ...(["suspect", "first", "suspect", "healthy", "suspect", "first", "suspect", "failing"] as const),
  ...(["suspect", "first", "suspect", "healthy", "suspect", "first", "suspect", "unreadable"] as const),
];

/** Share of the reads that healthy logs have in any case. */
const HEALTHY_SHARE = TURNS.filter(turn => turn === "healthy").length / TURNS.length;

/** Who is next where nothing is due of the kind whose turn it is. */
const URGENT_FIRST: readonly Urgency[] = ["suspect", "first", "healthy", "failing", "unreadable"];

const LANES_MS = { ...INTERVALS_MS, ...RESTS_MS };

/** The log of one container. */
interface Entry {
  /** By what the owners know of it: the keys of their objects. */
  readonly logs: Map<RoundsLog, string>;
  lane: Lane;
  /** Start of the last read, on the monotonic clock; -Infinity: it is to be read at once. */
  startedMs: number;
  /** Requests of the last read. */
  requests: number;
  wasSuspect: boolean;
}

/** Logs that are read equally often, first in, first out. */
class Lane {
  readonly #intervalMs: number;
  readonly #most: number;
  /** Those that are not being read now. */
  readonly waiting = new Set<Entry>();
  inFlight = 0;
  /** Start of the last read of one of them. */
  #startedMs = -Infinity;

  constructor(readonly is: Urgency | Rest["as"]) {
    this.#intervalMs = LANES_MS[is];
    this.#most = is === "failing" || is === "unreadable" ? MOST_FAILING : MOST_IN_FLIGHT;
  }

  /** Who is next; undefined: as many are being read as may be. */
  get head(): Entry | undefined {
    return this.inFlight < this.#most ? this.waiting.values().next().value : undefined;
  }

  /** Moves a log to the end of this lane. */
  enter(entry: Entry): void {
    entry.lane.waiting.delete(entry);
    entry.lane = this;
    this.waiting.add(entry);
    entry.wasSuspect ||= this.is === "suspect";
  }

  start(entry: Entry, nowMs: number): void {
    this.waiting.delete(entry);
    this.inFlight++;
    this.#startedMs = entry.startedMs = nowMs;
  }

  /** Healthy logs that are due together are read over half of their interval, so that neither the API server nor the operator sees bursts. */
  dueMs(entry: Entry): number {
    const dueMs = entry.startedMs + this.#intervalMs;
    if (this.is !== "healthy" && !(this.is in RESTS_MS)) return dueMs;
    const spreadMs = this.#intervalMs / 2 / (this.waiting.size + 1);
    const apartMs = this.is === "asleep" ? Math.max(SLEEPERS_APART_MS, spreadMs) : spreadMs;
    return Math.max(dueMs, this.#startedMs + apartMs);
  }
}

export interface RoundsPorts {
  readonly clock: Clock;
  /** Requests a pass of an object. */
  readonly requestPass: (key: string) => void;
  /** A standby reads nothing, also if a pass ends late. */
  readonly isLeader: () => boolean;
  readonly metrics: Pick<Measures, "show">;
  readonly refusals: RefusalWatch;
}

/**
 * Reads each log when its time has come, the urgent ones first, and never more than a number of requests per second: with more logs the
 * interval grows. A read that needed several requests is charged afterwards. Each lane is first in, first out, so every log has its turn.
 * While no API server refuses anyone, healthy logs rest.
 */
export class Rounds implements LogRounds {
  readonly #ports: RoundsPorts;
  readonly #readsPerSecond: number;
  readonly #budget: TokenBucket;
  readonly #lanes = {
    first: new Lane("first"),
    suspect: new Lane("suspect"),
    healthy: new Lane("healthy"),
    dozing: new Lane("dozing"),
    asleep: new Lane("asleep"),
    failing: new Lane("failing"),
    unreadable: new Lane("unreadable"),
  };
  readonly #byOwner = new Map<object, Set<RoundsLog>>();
  readonly #byContainer = new Map<string, Entry>();
  #turn = 0;
  #isFollowing = false;
  #timer: { readonly atMs: number; readonly cancel: Cancel } | undefined;

  constructor(ports: RoundsPorts, readsPerSecond = DEFAULT_READS_PER_SECOND) {
    this.#ports = ports;
    this.#readsPerSecond = readsPerSecond;
    const burst = Math.max(1, Math.round(readsPerSecond * BURST_SHARE));
    this.#budget = new TokenBucket(ports.clock, { burst, ratePerSecond: readsPerSecond });
  }

  keep(owner: object, key: string, logs: readonly RoundsLog[]): Promise<void> {
    if (!this.#ports.isLeader()) {
      this.drop(owner);
      return Promise.resolve();
    }
    const wanted = new Set(logs);
    for (const log of this.#byOwner.get(owner) ?? []) if (!wanted.has(log)) this.#remove(log);
    this.#byOwner.set(owner, wanted);
    for (const log of wanted) this.#add(log, key);
    this.#ports.metrics.show("log_read_interval_seconds", this.intervalMs() / 1000);
    // First all remedies of a pass name their logs, so that one read answers them.
    this.#wakeAt(this.#ports.clock.monotonicMs());
    if (!this.#isFollowing && this.size > 0) void this.#follow();
    return Promise.resolve();
  }

  drop(owner: object): void {
    for (const log of this.#byOwner.get(owner) ?? []) this.#remove(log);
    this.#byOwner.delete(owner);
  }

  /** Logs that are read. */
  get size(): number {
    return this.#byContainer.size;
  }

  /** The time between two reads of a healthy log that the budget allows now, in milliseconds. */
  intervalMs(): number {
    const { suspect, failing, healthy } = this.#lanes;
    const urgent = ((suspect.waiting.size + failing.waiting.size) * 1000) / INTERVALS_MS.suspect;
    const left = Math.max(this.#readsPerSecond * HEALTHY_SHARE, this.#readsPerSecond - urgent);
    return Math.max(HEALTHY_INTERVAL_MS, (healthy.waiting.size / left) * 1000);
  }

  #add(log: RoundsLog, key: string): void {
    const known = this.#byContainer.get(log.container);
    if (known === undefined) {
      const lane = this.#lanes[log.urgency()];
      const entry = { logs: new Map([[log, key]]), lane, startedMs: -Infinity, requests: 0, wasSuspect: false };
      this.#byContainer.set(log.container, entry);
      lane.enter(entry);
      return;
    }
    known.logs.set(log, key);
    // One that is being read is filed afterwards.
    const lane = this.#laneOf(known);
    if (known.lane.waiting.has(known) && lane !== known.lane) lane.enter(known);
  }

  #remove(log: RoundsLog): void {
    const entry = this.#byContainer.get(log.container);
    entry?.logs.delete(log);
    if (entry === undefined || entry.logs.size > 0) return;
    this.#byContainer.delete(log.container);
    entry.lane.waiting.delete(entry);
  }

  /** That of the log which is to be read soonest. */
  #laneOf(entry: Entry): Lane {
    let soonest: Lane["is"] | undefined;
    for (const log of entry.logs.keys()) {
      const is = this.#urgencyOf(log, entry);
      if (soonest === undefined || LANES_MS[is] < LANES_MS[soonest]) soonest = is;
    }
    return this.#lanes[soonest ?? "healthy"];
  }

  #urgencyOf(log: RoundsLog, { startedMs, requests }: Entry): Lane["is"] {
    const urgency = log.urgency();
    if (urgency !== "healthy" || requests > MOST_RESTING_REQUESTS) return urgency;
    const rest = log.rest();
    return rest !== undefined && this.#refusedUntilMs(rest.wokenBy) <= startedMs ? rest.as : urgency;
  }

  /** Reads what the API servers count as long as logs are watched, and wakes the logs that rested. */
  async #follow(lookedMs = -Infinity): Promise<void> {
    this.#isFollowing = this.size > 0 && this.#ports.isLeader();
    const { refusals, clock, metrics } = this.#ports;
    if (this.#isFollowing) await refusals.read();
    const nowMs = clock.monotonicMs();
    const untilMs = this.#refusedUntilMs(["401"]);
    const state = untilMs <= nowMs ? "quiet" : untilMs === Infinity ? "unknown" : "refused";
    metrics.show("log_rounds", [{ labels: { state }, value: 1 }]);
    // Without a refusal since the last look nothing that rests is woken.
    if (this.#refusedUntilMs(["401", "403", "429"]) > lookedMs) this.#wake();
    this.#wakeAt(nowMs);
    if (this.#isFollowing) clock.after(LOOK_MS, () => void this.#follow(nowMs));
  }

  /** Until when a program may log a refusal. */
  #refusedUntilMs(refusals: readonly Refusal[]): number {
    return this.#isFollowing ? this.#ports.refusals.refusedUntilMs(refusals) + LOGGED_WITHIN_MS : Infinity;
  }

  /** Moves the logs that may not rest any more among the healthy ones: first those that were ever suspect, then those that were read longest ago. */
  #wake(): void {
    const { dozing, asleep, healthy } = this.#lanes;
    const woken = [...dozing.waiting, ...asleep.waiting].filter(entry => !(this.#laneOf(entry).is in RESTS_MS));
    for (const entry of woken) if (entry.wasSuspect) entry.startedMs = -Infinity;
    const sorted = woken.length === 0 ? [] : [...woken, ...healthy.waiting];
    for (const entry of sorted.toSorted((a, b) => a.startedMs - b.startedMs)) healthy.enter(entry);
  }

  /** Starts every read that is due and in the budget, then waits for the next. */
  #pump(): void {
    for (;;) {
      const nowMs = this.#ports.clock.monotonicMs();
      const next = this.#next(nowMs);
      const dueMs = next?.lane.dueMs(next) ?? Infinity;
      if (next === undefined || dueMs > nowMs || !this.#budget.take()) {
        this.#wakeAt(dueMs > nowMs ? dueMs : nowMs + 1000 / this.#readsPerSecond);
        return;
      }
      void this.#read(next, nowMs);
    }
  }

  /** Of the logs that are due, the one whose turn it is, else the one that is due first; undefined: of each lane as many are being read as may be. */
  #next(nowMs: number): Entry | undefined {
    const turns = [...TURNS.slice(this.#turn, this.#turn + 1), ...URGENT_FIRST];
    const heads = turns.flatMap(turn => this.#headOf(turn) ?? []);
    return heads.find(entry => entry.lane.dueMs(entry) <= nowMs) ?? dueFirst(heads);
  }

  /** Those that rest have the turns of healthy ones. */
  #headOf(urgency: Urgency): Entry | undefined {
    const { healthy, dozing, asleep } = this.#lanes;
    const lanes = urgency === "healthy" ? [healthy, dozing, asleep] : [this.#lanes[urgency]];
    return dueFirst(lanes.flatMap(({ head }) => head ?? []));
  }

  async #read(entry: Entry, nowMs: number): Promise<void> {
    const { lane, logs } = entry;
    this.#turn = (this.#turn + 1) % TURNS.length;
    lane.start(entry, nowMs);
    const read = await Promise.all(Array.from(logs.keys(), async log => ({ log, ...(await log.read()) })));
    entry.requests = Math.max(...read.map(({ requests }) => requests));
    this.#budget.charge(entry.requests - 1);
    lane.inFlight--;
    if (logs.size > 0) this.#laneOf(entry).enter(entry);
    for (const { log, hasNews } of read) {
      const key = logs.get(log);
      if (hasNews && key !== undefined) this.#ports.requestPass(key);
    }
    this.#pump();
  }

  /** One timer for all logs. One that is due stays: what comes next is decided when it fires. */
  #wakeAt(atMs: number): void {
    const nowMs = this.#ports.clock.monotonicMs();
    if (this.#timer !== undefined && (this.#timer.atMs === atMs || this.#timer.atMs <= nowMs)) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (atMs === Infinity) return;
    const cancel = this.#ports.clock.after(atMs - nowMs, () => {
      this.#timer = undefined;
      this.#pump();
    });
    this.#timer = { atMs, cancel };
  }
}

function dueFirst(entries: readonly Entry[]): Entry | undefined {
  const isDueBefore = (a: Entry, b: Entry): boolean => a.lane.dueMs(a) < b.lane.dueMs(b);
  return entries.reduce<Entry | undefined>(
    (first, entry) => (first === undefined || isDueBefore(entry, first) ? entry : first),
    undefined,
  );
}
