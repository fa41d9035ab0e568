import { ForbiddenError, publicMessage } from "../../core/errors";
import type { ContainerView, PodView } from "../../core/views";
import { ContainerLog, type LogSearch, type LogSource } from "./container-log";
import { persistenceOf, type Persistence, type PersistenceRule } from "../persistence";
import { dueMs, pickDue, SUSPICIOUS_INTERVAL_MS } from "./read-schedule";

/** The current silence in a log: from the last 401 (or its first line) to its newest line. */
export interface QuietTime {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A pass waits this long for its reads. Slower reads continue, and a later pass uses their result. */
const PASS_MS = 3_000;

/** Failed reads in a row after which an error is reported. */
const FAILURES_UNTIL_REPORTED = 3;

/**
 * The first read goes back one window. 401s that began within this time after its start, which is also the time between slow ones, may have
 * begun before it.
 */
const HORIZON_MS = 300_000;

/** Above the kubelet's longest delay before the next life of a container, which is 5 min. */
const MAX_DOWN_MS = 600_000;

/** A container whose log is watched. */
export interface Watched {
  readonly pod: PodView;
  readonly container: ContainerView;
  /** Read it more often for another reason, such as the age of the ServiceAccount. */
  readonly suspicious: boolean;
}

/** Whether a container has a log. Between two lives it has the log of the last one. */
export function hasLog({ running, startedAtMs, lastFinishedAtMs }: ContainerView): boolean {
  return running || startedAtMs !== undefined || lastFinishedAtMs !== undefined;
}

interface Entry {
  readonly log: ContainerLog;
  /** Time of the first read. */
  firstReadMs?: number;
  /** Start of the last read, on the monotonic clock. */
  startedMs?: number;
  reading: boolean;
  /** The log was read up to this time. */
  readMs?: number;
  failures: number;
  error?: unknown;
}

/** What is known of one container. */
export interface LogFinding {
  readonly persistence: Persistence;
  /** The first 401 may be older than the part of the log that was read. */
  readonly isStartUnknown: boolean;
  readonly readMs?: number;
  /** A part of the log inside the window was skipped: it is written faster than it can be read. */
  readonly isPartial: boolean;
  /** The current silence. */
  readonly quiet: QuietTime;
  /** Why the log can't be read: forbidden, or several failures in a row. */
  readonly error?: { readonly forbidden: boolean; readonly message: string };
}

/** Reads the logs of one ControllerResilience's pods and keeps what was found. */
export class LogWatch {
  readonly #entries = new Map<string, Entry>();

