import type { Cancel, Clock, Random } from "../../core/clock";
import { framesOf, publicMessage } from "../../core/errors";
import type { EngineMetrics, Key, Log, ObjectStore } from "../../core/ports";
import { each, inSlices } from "../../core/slices";
import { STORE_DEADLINE_MS, withDeadline } from "../../core/deadline";
import { KnownKeys } from "./known-keys";
import { RateLimiter } from "./rate-limiter";
import type { PassResult } from "./pass-result";
import { WorkQueue } from "./work-queue";

/** How the loop runs. */
export interface LoopSettings {
  /** Passes at the same time, each for another key. */
  readonly workers: number;
  /** Between two full passes; the timed pass is the safety net under every watch. */
  readonly fullPassMs: number;
  /** The full pass comes up to this share earlier or later, so that several operators don't list at the same time. */
  readonly fullPassJitter: number;
  /** Between two passes of one key that events ask for: a busy namespace must not make a busy loop. */
  readonly minPassIntervalMs: number;
  /** How long stopping waits for passes in flight. */
  readonly stopWithinMs: number;
}

const DEFAULT_SETTINGS: LoopSettings = {
  workers: 4,
  fullPassMs: 60_000,
  fullPassJitter: 0.1,
  minPassIntervalMs: 1_000,
  stopWithinMs: 10_000,
};

/** What the loop works with. */
export interface ControllerPorts {
  readonly store: Pick<ObjectStore, "list">;
  /** One pass; see Reconciler. */
  readonly reconcile: (key: Key, mayWrite: () => boolean) => Promise<PassResult>;
  /** These are all objects, at this moment of leading. */
  readonly listed: (keys: readonly Key[]) => void;
  /** What is remembered and told of an object is no longer looked after. */
  readonly forget: (key: Key) => void;
  /** Asked at every write. */
  readonly isLeader: () => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: EngineMetrics;
}

/** The key of the full pass in the rate limiter; no object can have it. */
const FULL_PASS = "";

/**
 * The loop: takes keys from the queue while this process leads, runs a pass for each, and decides from its result when the key
 * comes again. One queue for all terms of leadership, so that a key never has two passes, not even across a loss.
 */
export class Controller {
  readonly known: KnownKeys;
  readonly #ports: ControllerPorts;
  readonly #settings: LoopSettings;
  readonly #queue: WorkQueue;
  readonly #limiter: RateLimiter;
  readonly #lastPassMs = new Map<Key, number>();
  /** Counts terms of leadership; undefined while not leading. */
  #term: number | undefined;
  #terms = 0;
  readonly #inFlight = new Set<Key>();
  #cancelFullPass: Cancel = () => undefined;
  #progressAtMs: number;
  #stopped = false;
  #fullPassTrouble: string | null = null;

  constructor(ports: ControllerPorts, settings: Partial<LoopSettings> = {}) {
    this.#ports = ports;
    this.#settings = { ...DEFAULT_SETTINGS, ...settings };
    this.known = new KnownKeys(error => {
      ports.log.error({ error: publicMessage(error), stack: framesOf(error) }, "a listener of the namespaces failed");
    });
    this.#queue = new WorkQueue(ports.clock, () => this.#takeMore());
    this.#limiter = new RateLimiter(ports.clock);
    this.#progressAtMs = ports.clock.monotonicMs();
  }

