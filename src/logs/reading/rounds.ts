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

/** A log that took more requests than this for one read grows too fast to rest: a part of it might be skipped. */
const MOST_RESTING_REQUESTS = 1;

/** Least time between two reads of logs that are asleep, in milliseconds: however many they are, that costs next to nothing. */
const SLEEPERS_APART_MS = 2_500;

type Lane = Urgency | Rest["as"];

/** Healthy logs, and those that rest, have the same turns. */
const HEALTHY: readonly Lane[] = ["healthy", "dozing", "asleep"];

/** Whose turn it is. Every lane has turns, so that none waits for ever, whatever is in the others. */
const TURNS: readonly Urgency[] = [
  ...(["suspect", "first", "suspect", "healthy", "suspect", "first", "suspect", "failing"] as const),
  ...(["suspect", "first", "suspect", "healthy", "suspect", "first", "suspect", "unreadable"] as const),
];

/** Share of the reads that healthy logs have in any case. */
const HEALTHY_SHARE = TURNS.filter(lane => lane === "healthy").length / TURNS.length;

/** Who is next where nothing is due in the lane whose turn it is. */
const URGENT_FIRST: readonly Urgency[] = ["suspect", "first", "healthy", "failing", "unreadable"];

const LANES_MS: Readonly<Record<Lane, number>> = { ...INTERVALS_MS, ...RESTS_MS };

