import { ForbiddenError, NotYetError, publicMessage, TransientError } from "../../core/errors";
import type { LogRead, LogRounds, Rest, RoundsLog, Urgency } from "../../core/readers";
import type { ContainerView, PodView } from "../../core/views";
import {
  PERSISTENT,
  type Persistence,
  persistenceOf,
  type PersistenceRule,
  RECOVERED_AFTER_MS,
  type UnauthorizedTrace,
} from "../persistence";
import { KUBELETS_401 } from "../traces";
import { ContainerLog, type FindUnauthorized, type LogSource } from "./container-log";

/** The current silence in a log: from the last 401 (or its first line) to its newest line. */
export interface QuietTime {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** For this long after a log was first wanted, in milliseconds, no message says that it is not read yet. */
const FIRST_READ_MS = 3_000;

/** An error is reported after so many failed reads in a row, or so long after the first: the next may wait for others that hang. */
const FAILURES_UNTIL_REPORTED = 3;
const FAILING_UNTIL_REPORTED_MS = 60_000;

/** Above the kubelet's longest delay before the next life of a container, which is 5 min. */
const MAX_DOWN_MS = 600_000;

/** A container whose log is watched. */
export interface Watched {
  readonly pod: PodView;
  readonly container: ContainerView;
  /** Read it more often for another reason, such as the age of the ServiceAccount. */
  readonly suspicious: boolean;
  /**
   * The kubelet's 401s count as the API server's if they began in one of these times. Absent: they never do, since a kubelet that is set up
   * wrongly rejects every token.
   */
  readonly kubelets401s?: readonly BeginTime[];
}

/** When 401s must have begun, wall-clock times in milliseconds. */
export interface BeginTime {
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * The containers of a pod that may be clients: all but init containers, or those of these names. The API server answers 401 to a pod that is
 * being deleted; that is expected.
 */
export function watchedContainers(pod: PodView, names: readonly string[] = []): Watched[] {
  if (pod.deletedAtMs !== undefined) return [];
  return (
    pod.containers
      .filter(({ name, role }) => (names.length === 0 ? role !== "init" : names.includes(name)))
      // Between two lives a container has the log of the last one.
      .filter(one => one.running || one.startedAtMs !== undefined || one.lastFinishedAtMs !== undefined)
      .map(container => ({ pod, container, suspicious: false }))
  );
}

/** What is known of one container. */
export interface LogFinding {
  readonly persistence: Persistence;
  readonly readMs?: number;
  /** It was not read yet, and is wanted only since some seconds. */
  readonly isNew: boolean;
  /** It was read since it became suspicious, or cannot be read. */
  readonly isRead: boolean;
  /** A part of the log inside the window was skipped. */
  readonly isPartial: boolean;
  /** The current silence. */
  readonly quiet: QuietTime;
  /** What else the search has found, by topic. */
  readonly topics: ReadonlyMap<string, UnauthorizedTrace>;
  /** The log was searched from this time on: the first line that was there, or the start of its container. Absent: it was not read yet. */
  readonly searchedFromMs?: number;
  /** Why the log can't be read: forbidden, or several failures in a row. */
  readonly error?: { readonly forbidden: boolean; readonly message: string };
}

/** What to search for in a log, when 401s count as persistent, and how it rests while it is healthy; absent: it does not. */
interface LogSearch {
  readonly find: FindUnauthorized;
  readonly rule: PersistenceRule;
  readonly rest?: Rest;
}

/** What a pass wants to know of a container, and when it does, on the monotonic clock. */
interface Wanted extends LogSearch {
  readonly source: LogSource;
  readonly item: Watched;
  readonly atMs: number;
}

/** The log of one container: when it was read, and what was found. */
class WatchedLog implements RoundsLog {
  /** The last that was wanted. */
  wanted: Wanted;
  readonly container: string;
  readonly #firstWantedMs: number;
  /** Since when the log is suspicious; Infinity: it is not. */
  #suspiciousMs = Infinity;
  #log = new ContainerLog();
  /** Time of the first read, or of the first one after a sleep. */
  #firstReadMs: number | undefined;
  /** The log was read up to this time. */
  #readMs: number | undefined;
  /** Start of the last successful read, or of the first that failed since, on the monotonic clock. */
  #followedMs = -Infinity;
  /** The lives of the container as of the last read. */
  #readLives: string | undefined;
  #failures = 0;
  #error: unknown;
  /** What the last read made of it. */
  #verdict: string | undefined;