  /** This process leads from now on: begins with a full pass. */
  startLeading(): void {
    if (this.#stopped || this.#term !== undefined) return;
    this.#term = ++this.#terms;
    this.#progressed();
    this.#scheduleFullPass(0);
  }

  /** This process leads no longer: no key is taken from now on, and passes in flight write nothing more. */
  stopLeading(): void {
    if (this.#term === undefined) return;
    this.#term = undefined;
    this.#cancelFullPass();
    this.#queue.clear();
    // Nobody would tell of objects that change or go meanwhile: their metrics would be wrong, and their namespaces watched for ever.
    for (const key of this.known.all()) if (!this.#inFlight.has(key)) this.#forget(key);
    this.known.clear();
    this.#reportDepth();
  }

  /** Ends the loop: takes no more keys, and waits for the passes in flight, up to a bound. They may write to their end. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelFullPass();
    this.#queue.clear();
    const drained = this.#queue.shutDownWithDrain();
    const { clock, log } = this.#ports;
    await withDeadline(clock, this.#settings.stopWithinMs, "passes in flight", () => drained).catch(
      (error: unknown) => {
        log.warn({ inFlight: this.#inFlight.size, error: publicMessage(error) }, "stopped with passes in flight");
      },
    );
    this.stopLeading();
  }

  /** Something about this object may have changed. Of no interest while not leading: leading begins with a list of all objects. */
  enqueue(key: Key): void {
    if (this.#term === undefined) return;
    this.known.add(key);
    this.#queue.addAfter(key, this.#tooEarlyByMs(key));
  }

  /** Something in this namespace may have changed: wakes the objects that are known there. */
  enqueueNamespace(namespace: string): void {
    for (const key of this.known.in(namespace)) this.enqueue(key);
  }

  /** Why the last full pass failed; null while all is well, or while not leading. */
  fullPassTrouble(): string | null {
    return this.#term === undefined ? null : this.#fullPassTrouble;
  }

  /** Milliseconds since a pass last got on; 0 while not leading. Well above the full pass and the deadlines of a pass, the loop is stuck. */
  sinceProgressMs(): number {
    return this.#term === undefined ? 0 : this.#ports.clock.monotonicMs() - this.#progressAtMs;
  }

  #takeMore(): void {
    while (this.#term !== undefined && !this.#stopped && this.#inFlight.size < this.#settings.workers) {
      const key = this.#queue.take();
      if (key === undefined) break;
      this.#inFlight.add(key);
      void this.#runPass(key, this.#term);
    }
    this.#reportDepth();
  }

  /** How long it is until a pass of this key may begin that nothing but an event or the full pass asks for; not above 0: now. */
  #tooEarlyByMs(key: Key): number {
    const lastMs = this.#lastPassMs.get(key);
    return lastMs === undefined ? 0 : lastMs + this.#settings.minPassIntervalMs - this.#ports.clock.monotonicMs();
  }

  async #runPass(key: Key, term: number): Promise<void> {
    const { clock, metrics, reconcile, isLeader } = this.#ports;
    const startedMs = clock.monotonicMs();
    this.#lastPassMs.set(key, startedMs);
    this.#progressed();
    let result: PassResult | undefined;
    try {
      result = await reconcile(key, () => {
        // Whoever asks is getting on, however slow its writes are.
        this.#progressed();
        return this.#term === term && isLeader();
      });
    } catch (error) {
      this.#reportPanic(key, error);
    }
    metrics.reconciled(metricOf(result), (clock.monotonicMs() - startedMs) / 1000);
    if (this.#term === term) this.#requeue(key, result);
    else this.#forget(key);
    this.#inFlight.delete(key);
    this.#queue.done(key);
    this.#progressed();
    this.#takeMore();
  }

  #requeue(key: Key, result: PassResult | undefined): void {
    // It may have been forgotten while it waited, and be there again.
    if (result?.next !== "forget") this.known.add(key);
    switch (result?.next) {
      case "forget":
        this.#forget(key);
        this.known.remove(key);
        break;
      case "recheck":
        this.#limiter.forget(key);
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

  #retry(key: Key, atLatestMs: number | undefined): void {
    this.#queue.addAfter(key, this.#limiter.when(key, atLatestMs), "due");
  }

  #forget(key: Key): void {
    this.#limiter.forget(key);
    this.#lastPassMs.delete(key);
    this.#ports.forget(key);
  }

  #reportPanic(key: Key, error: unknown): void {
    this.#ports.log.error({ key, error: publicMessage(error), stack: framesOf(error) }, "a pass failed: a bug");
  }

  #scheduleFullPass(delayMs: number): void {
    const term = this.#term;
    this.#cancelFullPass = this.#ports.clock.after(delayMs, () => void this.#fullPass(term));
  }

  /** Lists all objects and enqueues them, and those that were known and are not listed any more. Never throws. */
  async #fullPass(term: number | undefined): Promise<void> {
    const { clock, random, log, store } = this.#ports;
    const { fullPassMs, fullPassJitter } = this.#settings;
    let nextMs = fullPassMs * (1 + (2 * random() - 1) * fullPassJitter);
    const knownBefore = this.known.all();
    try {
      const keys = await withDeadline(clock, STORE_DEADLINE_MS, "listing all objects", () => store.list());
      if (this.#term !== term) return;
      this.#limiter.forget(FULL_PASS);
      this.#fullPassTrouble = null;
      this.#ports.listed(keys);
      const all = [...new Set([...keys, ...knownBefore])];
      this.known.addAll(all);
      // What is left of the one before keeps its place: where that takes longer than the time between two, the last of the list would never come.
      const enqueue = (key: Key): void => {
        if (this.#term === term) this.#queue.addAfter(key, this.#tooEarlyByMs(key), "sweep");
      };
      await inSlices(clock, each(all, enqueue));
    } catch (error) {
      if (this.#term !== term) return;
      nextMs = Math.min(nextMs, this.#limiter.when(FULL_PASS) + random() * 1_000);
      this.#fullPassTrouble = publicMessage(error);
      log.error({ error: publicMessage(error), failures: this.#limiter.failures(FULL_PASS) }, "the full pass failed");
    }
    if (this.#term !== term || this.#stopped) return;
    if (this.#inFlight.size === 0) this.#progressed();
    this.#scheduleFullPass(nextMs);
  }

  #progressed(): void {
    this.#progressAtMs = this.#ports.clock.monotonicMs();
  }

  #reportDepth(): void {
    this.#ports.metrics.queueDepth(this.#queue.length, this.#queue.delayed);
  }
}

function metricOf(result: PassResult | undefined): Parameters<EngineMetrics["reconciled"]>[0] {
  if (result === undefined) return "panic";
  if (result.next === "give-up" || (result.next === "retry" && !result.conflict)) return "error";
  return result.next === "retry" || result.next === "wait" ? "requeue" : "success";
}
