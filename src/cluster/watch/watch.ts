import type { Clock, Random } from "../../core/clock";
import { describeError, ForbiddenError, TransientError } from "../../core/errors";
import type { ClusterMetrics, Log } from "../../core/ports";
import { each, inSlices } from "../../core/slices";
import type { Api } from "../http/api";
import { Backoff } from "../http/backoff";
import { listPages, PAGE_SIZE } from "../http/list-pages";
import { LineSplitter } from "./line-splitter";
import { pause } from "../http/pause";
import { projectAll } from "../read/project-all";
import { describeCall, pathOf, type Resource } from "../http/resources";
import { SilenceTimer } from "./silence-timer";
import { type Delta, type Identified, ViewCache } from "./view-cache";
import { endOf, OverdueError, StalledError, type WatchEnd } from "./watch-end";
import { parseWatchEvent, type WatchEvent } from "./watch-event";

/** What every watch needs. */
export interface WatchContext {
  readonly api: Pick<Api, "json" | "open">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: ClusterMetrics;
  readonly timing?: Partial<WatchTiming>;
}

/** Durations of a watch, in milliseconds. */
export interface WatchTiming {
  /** The server is asked to end the watch after one to two times this: as client-go does, 5 to 10 minutes. */
  readonly serverTimeoutMs: number;
  /** Silence that ends a watch. Bookmarks come about every minute (60 to 75 s), so this misses two of them. */
  readonly stallMs: number;
  /** A watch that lived this long was a success: the next failure starts with short delays again. */
  readonly steadyMs: number;
  /** Views that were not confirmed for longer than this are refused: a stall plus time to list again. */
  readonly staleMs: number;
}

/** What to watch, and what to keep of it. */
export interface WatchSubject<V extends Identified> {
  readonly resource: Resource;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  /** Absent: all of them. */
  readonly fieldSelector?: string;
  /**
   * The API server keeps no watch cache of that resource, and so sends no bookmarks: silence means nothing, and nothing but a new list can
   * confirm what is known. It is listed again whenever a watch ends.
   */
  readonly withoutBookmarks?: boolean;
  /** What to keep of an object; null for what is none. Whole objects are never held. */
  readonly project: (raw: unknown) => V | null;
  /** Called for each difference. What it throws is logged. */
  readonly onDelta: (delta: Delta<V>) => void;
}

const DEFAULT_TIMING: WatchTiming = {
  serverTimeoutMs: 300_000,
  stallMs: 150_000,
  steadyMs: 5_000,
  staleMs: 240_000,
};

/** Without bookmarks: the server closes after one to two times the first, so that a stall is more than that. */
const WITHOUT_BOOKMARKS: Partial<WatchTiming> = { serverTimeoutMs: 100_000, stallMs: 220_000, staleMs: 300_000 };

/** Beyond the timeout that the server was given. */
const OVERDUE_MS = 30_000;

/** etcd holds no object above 1.5 MB; escaping in JSON can lengthen it. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/**
 * A supervised list and watch of one resource: it goes on for ever, whatever happens to the connection, until it is stopped.
 *
 * Invariant: the cache is the list at some resourceVersion plus all events after it, in order; where that chain breaks (410,
 * silence, nonsense), it lists again and reports the difference, deletions included.
 */
export class Watch<V extends Identified> {
  readonly #context: WatchContext;
  readonly #subject: WatchSubject<V>;
  readonly #timing: WatchTiming;
  readonly #cache = new ViewCache<V>();
  readonly #backoff: Backoff;
  readonly #stopped = new AbortController();
  readonly #name: string;
  /** What the cache is equal to; null before the first list and when it has to be listed again. */
  #version: string | null = null;
  readonly #madeAtMs: number;
  #confirmedAtMs = -Infinity;
  #connectedAtMs: number | null = null;
  #lastEnd: WatchEnd | null = null;
  #running: Promise<void> | null = null;
  #waiters: (() => void)[] = [];

