import { askedMs, backoffMs, type Cancel, type Clock, pause, type Random } from "../../core/time";
import { describeError, ForbiddenError, TransientError } from "../../core/errors";
import type { CacheMetrics } from "../../core/metrics";
import type { Log } from "../../core/ports";
import { each, inSlices } from "../../core/slices";
import { type Api, MAX_JSON_BYTES } from "../http/api";
import { callOf, LARGE_PAGES, listPages, PAGE_SIZE, type Resource, type Unread, unreadError } from "../http/resources";
import { projectAll } from "../read/received";
import { LineSplitter, parseWatchEvent, reasonOf, StalledError, type WatchEndReason, type WatchEvent } from "./stream";
import { type Delta, type Identified, ViewCache } from "./view-cache";

export interface WatchSubject<V extends Identified> {
  readonly resource: Resource;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly fieldSelector?: string;
  /**
   * The API server has no watch cache for this resource and sends no bookmarks. Silence then means nothing, and only a list confirms
   * the cache: the watch relists whenever it ends.
   */
  readonly withoutBookmarks?: boolean;
  /** Returns the part of an object to keep; null for an invalid object. */
  readonly project: (raw: unknown) => V | null;
  /** Called for each change; its errors are logged. */
  readonly onDelta: (delta: Delta<V>) => void;
  /** Reports whether the watch gives up for ten minutes, without a warning, after this error of its first list. Absent: it never does. */
  readonly givesUp?: (error: unknown) => boolean;
}

/** In milliseconds. */
const DEFAULT_TIMING = {
  /**
   * The server ends the watch after one to two times this, by default 30 to 60 minutes. client-go asks for 5 to 10, to spread its watches
   * over the API servers; a dead connection is found by its silence, so a short timeout would only add requests.
   */
  serverTimeoutMs: 1_800_000,
  /** A silent watch ends after this time. Bookmarks arrive every 60 to 75 s, so two of them are missing then. */
  stallMs: 150_000,
  /** A watch that lasts this long resets the backoff. */
  steadyMs: 5_000,
  /** When a watch ends this long after the last list, it lists again. */
  relistMs: 3_600_000,
  /** Reads fail if the server has not confirmed the cache for this time: a stall plus the time to relist. */
  staleMs: 240_000,
};

/** The server closes the watch within twice the first value, so a stall is longer than that. */
const WITHOUT_BOOKMARKS = { serverTimeoutMs: 100_000, stallMs: 220_000, staleMs: 300_000 };

export interface WatchContext {
  readonly api: Pick<Api, "json" | "open">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: CacheMetrics;
}

/** After these ends the last resourceVersion is useless. */
const RELISTED: readonly WatchEndReason[] = ["expired", "stalled", "malformed"];

/** A watch that has given up lists again after this time, in milliseconds. */
const GIVEN_UP_MS = 600_000;

/** The largest object, and what stands around it. */
const MAX_LINE_BYTES = MAX_JSON_BYTES + 1024;

/**
 * Lists and watches one resource, and reconnects with backoff until it is stopped.
 *
 * Invariant: the cache is the list at some resourceVersion plus all later events in order. If that chain breaks (410, silence,
 * malformed event), the watch relists and reports the difference, deletions included.
 */
export class Watch<V extends Identified> {
  readonly #context: WatchContext;
  readonly #subject: WatchSubject<V>;
  readonly #timing: typeof DEFAULT_TIMING;
  readonly #cache = new ViewCache<V>();
  /** Ends in a row that were no success. */
  #failures = 0;
  readonly #stopped = new AbortController();
  #round = new AbortController();
  readonly #name: string;
  /** resourceVersion of the cache; null if a list is due. */
  #version: string | null = null;
  readonly #madeAtMs: number;
  #confirmedAtMs = -Infinity;
  #listedAtMs = -Infinity;
  /** Of the last list. */
  #unread: readonly Unread[] = [];
  /** A continue token has expired before the last page, so larger pages follow: etcd keeps the version of a list for five minutes. */
  #isListSlow = false;
  #connectedAtMs: number | null = null;
  /** Of the last round that has ended. */
  #lastError: unknown;
  #running: Promise<void> | null = null;
  #hasAttempted: () => void = () => undefined;
  readonly #attempt = new Promise<void>(resolve => (this.#hasAttempted = resolve));

