import {
  type BackoffBounds,
  type Cancel,
  type Clock,
  type Random,
  STORE_DEADLINE_MS,
  withDeadline,
  askedMs,
  backoffMs,
} from "../../core/time";
import { framesOf, publicMessage } from "../../core/errors";
import type { LoopMetrics } from "../../core/metrics";
import type { Key, Log } from "../../core/ports";
import { each, inSlices, yieldToEventLoop } from "../../core/slices";
import { splitKey } from "../../core/text";
import type { PassResult } from "./requeue";
import { WorkQueue } from "./work-queue";

/** Settings of the loop. */
export interface LoopSettings {
  /** Number of concurrent passes, each of a different key. */
  readonly workers: number;
  /** Time between two full passes. A full pass finds changes that were missed. */
  readonly fullPassMs: number;
  /** Minimum time between two passes of one key, so that a busy namespace does not cause a busy loop. */
  readonly minPassIntervalMs: number;
  /** Maximum time that `stop` waits for passes in flight. */
  readonly stopWithinMs: number;
}

const DEFAULT_SETTINGS: LoopSettings = {
  workers: 4,
  fullPassMs: 60_000,
  minPassIntervalMs: 1_000,
  stopWithinMs: 10_000,
};

/** A full pass takes its keys from a cache, but lists all objects live this long after the last list. In milliseconds. */
const LIST_MS = 600_000;

/** Full passes and lists are up to this fraction earlier or later, so that several operators do not list at the same time. */
const JITTER = 0.1;

/** After several failures of one object only the full pass tries it again; the number of workers bounds the load of many. */
const FAILED_PASSES: BackoffBounds = { firstMs: 800, lastMs: 300_000 };

/** Dependencies of the loop. */
export interface ControllerPorts {
  /** Lists the keys of all objects live. */
  readonly list: () => Promise<readonly Key[]>;
  /** The same from a cache; undefined if it may lack one. */
  readonly cachedKeys: () => readonly Key[] | undefined;
  /** Runs one pass; see Reconciler. */
  readonly reconcile: (key: Key, mayWrite: () => boolean) => Promise<PassResult>;
  /** Called with the keys of all objects after each live list: the cache may lack some. */
  readonly listed: (keys: readonly Key[]) => void;
  /** Called when the state and metrics kept for an object are no longer needed. */
  readonly forget: (key: Key) => void;
  /** Checked before every write. */
  readonly isLeader: () => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: LoopMetrics;
}

/**
 * The reconcile loop: takes keys from the queue while this process leads, runs a pass for each, and requeues the key according to
 * the result. All terms of leadership share one queue, so a key never has two passes at the same time, not even after the lead
 * is lost and regained.
 */
export class Controller {
  /** Keys of this term whose objects may exist, by namespace. */
  readonly #known = new Map<string, Set<Key>>();
  readonly #ports: ControllerPorts;
  readonly #settings: LoopSettings;
  readonly #queue: WorkQueue;
  /** Passes of a key that have failed in a row. */
  readonly #failures = new Map<Key, number>();
  readonly #lastPassMs = new Map<Key, number>();
  /** Number of the current term of leadership; undefined while not leading. */
  #term: number | undefined;
  #terms = 0;
  #cancelFullPass: Cancel = () => undefined;
  #progressAtMs: number;
  #stopped = false;
  #fullPassFailure: string | null = null;
  #fullPassFailures = 0;
  /** When the next full pass lists live, on the monotonic clock. */
  #listAtMs = -Infinity;

  constructor(ports: ControllerPorts, settings: Partial<LoopSettings> = {}) {
    this.#ports = ports;
    this.#settings = { ...DEFAULT_SETTINGS, ...settings };
    this.#queue = new WorkQueue(ports.clock, () => this.#takeMore(), ports.metrics);
    this.#progressAtMs = ports.clock.monotonicMs();
  }

