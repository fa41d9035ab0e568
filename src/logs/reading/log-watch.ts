import { NotYetError, TransientError } from "../../core/errors";
import type { LogRounds } from "../../core/readers";
import type { PersistenceRule } from "../persistence";
import type { LogSource } from "./container-log";
import { FIRST_READ_MS, WatchedLog, type LogFinding, type LogRule, type Watched } from "./watched-log";

/** What was found in a log is kept this long after it was last wanted, in milliseconds: a pass on caches may miss its pod for a moment. */
const KEPT_MS = 300_000;

/** What a watch needs of the readers. */
export interface LogWatchPorts extends LogSource {
  readonly rounds: LogRounds;
}

/** The logs of one ControllerResilience's pods, and what was found in them. */
export class LogWatch {
  readonly #key: string;
  readonly #logs = new Map<string, WatchedLog>();
  /** When each log was last wanted, on the monotonic clock. */
  readonly #wantedMs = new Map<string, number>();
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
  async want(ports: LogWatchPorts, wanted: readonly Watched[], search: LogRule): Promise<void> {
    // A pass may end late.
    if (this.#isStopped) throw new TransientError("the object is no longer reconciled");
    const nowMs = ports.clock.monotonicMs();
    const logs = wanted.map(item => this.#logOf(item, ports, search));
    for (const item of wanted) this.#wantedMs.set(keyOf(item), nowMs);
    for (const [key, wantedMs] of this.#wantedMs) if (nowMs - wantedMs > KEPT_MS) this.#forget(key);
    this.#rounds = ports.rounds;
    await ports.rounds.keep(this, this.#key, logs);
    this.#waitForFirst(logs, ports.clock.monotonicMs());
  }

  /** Returns what is known about a wanted container at `nowMs`, wall-clock time. */
  finding(item: Watched, rule: PersistenceRule, nowMs: number): LogFinding {
    const log = this.#logs.get(keyOf(item));
    if (log === undefined) throw new TypeError(`expected a wanted container, got ${item.container.name}`);
    return log.finding(rule, nowMs);
  }

  #logOf(item: Watched, ports: LogWatchPorts, search: LogRule): WatchedLog {
    const known = this.#logs.get(keyOf(item));
    known?.update(ports, item, search);
    const log = known ?? new WatchedLog(ports, item, search);
    this.#logs.set(keyOf(item), log);
    return log;
  }

  #forget(key: string): void {
    this.#wantedMs.delete(key);
    this.#logs.delete(key);
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
  }

  /** Reads nothing any more. */
  stop(): void {
    this.#isStopped = true;
    this.pause();
    this.#logs.clear();
    this.#wantedMs.clear();
  }
}

function keyOf({ pod, container }: Watched): string {
  return `${pod.uid}/${container.name}`;
}
