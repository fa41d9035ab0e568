import { ForbiddenError, publicMessage } from "../../core/errors";
import type { ContainerView, PodView } from "../../core/views";
import { ContainerLog, type LogSearch, type LogSource } from "./container-log";
import { persistenceOf, type PersistenceRule, type Persistence } from "../persistence";
import { dueMs, pickDue, SUSPICIOUS_INTERVAL_MS } from "./read-schedule";

/** Time in which a log was read without a 401, up to its newest line. */
export interface QuietTime {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A pass waits this long for its reads. Those that hang go on by themselves, and a later pass has what they found. */
const PASS_MS = 3_000;

/** A log that could not be read this many times in a row is reported. */
const FAILURES_UNTIL_REPORTED = 3;

/** A container whose log shall be watched. */
export interface Watched {
  readonly pod: PodView;
  readonly container: ContainerView;
  /** There is another reason to look closely, such as the age of the ServiceAccount. */
  readonly suspicious: boolean;
}

/** Whether a container has written a log at all; between two lives it has that of the last. */
export function hasLog({ running, startedAtMs, lastFinishedAtMs }: ContainerView): boolean {
  return running || startedAtMs !== undefined || lastFinishedAtMs !== undefined;
}

interface Entry {
  readonly log: ContainerLog;
  /** On the monotonic clock. */
  startedMs?: number;
  reading: boolean;
  /** The log was read up to this moment of the wall clock. */
  readMs?: number;
  failures: number;
  error?: unknown;
}

/** What is known of one container. */
export interface LogFinding {
  readonly persistence: Persistence;
  readonly readMs?: number;
  /** For how long its life was last seen to go on without a 401. */
  readonly quiet: QuietTime;
  /** Why the log can't be read, if so for good. */
  readonly error?: { readonly forbidden: boolean; readonly message: string };
}

/** The logs of one ControllerResilience's pods: what was read, and what is to be read next. */
export class LogWatch {
  readonly #entries = new Map<string, Entry>();

  /** Reads what is due, and forgets the containers that are no longer wanted. */
  async pass(
    from: LogSource,
    wanted: readonly Watched[],
    search: LogSearch & { readonly rule: PersistenceRule },
  ): Promise<void> {
    this.#forgetOthers(wanted);
    const picked = pickDue(
      wanted.filter(item => !this.#entry(item).reading).map(item => this.#readable(from, item, search.rule)),
      from.clock.monotonicMs(),
    );
    const reads = picked.map(({ item }) => this.#read(from, item, search));
    let cancel = (): void => undefined;
    const patience = new Promise<void>(resolve => (cancel = from.clock.after(PASS_MS, resolve)));
    await Promise.race([Promise.all(reads), patience]);
    cancel();
  }

  /** What is known of a container now. */
  finding(item: Watched, rule: PersistenceRule, nowMs: number): LogFinding {
    const entry = this.#entry(item);
    const { trace } = entry.log;
    const isReported = entry.error instanceof ForbiddenError || entry.failures >= FAILURES_UNTIL_REPORTED;
    return {
      persistence: persistenceOf(trace, rule, nowMs),
      quiet: { fromMs: trace.quietFromMs, untilMs: trace.lastLineMs },
      ...(entry.readMs === undefined ? {} : { readMs: entry.readMs }),
      ...(isReported
        ? { error: { forbidden: entry.error instanceof ForbiddenError, message: publicMessage(entry.error) } }
        : {}),
    };
  }

  /** Milliseconds until the next read is due; 0 if some are overdue. */
  nextReadInMs(from: LogSource, wanted: readonly Watched[], rule: PersistenceRule): number {
    const nowMs = from.clock.monotonicMs();
    const waits = wanted.map(item => {
      const isReading = this.#entry(item).reading;
      return isReading ? SUSPICIOUS_INTERVAL_MS : dueMs(this.#readable(from, item, rule)) - nowMs;
    });
    return Math.max(0, Math.min(Infinity, ...waits));
  }

  #readable(
    from: LogSource,
    item: Watched,
    rule: PersistenceRule,
  ): {
    item: Watched;
    uid: string;
    lastReadMs: number | undefined;
    suspicious: boolean;
  } {
    const entry = this.#entry(item);
    const state = persistenceOf(entry.log.trace, rule, from.clock.now().getTime()).state;
    const suspicious = item.suspicious || state !== "quiet" || entry.failures > 0;
    return { item, uid: item.pod.uid, lastReadMs: entry.startedMs, suspicious };
  }

  async #read(from: LogSource, item: Watched, search: LogSearch): Promise<void> {
    const entry = this.#entry(item);
    entry.reading = true;
    entry.startedMs = from.clock.monotonicMs();
    const startedAtMs = from.clock.now().getTime();
    try {
      await entry.log.read(from, item.pod, item.container, search);
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

function keyOf({ pod, container }: Watched): string {
  return `${pod.uid}/${container.name}`;
}