  constructor(context: WatchContext, subject: WatchSubject<V>) {
    this.#context = context;
    this.#subject = subject;
    const own = subject.withoutBookmarks === true ? WITHOUT_BOOKMARKS : {};
    this.#timing = { ...DEFAULT_TIMING, ...own, ...context.timing };
    this.#backoff = new Backoff(context.random);
    this.#madeAtMs = context.clock.monotonicMs();
    this.#name = describeCall("watch", subject.resource, { namespace: subject.namespace });
  }

  /** Begins; once. */
  start(): void {
    this.#running ??= this.#supervise();
  }

  /** Ends at once; resolves when no socket, timer or callback is left. */
  async stop(): Promise<void> {
    this.#stopped.abort(new TransientError(`${this.#name}: stopped`));
    await this.#running;
    this.#wake();
  }

  /** Milliseconds since the server last confirmed what the cache holds; before the first list: since this watch was made. */
  ageMs(): number {
    return this.#context.clock.monotonicMs() - Math.max(this.#confirmedAtMs, this.#madeAtMs);
  }

  /** What is wrong now, in words; null while all is well. */
  trouble(): string | null {
    const isFilled = Number.isFinite(this.#confirmedAtMs);
    if (isFilled && this.ageMs() <= this.#timing.staleMs) return null;
    const since = isFilled ? `stale for ${Math.round(this.ageMs() / 1000)} s` : "not filled yet";
    return `${this.#name}: ${since}${this.#lastEnd === null ? "" : ` (${this.#lastEnd.message})`}`;
  }

  /**
   * What the cluster holds.
   *
   * @throws ForbiddenError while reading is forbidden, TransientError while the cache is empty or too old to be trusted
   */
  views(): readonly V[] {
    const trouble = this.trouble();
    if (trouble === null) return this.#cache.all();
    const error = this.#lastEnd?.error;
    throw error instanceof ForbiddenError ? error : new TransientError(trouble, { cause: error });
  }

  /** What the cache held last, however old that is: for hints, not for decisions. */
  lastKnown(): readonly V[] {
    return this.#cache.all();
  }

  /** Resolves when the first attempt to list has succeeded or failed, or the watch is stopped. */
  async attempted(): Promise<void> {
    if (this.#version !== null || this.#lastEnd !== null || this.#stopped.signal.aborted) return;
    await new Promise<void>(resolve => this.#waiters.push(resolve));
  }

  async #supervise(): Promise<void> {
    while (!this.#isStopped()) {
      this.#connectedAtMs = null;
      const end = await this.#round();
      if (this.#isStopped()) return;
      await pause(this.#context.clock, this.#settle(end), this.#stopped.signal);
    }
  }

  /** One list, if need be, and one watch. Never throws. */
  async #round(): Promise<WatchEnd> {
    const round = new AbortController();
    const forward = (): void => round.abort(this.#stopped.signal.reason);
    this.#stopped.signal.addEventListener("abort", forward);
    try {
      const version = this.#version ?? (await this.#list(round.signal));
      await this.#stream(version, round);
      return { reason: "closed", relist: false, message: "" };
    } catch (error) {
      return endOf(round.signal.aborted ? round.signal.reason : error);
    } finally {
      this.#stopped.signal.removeEventListener("abort", forward);
      round.abort();
    }
  }

  /** Draws the conclusions from an end; returns the delay before the next round. */
  #settle(end: WatchEnd): number {
    const { clock, log, metrics } = this.#context;
    const lived = this.#connectedAtMs === null ? 0 : clock.monotonicMs() - this.#connectedAtMs;
    const steady = lived >= this.#timing.steadyMs;
    this.#lastEnd = end;
    if (end.relist || this.#subject.withoutBookmarks === true) this.#version = null;
    if (steady) this.#backoff.reset();
    const calm = end.reason === "closed" && steady;
    const delayMs = calm ? 0 : Math.max(this.#backoff.next(), end.afterMs ?? 0);
    metrics.watchEnded(this.#subject.resource.plural, end.reason);
    const fields = { watch: this.#name, reason: end.reason, livedMs: Math.round(lived), delayMs: Math.round(delayMs) };
    if (calm) log.debug(fields, "watch ended, going on");
    else log.warn({ ...fields, error: end.message, relist: end.relist }, "watch ended, trying again");
    this.#wake();
    return delayMs;
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { api, clock } = this.#context;
    const { resource, namespace, fieldSelector } = this.#subject;
    const views: V[] = [];
    let version = "";
    const list = { resource, place: { namespace }, fieldSelector, limit: PAGE_SIZE };
    for await (const page of listPages(api, list, signal)) {
      await inSlices(clock, projectAll(page.items, this.#subject.project, views));
      signal.throwIfAborted();
      version = page.resourceVersion;
    }
    await this.#adopt(views, version);
    signal.throwIfAborted();
    return version;
  }

  async #adopt(views: readonly V[], version: string): Promise<void> {
    const deltas = this.#cache.replace(new Map(views.map(view => [view.uid, view])));
    this.#context.metrics.relisted(this.#subject.resource.plural);
    this.#confirm(version);
    this.#wake();
    // Nothing that comes later is told before this: the stream is opened when all of it was.
    await inSlices(
      this.#context.clock,
      each(deltas, delta => {
        if (!this.#isStopped()) this.#tell(delta);
      }),
    );
  }

  async #stream(version: string, round: AbortController): Promise<void> {
    const { api, clock, random } = this.#context;
    const { resource, namespace, fieldSelector } = this.#subject;
    const timeoutMs = this.#timing.serverTimeoutMs * (1 + random());
    const query = {
      watch: true,
      allowWatchBookmarks: true,
      fieldSelector,
      resourceVersion: version,
      timeoutSeconds: Math.max(1, Math.round(timeoutMs / 1000)),
    };
    const cancelOverdue = clock.after(timeoutMs + OVERDUE_MS, () =>
      round.abort(new OverdueError(`${this.#name}: longer than asked for`)),
    );
    const silence = new SilenceTimer(clock, this.#timing.stallMs, () =>
      round.abort(new StalledError(`${this.#name}: silent for ${this.#timing.stallMs / 1000} s`)),
    );
    try {
      const request = { what: this.#name, path: pathOf(resource, { namespace }), query };
      const response = await api.open(request, round.signal);
      this.#connectedAtMs = clock.monotonicMs();
      await this.#consume(response as AsyncIterable<Buffer>, silence);
    } finally {
      silence.stop();
      cancelOverdue();
    }
  }

  async #consume(chunks: AsyncIterable<Buffer>, silence: SilenceTimer): Promise<void> {
    const lines = new LineSplitter(MAX_LINE_BYTES);
    for await (const chunk of chunks) {
      silence.heard();
      for (const line of lines.push(chunk)) {
        if (this.#isStopped()) return;
        this.#apply(parseWatchEvent(line));
      }
    }
    if (lines.pending > 0) throw new TransientError(`${this.#name}: closed in the middle of an event`);
  }

  #apply(event: WatchEvent): void {
    const view = event.type === "bookmark" ? null : this.#subject.project(event.object);
    const delta = view === null ? null : event.type === "put" ? this.#cache.put(view) : this.#cache.remove(view.uid);
    this.#confirm(event.resourceVersion);
    if (delta !== null) this.#tell(delta);
  }

  #confirm(version: string): void {
    this.#version = version;
    this.#confirmedAtMs = this.#context.clock.monotonicMs();
  }

  #tell(delta: Delta<V>): void {
    try {
      this.#subject.onDelta(delta);
    } catch (error) {
      this.#context.log.error({ watch: this.#name, error: describeError(error) }, "handler of a watch failed");
    }
  }

  #wake(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  /** A method, since TypeScript would take the signal's state for constant across awaits. */
  #isStopped(): boolean {
    return this.#stopped.signal.aborted;
  }
}