  /** Reads the logs that are due, and forgets containers that are no longer wanted. */
  async pass(
    source: LogSource,
    wanted: readonly Watched[],
    search: LogSearch & { readonly rule: PersistenceRule },
  ): Promise<void> {
    this.#forgetOthers(wanted);
    const picked = pickDue(
      wanted.filter(item => !this.#entry(item).reading).map(item => this.#readable(source, item, search.rule)),
      source.clock.monotonicMs(),
    );
    const reads = picked.map(({ item }) => this.#read(source, item, search));
    let cancel = (): void => undefined;
    const timeout = new Promise<void>(resolve => (cancel = source.clock.after(PASS_MS, resolve)));
    await Promise.race([Promise.all(reads), timeout]);
    cancel();
  }

  /** Returns what is known about a container at `nowMs`. */
  finding(item: Watched, rule: PersistenceRule, nowMs: number): LogFinding {
    const entry = this.#entry(item);
    const { trace } = entry.log;
    const isReported = entry.error instanceof ForbiddenError || entry.failures >= FAILURES_UNTIL_REPORTED;
    const persistence = persistenceOf(trace, rule, nowMs, downMs(item.container, entry, nowMs));
    const { firstReadMs = Infinity } = entry;
    return {
      persistence,
      isStartUnknown:
        (persistence.firstMs ?? Infinity) < Math.min(firstReadMs, firstReadMs - rule.windowMs + HORIZON_MS),
      isPartial: nowMs - (entry.log.skippedAtMs ?? -Infinity) < rule.windowMs,
      quiet: { fromMs: trace.quietFromMs, untilMs: trace.lastLineMs },
      ...(entry.readMs === undefined ? {} : { readMs: entry.readMs }),
      ...(isReported
        ? { error: { forbidden: entry.error instanceof ForbiddenError, message: publicMessage(entry.error) } }
        : {}),
    };
  }

  /** Returns the milliseconds until the next read is due; 0 if one is overdue. */
  nextReadInMs(source: LogSource, wanted: readonly Watched[], rule: PersistenceRule): number {
    const nowMs = source.clock.monotonicMs();
    const waits = wanted.map(item => {
      const isReading = this.#entry(item).reading;
      return isReading ? SUSPICIOUS_INTERVAL_MS : dueMs(this.#readable(source, item, rule)) - nowMs;
    });
    return Math.max(0, Math.min(Infinity, ...waits));
  }

  #readable(
    source: LogSource,
    item: Watched,
    rule: PersistenceRule,
  ): {
    item: Watched;
    uid: string;
    lastReadMs: number | undefined;
    suspicious: boolean;
  } {
    const entry = this.#entry(item);
    const { trace } = entry.log;
    const nowMs = source.clock.now().getTime();
    const { state } = persistenceOf(trace, rule, nowMs, downMs(item.container, entry, nowMs));
    const isNewLife = hasUnreadLife(item.container, entry);
    const suspicious = item.suspicious || state !== "quiet" || entry.failures > 0 || isNewLife;
    return { item, uid: item.pod.uid, lastReadMs: entry.startedMs, suspicious };
  }

  async #read(source: LogSource, item: Watched, search: LogSearch): Promise<void> {
    const entry = this.#entry(item);
    entry.reading = true;
    entry.startedMs = source.clock.monotonicMs();
    const startedAtMs = source.clock.now().getTime();
    entry.firstReadMs ??= startedAtMs;
    try {
      await entry.log.read(source, item.pod, item.container, search);
      entry.readMs = startedAtMs;
      entry.failures = 0;
      delete entry.error;
    } catch (error) {
      entry.failures++;
      entry.error = error;
    } finally {
      entry.reading = false;
    }
  }

  #entry(item: Watched): Entry {
    const key = keyOf(item);
    const known = this.#entries.get(key) ?? { log: new ContainerLog(), reading: false, failures: 0 };
    this.#entries.set(key, known);
    return known;
  }

  #forgetOthers(wanted: readonly Watched[]): void {
    const keys = new Set(wanted.map(item => keyOf(item)));
    for (const key of this.#entries.keys()) if (!keys.has(key)) this.#entries.delete(key);
  }
}

/**
 * Time since the last 401 in which the container waited for its next life, in milliseconds. Of a life that was not read to its end nothing
 * is known.
 */
function downMs(container: ContainerView, entry: Entry, nowMs: number): number {
  const { running, startedAtMs, lastFinishedAtMs } = container;
  const last401Ms = entry.log.trace.occasions.at(-1)?.endMs ?? nowMs;
  const isUnknown = hasUnreadLife(container, entry);
  const fromMs = isUnknown ? last401Ms : Math.max(last401Ms, lastFinishedAtMs ?? last401Ms);
  const untilMs = running && !isUnknown ? (startedAtMs ?? fromMs) : nowMs;
  return Math.min(MAX_DOWN_MS, Math.max(0, untilMs - fromMs));
}

/** A life of a container with 401s has begun or ended since its log was read. */
function hasUnreadLife({ restartCount, lastFinishedAtMs = -Infinity }: ContainerView, { log, readMs }: Entry): boolean {
  const { occasions, life } = log.trace;
  return occasions.length > 0 && (restartCount > life || lastFinishedAtMs > (readMs ?? Infinity));
}

function keyOf({ pod, container }: Watched): string {
  return `${pod.uid}/${container.name}`;
}