  constructor(context: WatchContext, subject: WatchSubject<V>) {
    this.#context = context;
    this.#subject = subject;
    this.#timing = { ...DEFAULT_TIMING, ...(subject.withoutBookmarks === true && WITHOUT_BOOKMARKS) };
    this.#madeAtMs = context.clock.monotonicMs();
    this.#name = callOf("watch", subject.resource, { namespace: subject.namespace }).what;
    context.metrics.watchAge(subject.resource.plural, () => (this.#isEmpty() ? null : this.ageMs()));
  }

  start(): void {
    this.#running ??= this.#supervise();
  }

  /** Resolves when no socket, timer or callback is left. */
  async stop(): Promise<void> {
    this.#stopped.abort(new TransientError(`${this.#name}: stopped`));
    await this.#running;
    this.#hasAttempted();
  }

  /** Returns the time since the server last confirmed the cache or, before the first list, since this watch was created. */
  ageMs(): number {
    return this.#context.clock.monotonicMs() - Math.max(this.#confirmedAtMs, this.#madeAtMs);
  }

  /** Reports whether a list has succeeded. */
  isFilled(): boolean {
    return Number.isFinite(this.#confirmedAtMs);
  }

  /** Returns the problem, or null. */
  trouble(): string | null {
    if (this.isFilled() && this.ageMs() <= this.#timing.staleMs) return null;
    const since = this.isFilled() ? `stale for ${Math.round(this.ageMs() / 1000)} s` : "not filled yet";
    return `${this.#name}: ${since}${messageOf(this.#lastError, text => ` (${text})`)}`;
  }

  /**
   * Returns the current objects of a namespace, or all; in the same array until one of them changes.
   *
   * @throws ForbiddenError without the permission to list, TransientError while the cache is not filled or stale, TooLargeError for an object
   *   that was not read: a cluster-scoped one, or one of the namespace that is asked for
   */
  views(namespace = ""): readonly V[] {
    this.#check(namespace || (this.#subject.namespace ?? ""));
    return namespace === "" ? this.#cache.all() : this.#cache.of(namespace);
  }

  /** Returns the current object of that name; the namespace of a cluster-scoped one is empty. @throws as {@link views} */
  find(namespace: string, name: string): V | undefined {
    this.#check(namespace);
    return this.#cache.get(namespace, name);
  }

  /** Returns the resourceVersion of the cache, which has every change up to it; undefined while a list is due. */
  version(): string | undefined {
    return this.#version ?? undefined;
  }

  /** Returns the object of that name in the cache, however stale: for hints, not for decisions. */
  lastKnown(namespace: string, name: string): V | undefined {
    return this.#cache.get(namespace, name);
  }

  /** Lists again at once: after a restore of etcd, a server goes on with a watch from before, and leaves out what happens until its version. */
  relist(): void {
    this.#version = null;
    this.#round.abort(new StalledError(`${this.#name}: etcd was restored from a backup`));
  }

  /** Resolves when the first list has succeeded or failed, or the watch is stopped. */
  attempted(): Promise<void> {
    return this.#attempt;
  }

  #check(namespace: string): void {
    const unread = this.#unread.find(object => object.namespace === namespace);
    if (unread !== undefined) throw unreadError(this.#name, unread);
    const trouble = this.trouble();
    if (trouble === null) return;
    const error = this.#lastError;
    throw error instanceof ForbiddenError ? error : new TransientError(trouble, { cause: error });
  }

  async #supervise(): Promise<void> {
    while (!this.#isStopped()) {
      this.#connectedAtMs = null;
      const error = await this.#runRound();
      if (this.#isStopped()) return;
      const reason = reasonOf(error);
      const delayMs = this.#givesUpAfter(error) ? GIVEN_UP_MS : this.#settle(error, reason);
      this.#lastError = error;
      this.#context.metrics.count("watch_ends_total", { resource: this.#subject.resource.plural, reason });
      this.#hasAttempted();
      await pause(this.#context.clock, delayMs, this.#stopped.signal);
    }
  }

  #givesUpAfter(error: unknown): boolean {
    return !this.isFilled() && this.#subject.givesUp?.(error) === true;
  }

  /** There may be nothing to watch: it has given up, or a namespace is gone with the operator's RoleBinding there. A right lost elsewhere is a stall. */
  #isEmpty(): boolean {
    const error = this.#version === null ? this.#lastError : undefined;
    return (this.#subject.namespace !== undefined && error instanceof ForbiddenError) || this.#givesUpAfter(error);
  }

  /** Runs one watch, with a list before it if due, and returns the error that ended it. Never throws. */
  async #runRound(): Promise<unknown> {
    const round = (this.#round = new AbortController());
    const forward = (): void => round.abort(this.#stopped.signal.reason);
    this.#stopped.signal.addEventListener("abort", forward);
    try {
      const version = this.#version ?? (await this.#list(round.signal));
      await this.#stream(version, round);
      return undefined;
    } catch (error) {
      return round.signal.aborted ? round.signal.reason : error;
    } finally {
      this.#stopped.signal.removeEventListener("abort", forward);
      round.abort();
    }
  }

  /** Returns the delay before the next round. */
  #settle(error: unknown, reason: WatchEndReason): number {
    const { clock, random, log } = this.#context;
    const lived = this.#connectedAtMs === null ? 0 : clock.monotonicMs() - this.#connectedAtMs;
    const steady = lived >= this.#timing.steadyMs;
    if (reason === "expired" && this.#version === null) this.#isListSlow = true;
    const relist = RELISTED.includes(reason);
    if (relist || this.#isListDue()) this.#version = null;
    if (steady) this.#failures = 0;
    const calm = reason === "closed" && steady;
    const delayMs = calm ? 0 : backoffMs(this.#failures++, random, askedMs(error));
    const fields = { watch: this.#name, reason, livedMs: Math.round(lived), delayMs: Math.round(delayMs) };
    if (calm) log.debug(fields, "watch ended, reconnecting");
    else log.warn({ ...fields, error: messageOf(error), relist }, "watch failed, backing off");
    return delayMs;
  }

  /** Lists may work while no watch can be opened; and a server sends no lost event again. */
  #isListDue(): boolean {
    const { stallMs, relistMs } = this.#timing;
    const sinceListMs = this.#context.clock.monotonicMs() - this.#listedAtMs;
    return this.#subject.withoutBookmarks === true || this.ageMs() >= stallMs || sinceListMs >= relistMs;
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { api, clock, random, log, metrics } = this.#context;
    const { resource, namespace, fieldSelector, project } = this.#subject;
    const pages = this.#isListSlow ? LARGE_PAGES : { limit: PAGE_SIZE };
    const list = { resource, place: { namespace }, fieldSelector, ...pages };
    const patience = { clock, random, longestMs: Infinity };
    const [views, unread]: [V[], Unread[]] = [[], []];
    let version = "";
    for await (const page of listPages(api, list, { signal, patience, onUnread: object => void unread.push(object) })) {
      await inSlices(clock, projectAll(page.items, project, views));
      signal.throwIfAborted();
      version = page.resourceVersion;
    }
    const deltas = await inSlices(clock, this.#cache.replace(views));
    metrics.count("watch_relists_total", { resource: resource.plural });
    this.#listedAtMs = clock.monotonicMs();
    this.#unread = unread;
    for (const object of unread) log.error({ watch: this.#name, ...object }, "object is too large to be read");
    this.#confirm(version);
    this.#hasAttempted();
    // The stream opens after these reports, so changes are reported in order.
    await inSlices(
      clock,
      each(deltas, delta => {
        if (!this.#isStopped()) this.#report(delta);
      }),
    );
    signal.throwIfAborted();
    return version;
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
    const { stallMs } = this.#timing;
    const stall = (): void => round.abort(new StalledError(`${this.#name}: silent for ${stallMs / 1000} s`));
    let cancel: Cancel = clock.after(stallMs, stall);
    const heard = (): void => {
      cancel();
      cancel = clock.after(stallMs, stall);
    };
    try {
      const response = await api.open({ ...callOf("watch", resource, { namespace }), query }, round.signal);
      this.#connectedAtMs = clock.monotonicMs();
      await this.#consume(response as AsyncIterable<Buffer>, heard);
    } finally {
      cancel();
    }
  }

  async #consume(chunks: AsyncIterable<Buffer>, heard: () => void): Promise<void> {
    const lines = new LineSplitter(MAX_LINE_BYTES);
    for await (const chunk of chunks) {
      heard();
      for (const line of lines.push(chunk)) {
        if (this.#isStopped()) return;
        this.#apply(parseWatchEvent(line));
      }
    }
    if (lines.pending > 0) throw new TransientError(`${this.#name}: connection closed within an event`);
  }

  #apply(event: WatchEvent): void {
    const view = event.type === "bookmark" ? null : this.#subject.project(event.object);
    const delta = view === null ? null : event.type === "put" ? this.#cache.put(view) : this.#cache.remove(view);
    if (view !== null && this.#unread.length > 0)
      this.#unread = this.#unread.filter(({ namespace, name }) => namespace !== view.namespace || name !== view.name);
    this.#confirm(event.resourceVersion);
    if (delta !== null) this.#report(delta);
  }

  #confirm(version: string): void {
    this.#version = version;
    this.#confirmedAtMs = this.#context.clock.monotonicMs();
  }

  #report(delta: Delta<V>): void {
    try {
      this.#subject.onDelta(delta);
    } catch (error) {
      this.#context.log.error({ watch: this.#name, error: describeError(error) }, "watch handler threw");
    }
  }

  /** A method, since TypeScript treats the signal's state as constant across awaits. */
  #isStopped(): boolean {
    return this.#stopped.signal.aborted;
  }
}

function messageOf(error: unknown, format = (text: string): string => text): string {
  return error === undefined ? "" : format(describeError(error));
}
