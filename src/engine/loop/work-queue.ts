import { MAX_TIMER_MS, type Cancel, type Clock } from "../../core/time";
import type { QueueMetrics } from "../../core/ports";

const LANES = ["event", "due", "sweep"] as const;

/**
 * Why a key waits, the most urgent reason first: an event (`event`), its requeue time has come (`due`), or the full pass (`sweep`).
 * The queue serves the lanes round robin, so a long lane does not delay the keys of another.
 */
export type Lane = (typeof LANES)[number];

const NEXT: Readonly<Record<Lane, Lane>> = { event: "due", due: "sweep", sweep: "event" };

/**
 * The work queue of client-go (util/workqueue) for one thread. A key that is added many times is handed out once, never to two
 * workers at the same time, and once more if it was added while a worker held it. Each lane is first in, first out; a key moves
 * to the most urgent lane it was added for.
 *
 * Workers poll with `take` instead of awaiting a promise, so a worker that stops polling never receives another key.
 */
export class WorkQueue<K = string> {
  /** Waiting keys; each is in one lane. */
  readonly #lanes = { event: new FifoSet<K>(), due: new FifoSet<K>(), sweep: new FifoSet<K>() };
  /** The lane that `take` serves next. */
  #next: Lane = "event";
  /** Keys that a worker holds, each with the lane it was added to meanwhile. */
  readonly #processing = new Map<K, Lane | undefined>();
  /** Keys that are added later, in the order of their insertion. */
  readonly #delayed = new Map<K, { readonly readyAtMs: number; readonly lane: Lane }>();
  readonly #clock: Clock;
  readonly #onWaiting: () => void;
  readonly #times: QueueTimes<K>;
  /** One timer for all delayed keys. */
  #timer: { readonly atMs: number; readonly cancel: Cancel } | undefined;
  #shuttingDown = false;
  readonly #drained: (() => void)[] = [];