  /** Starts a term of leadership with a full pass. */
  startLeading(): void {
    if (this.#stopped || this.#term !== undefined) return;
    this.#term = ++this.#terms;
    this.#listAtMs = -Infinity;
    this.#progressed();
    this.#scheduleFullPass(0);
  }

  /** Ends the term of leadership: takes no more keys, and passes in flight write nothing more. */
  stopLeading(): void {
    if (this.#term === undefined) return;
    this.#term = undefined;
    this.#cancelFullPass();
    this.#queue.clear();
    // A standby does not see changes and deletions: metrics would become stale, and unused namespaces would stay watched.
    for (const key of this.#allKnown()) if (!this.#queue.isInWork(key)) this.#forget(key);
    this.#known.clear();
  }

  /** Stops the loop: takes no more keys, and waits up to `stopWithinMs` for passes in flight, which may still write. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelFullPass();
    const drained = this.#queue.close();
    const { clock, log } = this.#ports;
    await withDeadline(clock, this.#settings.stopWithinMs, "passes in flight", () => drained).catch(
      (error: unknown) => {
        log.warn({ inFlight: this.#queue.inWork, error: publicMessage(error) }, "stopped with passes in flight");
      },
    );
    this.stopLeading();
  }

  /** Requests a pass of an object. Ignored while not leading, since each term starts with a full pass. */
  enqueue(key: Key): void {
    if (this.#term === undefined) return;
    this.#know(key);
    this.#queue.addAfter(key, this.#delayOf(key));
  }

  /** Requests a pass of every known object of a namespace. */
  enqueueNamespace(namespace: string): void {
    for (const key of this.knownIn(namespace)) this.enqueue(key);
  }

  /** Returns the known keys of a namespace; none while not leading. */
  knownIn(namespace: string): readonly Key[] {
    return [...(this.#known.get(namespace) ?? [])];
  }

  /** Returns why the last full pass failed; null if it succeeded, or while not leading. */
  fullPassFailure(): string | null {
    return this.#term === undefined ? null : this.#fullPassFailure;
  }

  /** Milliseconds since a pass last made progress; 0 while not leading. */
  sinceProgressMs(): number {
    return this.#term === undefined ? 0 : this.#ports.clock.monotonicMs() - this.#progressAtMs;
  }

  #takeMore(): void {
    while (this.#term !== undefined && !this.#stopped && this.#queue.inWork < this.#settings.workers) {
      const key = this.#queue.take();
      if (key === undefined) break;
      void this.#runPass(key, this.#term);
    }
  }

  /** Milliseconds until `minPassIntervalMs` has passed since the last pass of the key; not positive if it has. */
  #delayOf(key: Key): number {
    const lastMs = this.#lastPassMs.get(key);
    return lastMs === undefined ? 0 : lastMs + this.#settings.minPassIntervalMs - this.#ports.clock.monotonicMs();
  }

  async #runPass(key: Key, term: number): Promise<void> {
    const { clock, log, metrics, reconcile, isLeader } = this.#ports;
    const startedMs = clock.monotonicMs();
    this.#lastPassMs.set(key, startedMs);
    this.#progressed();
    let result: PassResult | undefined;
    try {
      result = await reconcile(key, () => {
        // A pass that is about to write makes progress, however slow its writes are.
        this.#progressed();
        return this.#term === term && isLeader();
      });
    } catch (error) {
      log.error({ key, error: publicMessage(error), stack: framesOf(error) }, "unexpected error in pass");
    }
    metrics.reconciled(metricOf(result), (clock.monotonicMs() - startedMs) / 1000);
    if (this.#term === term) this.#requeue(key, result);
    else this.#forget(key);
    this.#queue.done(key);
    this.#progressed();
    // A pass on caches needs no request, so thousands of them would run in one turn of the event loop.
    await yieldToEventLoop(clock);
    this.#takeMore();
  }

  #requeue(key: Key, result: PassResult | undefined): void {
    // The object may have been deleted and recreated while its key waited.
    if (result?.next !== "forget") this.#know(key);
    switch (result?.next) {
      case "forget":
        this.#forget(key);
        this.#unknow(key);
        break;
      case "recheck":
        this.#failures.delete(key);
        if (result.afterMs !== undefined) {
          this.#queue.addAfter(key, Math.max(result.afterMs, this.#settings.minPassIntervalMs), "due");
        }
        break;
      case "give-up":
        break;
      case "wait":
        this.#queue.addAfter(key, Math.max(result.afterMs, this.#settings.minPassIntervalMs), "due");
        break;
      default:
        this.#retry(key, result?.afterMs);
    }
  }

  #retry(key: Key, maxDelayMs = Infinity): void {
    this.#ports.metrics.retried();
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const delayMs = backoffMs(failures, this.#ports.random, 0, FAILED_PASSES);
    this.#queue.addAfter(key, Math.min(delayMs, maxDelayMs), "due");
  }

  #know(key: Key): void {
    const { namespace } = splitKey(key);
    const known = this.#known.get(namespace);
    if (known === undefined) this.#known.set(namespace, new Set([key]));
    else known.add(key);
  }

  #unknow(key: Key): void {
    const { namespace } = splitKey(key);
    const known = this.#known.get(namespace);
    known?.delete(key);
    if (known?.size === 0) this.#known.delete(namespace);
  }

  #allKnown(): readonly Key[] {
    return [...this.#known.values()].flatMap(keys => [...keys]);
  }

  #forget(key: Key): void {
    this.#failures.delete(key);
    this.#lastPassMs.delete(key);
    this.#ports.forget(key);
  }