  constructor(wanted: Wanted) {
    this.wanted = wanted;
    this.container = keyOf(wanted.item);
    this.#firstWantedMs = wanted.atMs;
  }

  want(wanted: Wanted): void {
    this.wanted = wanted;
    this.#suspiciousMs = wanted.item.suspicious ? Math.min(this.#suspiciousMs, wanted.atMs) : Infinity;
  }

  /** What it shows meanwhile is not read. */
  pause(): void {
    this.#suspiciousMs = Infinity;
  }

  urgency(): Urgency {
    if (this.#firstReadMs === undefined) return "first";
    if (this.#isReported()) return "unreadable";
    // One failure sends no suspect behind all logs of a dead node.
    if (this.wanted.item.suspicious || this.#hasUnreadLife() || this.#persistence().state !== "quiet") return "suspect";
    return this.#failures > 0 ? "failing" : "healthy";
  }

  /**
   * The kubelet keeps the logs of the last two lives only, and a new life starts with a new token. No counter has the kubelet's 401s, which may
   * begin until a known time, or what else the search has found, which may go on.
   */
  rest(): Rest | undefined {
    const { item, source, rest } = this.wanted;
    const { kubelets401s = [] } = item;
    const isRead = kubelets401s.every(({ untilMs }) => untilMs < (this.#readMs ?? -Infinity));
    const sinceMs = source.clock.now().getTime() - RECOVERED_AFTER_MS;
    const topics = [...this.#log.traces.topics.values()];
    const goesOn = topics.some(({ occasions }) => (occasions.at(-1)?.endMs ?? 0) > sinceMs);
    return isRead && !goesOn && !this.#isPartial() && livesOf(item) === this.#readLives ? rest : undefined;
  }

  async read(): Promise<LogRead> {
    const before = this.#verdict ?? this.#judge();
    const { source, item, find, rest } = this.wanted;
    const { clock } = source;
    const [startedAtMs, startedMs] = [clock.now().getTime(), clock.monotonicMs()];
    // Where a log may sleep, what is older than the window counts for nothing: one that was not read for so long is read as one that is new.
    const hasSlept = rest?.as === "asleep" && startedMs - this.#followedMs > PERSISTENT.windowMs;
    if (this.#firstReadMs === undefined || hasSlept) {
      this.#log = new ContainerLog();
      this.#firstReadMs = startedAtMs;
    }
    const requestsBefore = this.#log.requests;
    const lives = livesOf(item);
    try {
      await this.#log.read(source, item.pod, item.container, find);
      this.#readMs = startedAtMs;
      this.#followedMs = startedMs;
      this.#readLives = lives;
      this.#failures = 0;
      this.#error = undefined;
    } catch (error) {
      if (this.#failures++ === 0) this.#followedMs = startedMs;
      this.#error = error;
    }
    this.#verdict = this.#judge();
    return { hasNews: this.#verdict !== before, requests: this.#log.requests - requestsBefore };
  }

  /** What a pass decides by. More of the same is no news; a pass that waits for time to go by says for how long. */
  #judge(): string {
    const { state, isFresh } = this.#persistence();
    return [this.#isKnown(), this.#isReported(), state, isFresh].join();
  }

  /** What is known now. */
  finding(): LogFinding {
    const { unauthorized, topics } = this.#log.traces;
    const { beganMs = 0, ...persistence } = this.#persistence();
    // Those at the start of what was read may have begun before it.
    const isBeginKnown = beganMs - this.#searchedFromMs >= RECOVERED_AFTER_MS;
    const { quietFromMs = 0 } = (persistence.isKubelets === true && topics.get(KUBELETS_401)) || {};
    return {
      persistence: isBeginKnown ? { ...persistence, beganMs } : persistence,
      isNew: this.isNew(),
      isRead: this.#isRead(),
      isPartial: this.#isPartial(),
      quiet: { fromMs: Math.max(unauthorized.quietFromMs, quietFromMs), untilMs: unauthorized.lastLineMs },
      topics,
      ...(this.#firstReadMs === undefined ? {} : { searchedFromMs: this.#searchedFromMs }),
      ...(this.#readMs === undefined ? {} : { readMs: this.#readMs }),
      ...(this.#isReported()
        ? { error: { forbidden: this.#error instanceof ForbiddenError, message: publicMessage(this.#error) } }
        : {}),
    };
  }

  /** Reports whether it was not read yet, and is wanted only since some seconds. */
  isNew(): boolean {
    return !this.#isKnown() && this.wanted.source.clock.monotonicMs() - this.#firstWantedMs < FIRST_READ_MS;
  }

  #isRead(): boolean {
    return this.#isReported() || (this.#failures === 0 && this.#followedMs >= this.#suspiciousMs);
  }

  /** A part was skipped: so fast a log would be again, after each sleep. */
  #isPartial(): boolean {
    return this.wanted.source.clock.now().getTime() - (this.#log.skippedAtMs ?? -Infinity) < this.wanted.rule.windowMs;
  }

  #isKnown(): boolean {
    return this.#isReported() || (this.#readMs !== undefined && this.#failures === 0);
  }

  #isReported(): boolean {
    if (this.#failures === 0) return false;
    const failingMs = this.wanted.source.clock.monotonicMs() - this.#followedMs;
    const isLong = this.#failures >= FAILURES_UNTIL_REPORTED || failingMs >= FAILING_UNTIL_REPORTED_MS;
    return isLong || this.#error instanceof ForbiddenError;
  }

  get #searchedFromMs(): number {
    return Math.max((this.#firstReadMs ?? Infinity) - PERSISTENT.windowMs, this.#log.fromMs ?? -Infinity);
  }

  /** The 401s of the API server, or the kubelet's where they count and are the younger ones. */
  #persistence(): Persistence {
    const { rule } = this.wanted;
    const nowMs = this.wanted.source.clock.now().getTime();
    const { unauthorized, topics } = this.#log.traces;
    const own = persistenceOf(unauthorized, rule, nowMs, this.#downMs(nowMs));
    const trace = this.wanted.item.kubelets401s && topics.get(KUBELETS_401);
    if (trace === undefined) return own;
    const kubelets = persistenceOf(trace, rule, nowMs);
    const isYounger = (kubelets.lastMs ?? -Infinity) >= (own.lastMs ?? -Infinity);
    return isYounger && this.#hasBegunInTime(kubelets, trace) ? { ...kubelets, isKubelets: true } : own;
  }

  /** A log that was searched from later on may hide an earlier beginning. One with some in the window before has them now and then. */
  #hasBegunInTime({ beganMs }: Persistence, { occasions, skippedUntilMs = 0 }: UnauthorizedTrace): boolean {
    const { windowMs } = this.wanted.rule;
    if (beganMs === undefined) return false;
    const isNew = ({ fromMs, untilMs }: BeginTime): boolean =>
      Math.max(this.#searchedFromMs, skippedUntilMs) <= fromMs && beganMs >= fromMs && beganMs <= untilMs;
    const isUsual = ({ fromMs }: BeginTime): boolean =>
      occasions.some(({ startMs }) => startMs < fromMs && startMs >= fromMs - windowMs);
    return (this.wanted.item.kubelets401s ?? []).some(change => isNew(change) && !isUsual(change));
  }

  /**
   * Time since the last 401 in which the container waited for its next life, in milliseconds. Of a life that was not read to its end
   * nothing is known.
   */
  #downMs(nowMs: number): number {
    const { running, startedAtMs, lastFinishedAtMs } = this.wanted.item.container;
    const last401Ms = this.#log.traces.unauthorized.occasions.at(-1)?.endMs;
    if (last401Ms === undefined) return 0;
    const isUnknown = this.#hasUnreadLife();
    const fromMs = isUnknown ? last401Ms : Math.max(last401Ms, lastFinishedAtMs ?? last401Ms);
    const untilMs = running && !isUnknown ? (startedAtMs ?? fromMs) : nowMs;
    return Math.min(MAX_DOWN_MS, Math.max(0, untilMs - fromMs));
  }

  /** A life of a container with 401s has begun or ended since its log was read. */
  #hasUnreadLife(): boolean {
    const { restartCount, lastFinishedAtMs = -Infinity } = this.wanted.item.container;
    const { occasions, life } = this.#log.traces.unauthorized;
    return occasions.length > 0 && (restartCount > life || lastFinishedAtMs > (this.#readMs ?? Infinity));
  }
}

/** What was found in a log is kept this long after it was last wanted, in milliseconds: a pass on caches may miss its pod for a moment. */
const KEPT_MS = 300_000;

/** What a watch needs of the readers. */
interface LogWatchPorts extends LogSource {
  readonly rounds: LogRounds;
}

/** The logs of one ControllerResilience's pods, and what was found in them. */
export class LogWatch {
  readonly #key: string;
  readonly #logs = new Map<string, WatchedLog>();
  #isStopped = false;
  #rounds: LogRounds | undefined;
  /** When the first containers were wanted, on the monotonic clock; null once their logs were read or have taken too long. */
  #beganMs: number | null | undefined;

  /** @param key of the object that has a pass when there is news */
  constructor(key: string) {
    this.#key = key;
  }

  /**
   * Sets the containers whose logs are read; the others are soon forgotten.
   *
   * @throws NotYetError for some seconds while the first logs are being read, so that a new leader does not report them as unread; a
   * TransientError once stopped
   */
  async want(ports: LogWatchPorts, wanted: readonly Watched[], search: LogSearch): Promise<void> {
    // A pass may end late.
    if (this.#isStopped) throw new TransientError("the object is no longer reconciled");
    const atMs = ports.clock.monotonicMs();
    const logs = wanted.map(item => this.#logOf({ ...search, source: ports, item, atMs }));
    for (const [key, log] of this.#logs) if (atMs - log.wanted.atMs > KEPT_MS) this.#logs.delete(key);
    this.#rounds = ports.rounds;
    await ports.rounds.keep(this, this.#key, logs);
    this.#waitForFirst(logs, ports.clock.monotonicMs());
  }

  /** Returns what is known about a wanted container. */
  finding(item: Watched): LogFinding {
    const log = this.#logs.get(keyOf(item));
    if (log === undefined) throw new TypeError(`expected a wanted container, got ${item.container.name}`);
    return log.finding();
  }

  #logOf(wanted: Wanted): WatchedLog {
    const key = keyOf(wanted.item);
    const log = this.#logs.get(key) ?? new WatchedLog(wanted);
    log.want(wanted);
    this.#logs.set(key, log);
    return log;
  }

  #waitForFirst(logs: readonly WatchedLog[], nowMs: number): void {
    if (this.#beganMs === null) return;
    this.#beganMs ??= nowMs;
    const leftMs = this.#beganMs + FIRST_READ_MS - nowMs;
    const isNew = logs.some(log => log.isNew());
    if (isNew && leftMs > 0) throw new NotYetError("the logs are being read", leftMs);
    this.#beganMs = null;
  }

  /** Reads nothing until logs are wanted again. */
  pause(): void {
    this.#rounds?.drop(this);
    for (const log of this.#logs.values()) log.pause();
  }

  /** Reads nothing any more. */
  stop(): void {
    this.#isStopped = true;
    this.pause();
    this.#logs.clear();
  }
}

function livesOf({ container: { restartCount, running, lastFinishedAtMs } }: Watched): string {
  return [restartCount, running, lastFinishedAtMs].join();
}

function keyOf({ pod, container }: Watched): string {
  return `${pod.uid}/${container.name}`;
}