  /** `onWaiting` is called whenever a key becomes available to `take`. */
  constructor(clock: Clock, onWaiting: () => void = () => undefined, metrics?: QueueMetrics) {
    this.#clock = clock;
    this.#onWaiting = onWaiting;
    this.#times = new QueueTimes(clock, metrics);
    metrics?.ofQueue(() => ({ depth: this.length, workingSeconds: this.#times.working() }));
  }

  /** Number of keys that `take` can return now. */
  get length(): number {
    return LANES.reduce((sum, lane) => sum + this.#lanes[lane].size, 0);
  }

  /** Number of keys added by `addAfter` whose delay has not passed. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /** Adds a key. Does nothing if the key waits in the same or a more urgent lane, or after shutdown. */
  add(key: K, lane: Lane = "event"): void {
    if (this.#shuttingDown) return;
    if (this.#processing.has(key)) {
      this.#times.added(key);
      this.#processing.set(key, mostUrgent(lane, this.#processing.get(key)));
      return;
    }
    const current = LANES.find(name => this.#lanes[name].has(key));
    if (current === mostUrgent(lane, current)) return;
    if (current !== undefined) this.#lanes[current].delete(key);
    this.#lanes[lane].add(key);
    if (current !== undefined) return;
    this.#times.added(key);
    this.#onWaiting();
  }

  /** Adds a key after a delay, or immediately if the delay is not positive. The earlier of two delays wins; the maximum is 2^31-1 ms. */
  addAfter(key: K, delayMs: number, lane: Lane = "event"): void {
    if (this.#shuttingDown) return;
    if (!(delayMs > 0)) {
      this.add(key, lane);
      return;
    }
    const before = this.#delayed.get(key);
    const askedMs = this.#clock.monotonicMs() + Math.min(delayMs, MAX_TIMER_MS);
    const readyAtMs = Math.min(askedMs, before?.readyAtMs ?? Infinity);
    this.#delayed.set(key, { readyAtMs, lane: mostUrgent(lane, before?.lane) });
    this.#wakeAt(readyAtMs);
  }

  /** Returns the oldest key of the next lane that has one, or undefined. The caller must call `done` with the key. */
  take(): K | undefined {
    for (let i = 0; i < LANES.length; i++) {
      const key = this.#lanes[this.#next].shift();
      this.#next = NEXT[this.#next];
      if (key === undefined) continue;
      this.#processing.set(key, undefined);
      this.#times.taken(key);
      return key;
    }
    return undefined;
  }

  /** Ends the work on a key. If the key was added meanwhile, it waits again at the end of its lane. */
  done(key: K): void {
    const lane = this.#processing.get(key);
    if (!this.#processing.delete(key)) return;
    this.#times.done(key);
    if (lane === undefined) {
      this.#settleDrain();
      return;
    }
    this.#lanes[lane].add(key);
    this.#onWaiting();
  }

  /** Removes all waiting and delayed keys. Keys that a worker holds are not handed out again. */
  clear(): void {
    for (const lane of LANES) this.#lanes[lane].clear();
    for (const key of this.#processing.keys()) this.#processing.set(key, undefined);
    this.#times.cleared();
    this.#dropDelayed();
    this.#settleDrain();
  }

  /** Stops accepting keys and drops delayed ones. Waiting keys can still be taken. Resolves when all of them are taken and done. */
  shutDownWithDrain(): Promise<void> {
    this.#shuttingDown = true;
    this.#dropDelayed();
    return new Promise(resolve => {
      this.#drained.push(resolve);
      this.#settleDrain();
    });
  }

  #settleDrain(): void {
    if (!this.#shuttingDown || this.#processing.size > 0 || this.length > 0) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #dropDelayed(): void {
    this.#delayed.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #wakeAt(atMs: number): void {
    if (this.#timer && this.#timer.atMs <= atMs) return;
    this.#timer?.cancel();
    const cancel = this.#clock.after(atMs - this.#clock.monotonicMs(), () => this.#addReady());
    this.#timer = { atMs, cancel };
  }

  /** Adds the keys whose time has come, the earliest first, and those of the same moment in the order of their insertion. */
  #addReady(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonicMs();
    const ready: { readonly key: K; readonly readyAtMs: number; readonly lane: Lane }[] = [];
    let nextAtMs = Infinity;
    for (const [key, entry] of this.#delayed) {
      if (entry.readyAtMs > nowMs) nextAtMs = Math.min(nextAtMs, entry.readyAtMs);
      else {
        ready.push({ key, ...entry });
        this.#delayed.delete(key);
      }
    }
    if (nextAtMs < Infinity) this.#wakeAt(nextAtMs);
    for (const { key, lane } of ready.sort((a, b) => a.readyAtMs - b.readyAtMs)) this.add(key, lane);
  }
}

/** The more urgent of two lanes. */
function mostUrgent(lane: Lane, other: Lane | undefined): Lane {
  return LANES.find(name => name === lane || name === other) ?? lane;
}

/** A first-in, first-out queue of distinct keys. */
class FifoSet<K> {
  readonly #keys = new Set<K>();
  // A Set scans past its deleted entries whenever an iteration starts. One iterator for all keys does so once, and it never
  // ends: it is asked only while there are keys, and all keys that it has passed are deleted.
  readonly #iterator = this.#keys.values();

  get size(): number {
    return this.#keys.size;
  }

  has(key: K): boolean {
    return this.#keys.has(key);
  }

  add(key: K): void {
    this.#keys.add(key);
  }

  delete(key: K): void {
    this.#keys.delete(key);
  }

  clear(): void {
    this.#keys.clear();
  }

  /** Removes and returns the oldest key, or undefined if there is none. */
  shift(): K | undefined {
    if (this.#keys.size === 0) return undefined;
    const key = this.#iterator.next().value;
    if (key !== undefined) this.#keys.delete(key);
    return key;
  }
}

/** When the keys of a work queue were added and taken, measured as client-go's workqueue does. */
class QueueTimes<K> {
  readonly #clock: Clock;
  readonly #metrics: QueueMetrics | undefined;
  /** Monotonic time at which each waiting key was first added. */
  readonly #addedMs = new Map<K, number>();
  /** Monotonic time at which a worker took each key in work. */
  readonly #takenMs = new Map<K, number>();

  constructor(clock: Clock, metrics: QueueMetrics | undefined) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  added(key: K): void {
    if (this.#addedMs.has(key)) return;
    this.#addedMs.set(key, this.#clock.monotonicMs());
    this.#metrics?.added();
  }

  taken(key: K): void {
    const nowMs = this.#clock.monotonicMs();
    this.#takenMs.set(key, nowMs);
    this.#metrics?.taken((nowMs - (this.#addedMs.get(key) ?? nowMs)) / 1000);
    this.#addedMs.delete(key);
  }

  done(key: K): void {
    const nowMs = this.#clock.monotonicMs();
    this.#metrics?.done((nowMs - (this.#takenMs.get(key) ?? nowMs)) / 1000);
    this.#takenMs.delete(key);
  }

  /** All waiting keys were dropped. */
  cleared(): void {
    this.#addedMs.clear();
  }

  /** Returns how many seconds each key in work has been worked on. */
  working(): number[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#takenMs.values()].map(takenMs => (nowMs - takenMs) / 1000);
  }
}