  #scheduleFullPass(delayMs: number): void {
    const term = this.#term;
    this.#cancelFullPass = this.#ports.clock.after(delayMs, () => void this.#fullPass(term));
  }

  /** Enqueues all listed objects, or where the list fails those of the cache, and all known ones that are not among them. Never throws. */
  async #fullPass(term: number | undefined): Promise<void> {
    const { clock, random, log } = this.#ports;
    let nextMs = this.#jittered(this.#settings.fullPassMs);
    const knownBefore = this.#allKnown();
    let keys: readonly Key[] | undefined;
    try {
      keys = this.#ports.cachedKeys();
      if (keys === undefined || clock.monotonicMs() >= this.#listAtMs) keys = await this.#list(term);
      if (this.#term !== term) return;
      this.#fullPassFailures = 0;
      this.#fullPassFailure = null;
    } catch (error) {
      if (this.#term !== term) return;
      const waitMs = backoffMs(this.#fullPassFailures++, random, askedMs(error));
      nextMs = keys === undefined ? waitMs : Math.max(waitMs, nextMs);
      this.#fullPassFailure = publicMessage(error);
      log.error({ error: publicMessage(error), failures: this.#fullPassFailures }, "full pass failed");
    }
    await this.#enqueueAll(keys, knownBefore, term);
    if (this.#term !== term || this.#stopped) return;
    if (this.#queue.inWork === 0) this.#progressed();
    this.#scheduleFullPass(nextMs);
  }

  async #enqueueAll(keys: readonly Key[] | undefined, knownBefore: readonly Key[], term: number | undefined) {
    if (keys === undefined) return;
    const all = [...new Set([...keys, ...knownBefore])];
    for (const key of all) this.#know(key);
    // Keys left from the previous full pass keep their place, so every key is served even if a full pass takes longer than fullPassMs.
    const enqueue = (key: Key): void => {
      if (this.#term === term) this.#queue.addAfter(key, this.#delayOf(key), "sweep");
    };
    await inSlices(this.#ports.clock, each(all, enqueue));
  }

  async #list(term: number | undefined): Promise<readonly Key[]> {
    const { clock, list, listed } = this.#ports;
    const keys = await withDeadline(clock, STORE_DEADLINE_MS, "listing all objects", list);
    if (this.#term !== term) return keys;
    this.#listAtMs = clock.monotonicMs() + this.#jittered(LIST_MS);
    listed(keys);
    return keys;
  }

  #jittered(ms: number): number {
    return ms * (1 + (2 * this.#ports.random() - 1) * JITTER);
  }

  #progressed(): void {
    this.#progressAtMs = this.#ports.clock.monotonicMs();
  }
}

function metricOf(result: PassResult | undefined): Parameters<LoopMetrics["reconciled"]>[0] {
  if (result === undefined) return "panic";
  if (result.next === "give-up" || (result.next === "retry" && !result.conflict)) return "error";
  return result.next === "retry" || result.next === "wait" ? "requeue" : "success";
}