/** The log of one container. */
interface Entry {
  /** By what the owners know of it: the keys of their objects. */
  readonly logs: Map<RoundsLog, string>;
  lane: Lane;
  /** Start of the last read, on the monotonic clock; -Infinity before the first. */
  startedMs: number;
  /** Requests of the last read. */
  requests: number;
  isReading: boolean;
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
  readonly #lanes: Readonly<Record<Lane, Set<Entry>>> = {
    first: new Set(),
    suspect: new Set(),
    healthy: new Set(),
    dozing: new Set(),
    asleep: new Set(),
    failing: new Set(),
    unreadable: new Set(),
  };
  readonly #byOwner = new Map<object, Set<RoundsLog>>();
  readonly #byContainer = new Map<string, Entry>();
  readonly #inFlight = new Map<Lane, number>();
  #turn = 0;
  /** When the last log of a lane was read. */
  readonly #readAtMs = new Map<Lane, number>();
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
    for (const log of wanted) this.#file(this.#entryOf(log, key));
    this.#ports.metrics.show("log_read_interval_seconds", this.intervalMs() / 1000);
    this.#pump();
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
    const urgent = ((suspect.size + failing.size) * 1000) / INTERVALS_MS.suspect;
    const left = Math.max(this.#readsPerSecond * HEALTHY_SHARE, this.#readsPerSecond - urgent);
    return Math.max(HEALTHY_INTERVAL_MS, (healthy.size / left) * 1000);
  }

  #entryOf(log: RoundsLog, key: string): Entry {
    const known = this.#byContainer.get(log.container);
    known?.logs.set(log, key);
    if (known !== undefined) return known;
    const logs = new Map([[log, key]]);
    const entry: Entry = { logs, lane: log.urgency(), startedMs: -Infinity, requests: 0, isReading: false };
    this.#byContainer.set(log.container, entry);
    this.#lanes[entry.lane].add(entry);
    return entry;
  }

  #remove(log: RoundsLog): void {
    const entry = this.#byContainer.get(log.container);
    entry?.logs.delete(log);
    if (entry === undefined || entry.logs.size > 0) return;
    this.#byContainer.delete(log.container);
    this.#lanes[entry.lane].delete(entry);
  }

  /** Reads what the API servers count as long as logs are watched, and wakes the logs that rested. */
  async #follow(lookedMs = -Infinity): Promise<void> {
    this.#isFollowing = this.size > 0 && this.#ports.isLeader();
    const { refusals, clock, metrics } = this.#ports;
    const waitMs = this.#isFollowing ? await refusals.read() : 0;
    const nowMs = clock.monotonicMs();
    const untilMs = this.#refusedUntilMs(["401"]);
    const state = untilMs <= nowMs ? "quiet" : untilMs === Infinity ? "unknown" : "refused";
    metrics.show("log_rounds", [{ labels: { state }, value: 1 }]);
    // Without a refusal since the last look nothing that rests is woken.
    if (this.#refusedUntilMs(["401", "403", "429"]) > lookedMs) this.#wake();
    this.#pump();
    // Others read the counters, too, and may stop: no log rests long on what they last showed.
    const rests = this.#lanes.dozing.size + this.#lanes.asleep.size > 0;
    const nextMs = rests ? Math.min(waitMs, LOGGED_WITHIN_MS) : waitMs;
    if (this.#isFollowing) clock.after(nextMs, () => void this.#follow(nowMs));
  }

  /** Until when a program may log a refusal. */
  #refusedUntilMs(refusals: readonly Refusal[]): number {
    return this.#isFollowing ? this.#ports.refusals.refusedUntilMs(refusals) + LOGGED_WITHIN_MS : Infinity;
  }

  /** Moves the logs that may not rest any more among the healthy ones, those that were not read for the longest time first. */
  #wake(): void {
    const { dozing, asleep, healthy } = this.#lanes;
    const woken = [...dozing, ...asleep].filter(entry => !(this.#laneOf(entry) in RESTS_MS));
    const sorted = woken.length === 0 ? [] : [...woken, ...healthy].toSorted((a, b) => a.startedMs - b.startedMs);
    for (const entry of sorted) {
      this.#lanes[entry.lane].delete(entry);
      entry.lane = "healthy";
      healthy.add(entry);
    }
  }

  /** That of the log which is to be read soonest. */
  #laneOf({ logs, startedMs, requests }: Entry): Lane {
    const lanes = Array.from(logs.keys(), (log): Lane => {
      const urgency = log.urgency();
      const rest = log.rest();
      if (urgency !== "healthy" || rest === undefined || requests > MOST_RESTING_REQUESTS) return urgency;
      return this.#refusedUntilMs(rest.wokenBy) <= startedMs ? rest.as : urgency;
    });
    return lanes.toSorted((a, b) => LANES_MS[a] - LANES_MS[b])[0] ?? "healthy";
  }

  /** Moves an entry to its present lane. */
  #file(entry: Entry): void {
    const lane = this.#laneOf(entry);
    if (entry.isReading || lane === entry.lane) return;
    this.#lanes[entry.lane].delete(entry);
    entry.lane = lane;
    this.#lanes[lane].add(entry);
  }

  /** Starts every read that is due and in the budget, then waits for the next. */
  #pump(): void {
    for (let entry = this.#next(); entry !== undefined; entry = this.#next()) {
      const waitMs = this.#budget.take() ? 0 : 1000 / this.#readsPerSecond;
      if (waitMs > 0) {
        this.#wakeAt(this.#ports.clock.monotonicMs() + waitMs);
        return;
      }
      this.#start(entry);
    }
    this.#wakeAt(this.#nextDueMs());
  }

  /** The next entry that is due; undefined if none is, or of each lane as many are being read as may be. */
  #next(): Entry | undefined {
    const nowMs = this.#ports.clock.monotonicMs();
    for (const lane of [...TURNS.slice(this.#turn, this.#turn + 1), ...URGENT_FIRST]) {
      const entry = this.#headOf(lane);
      if (entry !== undefined && this.#dueMs(entry) <= nowMs) return entry;
    }
    return undefined;
  }

  #headOf(lane: Urgency): Entry | undefined {
    const lanes = lane === "healthy" ? HEALTHY : [lane];
    const most = lane === "failing" || lane === "unreadable" ? MOST_FAILING : MOST_IN_FLIGHT;
    const open = lanes.filter(one => this.#inFlightOf(one) < most);
    const heads = open.flatMap(one => this.#lanes[one].values().next().value ?? []);
    return heads.toSorted((a, b) => this.#dueMs(a) - this.#dueMs(b))[0];
  }

  #inFlightOf(lane: Lane): number {
    return this.#inFlight.get(lane) ?? 0;
  }

  /** Healthy logs that are due together are read over half of their interval, so that neither the API server nor the operator sees bursts. */
  #dueMs({ startedMs, lane }: Entry): number {
    const dueMs = startedMs + LANES_MS[lane];
    if (!HEALTHY.includes(lane)) return dueMs;
    const spreadMs = LANES_MS[lane] / 2 / (this.#lanes[lane].size + 1);
    const apartMs = lane === "asleep" ? Math.max(SLEEPERS_APART_MS, spreadMs) : spreadMs;
    return Math.max(dueMs, (this.#readAtMs.get(lane) ?? -Infinity) + apartMs);
  }

  #nextDueMs(): number {
    let nextMs = Infinity;
    for (const lane of URGENT_FIRST) {
      const entry = this.#headOf(lane);
      if (entry !== undefined) nextMs = Math.min(nextMs, this.#dueMs(entry));
    }
    return nextMs;
  }

  #start(entry: Entry): void {
    const nowMs = this.#ports.clock.monotonicMs();
    this.#turn = (this.#turn + 1) % TURNS.length;
    this.#readAtMs.set(entry.lane, nowMs);
    this.#lanes[entry.lane].delete(entry);
    entry.startedMs = nowMs;
    entry.isReading = true;
    void this.#read(entry, entry.lane);
  }

  async #read(entry: Entry, lane: Lane): Promise<void> {
    this.#inFlight.set(lane, this.#inFlightOf(lane) + 1);
    const read = await Promise.all(Array.from(entry.logs.keys(), async log => ({ log, ...(await log.read()) })));
    entry.requests = Math.max(...read.map(({ requests }) => requests));
    this.#budget.charge(entry.requests - 1);
    this.#inFlight.set(lane, this.#inFlightOf(lane) - 1);
    entry.isReading = false;
    if (entry.logs.size > 0) {
      entry.lane = this.#laneOf(entry);
      this.#lanes[entry.lane].add(entry);
    }
    for (const { log, hasNews } of read) {
      const key = entry.logs.get(log);
      if (hasNews && key !== undefined) this.#ports.requestPass(key);
    }
    this.#pump();
  }

  /** One timer for all logs. */
  #wakeAt(atMs: number): void {
    if (atMs === this.#timer?.atMs) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (atMs === Infinity) return;
    const cancel = this.#ports.clock.after(atMs - this.#ports.clock.monotonicMs(), () => {
      this.#timer = undefined;
      this.#pump();
    });
    this.#timer = { atMs, cancel };
  }
}
