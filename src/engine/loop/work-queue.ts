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
  readonly #delayed = new DelayHeap<K>();
  /** The lane that each delayed key is added to. */
  readonly #delayedLanes = new Map<K, Lane>();
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
    this.#delayed.schedule(key, this.#clock.monotonicMs() + Math.min(delayMs, MAX_TIMER_MS));
    this.#delayedLanes.set(key, mostUrgent(lane, this.#delayedLanes.get(key)));
    this.#arm();
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

  /** Stops accepting keys and drops delayed ones. Waiting keys can still be taken. */
  shutDown(): void {
    this.#shuttingDown = true;
    this.#dropDelayed();
  }

  /** As `shutDown`. Resolves when all waiting keys are taken and done. */
  shutDownWithDrain(): Promise<void> {
    this.shutDown();
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
    this.#delayedLanes.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    const nextAtMs = this.#delayed.nextAtMs;
    if (nextAtMs === undefined || (this.#timer && this.#timer.atMs <= nextAtMs)) return;
    this.#timer?.cancel();
    const cancel = this.#clock.after(nextAtMs - this.#clock.monotonicMs(), () => this.#addReady());
    this.#timer = { atMs: nextAtMs, cancel };
  }

  #addReady(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonicMs();
    for (let key = this.#delayed.takeReady(nowMs); key !== undefined; key = this.#delayed.takeReady(nowMs)) {
      const lane = this.#delayedLanes.get(key);
      this.#delayedLanes.delete(key);
      this.add(key, lane);
    }
    this.#arm();
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

interface Entry<K> {
  readonly key: K;
  readyAtMs: number;
  /** Order of insertion; breaks ties. */
  sequence: number;
  index: number;
}

/** A priority queue of keys by the time at which they are ready, with one entry per key (binary heap). */
export class DelayHeap<K> {
  readonly #heap: Entry<K>[] = [];
  readonly #entries = new Map<K, Entry<K>>();
  #sequence = 0;

  /** Number of keys. */
  get size(): number {
    return this.#heap.length;
  }

  /** The earliest time at which a key is ready; undefined if there is no key. */
  get nextAtMs(): number | undefined {
    return this.#heap[0]?.readyAtMs;
  }

  /** Adds a key, or moves it forward if the new time is earlier. */
  schedule(key: K, readyAtMs: number): void {
    const existing = this.#entries.get(key);
    if (existing) {
      if (existing.readyAtMs <= readyAtMs) return;
      existing.readyAtMs = readyAtMs;
      this.#moveUp(existing);
      return;
    }
    const entry = { key, readyAtMs, sequence: this.#sequence++, index: this.#heap.length };
    this.#entries.set(key, entry);
    this.#heap.push(entry);
    this.#moveUp(entry);
  }

  /** Removes and returns the first key that is ready, or undefined. */
  takeReady(nowMs: number): K | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.readyAtMs > nowMs) return undefined;
    this.#entries.delete(first.key);
    const last = this.#heap.pop();
    if (last !== undefined && last !== first) {
      this.#place(last, 0);
      this.#moveDown(last);
    }
    return first.key;
  }

  /** Removes all keys. */
  clear(): void {
    this.#heap.length = 0;
    this.#entries.clear();
  }

  #moveUp(entry: Entry<K>): void {
    for (;;) {
      const parent = this.#heap[(entry.index - 1) >> 1];
      if (entry.index === 0 || parent === undefined || !isBefore(entry, parent)) return;
      this.#swap(entry, parent);
    }
  }

  #moveDown(entry: Entry<K>): void {
    for (;;) {
      const left = this.#heap[2 * entry.index + 1];
      const right = this.#heap[2 * entry.index + 2];
      const smaller = left && right && isBefore(right, left) ? right : left;
      if (smaller === undefined || !isBefore(smaller, entry)) return;
      this.#swap(smaller, entry);
    }
  }

  #swap(a: Entry<K>, b: Entry<K>): void {
    const index = a.index;
    this.#place(a, b.index);
    this.#place(b, index);
  }

  #place(entry: Entry<K>, index: number): void {
    entry.index = index;
    this.#heap[index] = entry;
  }
}

function isBefore<K>(a: Entry<K>, b: Entry<K>): boolean {
  return a.readyAtMs === b.readyAtMs ? a.sequence < b.sequence : a.readyAtMs < b.readyAtMs;
}

/** When the keys of a work queue were added and taken, measured as client-go's workqueue does. */
export class QueueTimes<K> {
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
