import { MAX_TIMER_MS, type Cancel, type Clock } from "../../core/time";
import type { LoopMetrics } from "../../core/metrics";

/** What a queue measures. */
type QueueMetrics = Pick<LoopMetrics, "added" | "taken" | "done" | "ofQueue">;

const LANES = ["event", "due", "sweep"] as const;

/**
 * Why a key waits, the most urgent reason first: an event (`event`), its requeue time has come (`due`), or the full pass (`sweep`).
 * The queue serves the lanes round robin, so a long lane does not delay the keys of another.
 */
export type Lane = (typeof LANES)[number];

const NEXT: Readonly<Record<Lane, Lane>> = { event: "due", due: "sweep", sweep: "event" };

/** A key that waits. */
interface Waiting {
  readonly lane: Lane;
  /** Monotonic time at which it was first added. */
  readonly addedMs: number;
}

/** A key that a worker holds. */
interface InWork {
  readonly takenMs: number;
  /** It was added meanwhile. */
  again: Waiting | undefined;
}

/**
 * The work queue of client-go (util/workqueue) for one thread. A key that is added many times is handed out once, never to two
 * workers at the same time, and once more if it was added while a worker held it. Each lane is first in, first out; a key moves
 * to the most urgent lane it was added for.
 *
 * Workers poll with `take` instead of awaiting a promise, so a worker that stops polling never receives another key.
 */
export class WorkQueue {
  readonly #waiting = new Map<string, Waiting>();
  /** Waiting keys in their order. */
  readonly #lanes: Readonly<Record<Lane, Set<string>>> = { event: new Set(), due: new Set(), sweep: new Set() };
  /** Each goes on where it stopped: to begin anew would pass all keys that were taken from a long lane. */
  readonly #heads: Partial<Record<Lane, Iterator<string, undefined>>> = {};
  /** The lane that `take` serves next. */
  #next: Lane = "event";
  readonly #inWork = new Map<string, InWork>();
  /** Keys that are added later, in the order of their insertion. */
  readonly #delayed = new Map<string, { readonly readyAtMs: number; readonly lane: Lane }>();
  readonly #clock: Clock;
  readonly #onWaiting: () => void;
  readonly #metrics: QueueMetrics | undefined;
  /** One timer for all delayed keys. */
  #timer: { readonly atMs: number; readonly cancel: Cancel } | undefined;
  /** Called when no worker holds a key; present once the queue is closed. */
  #onIdle: (() => void) | undefined;

  /** `onWaiting` is called whenever a key becomes available to `take`. */
  constructor(clock: Clock, onWaiting: () => void = () => undefined, metrics?: QueueMetrics) {
    this.#clock = clock;
    this.#onWaiting = onWaiting;
    this.#metrics = metrics;
    metrics?.ofQueue(() => ({ depth: this.length, workingSeconds: this.#workingSeconds() }));
  }

  /** Number of keys that `take` can return now. */
  get length(): number {
    return this.#waiting.size;
  }

  /** Number of keys that workers hold. */
  get inWork(): number {
    return this.#inWork.size;
  }

  /** Reports whether a worker holds this key. */
  isInWork(key: string): boolean {
    return this.#inWork.has(key);
  }

  /** Adds a key. Does nothing if the key waits in the same or a more urgent lane, or once the queue is closed. */
  add(key: string, lane: Lane = "event"): void {
    if (this.#onIdle !== undefined) return;
    const work = this.#inWork.get(key);
    const before = work === undefined ? this.#waiting.get(key) : work.again;
    const waiting = before === undefined ? this.#added(lane) : { ...before, lane: mostUrgent(lane, before.lane) };
    if (before?.lane === waiting.lane) return;
    if (work !== undefined) work.again = waiting;
    else {
      if (before !== undefined) this.#lanes[before.lane].delete(key);
      this.#enqueue(key, waiting);
    }
  }

  #added(lane: Lane): Waiting {
    this.#metrics?.added();
    return { lane, addedMs: this.#clock.monotonicMs() };
  }

  #enqueue(key: string, waiting: Waiting): void {
    this.#waiting.set(key, waiting);
    this.#lanes[waiting.lane].add(key);
    this.#onWaiting();
  }

  /** Adds a key after a delay, or immediately if the delay is not positive. The earlier of two delays wins; the maximum is 2^31-1 ms. */
  addAfter(key: string, delayMs: number, lane: Lane = "event"): void {
    if (this.#onIdle !== undefined) return;
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
  take(): string | undefined {
    for (let i = 0; i < LANES.length; i++) {
      const key = this.#shift(this.#next);
      this.#next = NEXT[this.#next];
      if (key !== undefined) return key;
    }
    return undefined;
  }

  #shift(lane: Lane): string | undefined {
    const keys = this.#lanes[lane];
    const key = this.#heads[lane]?.next().value ?? (this.#heads[lane] = keys.values()).next().value;
    const waiting = key === undefined ? undefined : this.#waiting.get(key);
    if (key === undefined || waiting === undefined) return undefined;
    const takenMs = this.#clock.monotonicMs();
    keys.delete(key);
    this.#waiting.delete(key);
    this.#inWork.set(key, { takenMs, again: undefined });
    this.#metrics?.taken((takenMs - waiting.addedMs) / 1000);
    return key;
  }

  /** Ends the work on a key. If the key was added meanwhile, it waits again at the end of its lane. */
  done(key: string): void {
    const work = this.#inWork.get(key);
    if (work === undefined) return;
    this.#inWork.delete(key);
    this.#metrics?.done((this.#clock.monotonicMs() - work.takenMs) / 1000);
    if (work.again !== undefined) this.#enqueue(key, work.again);
    else if (this.inWork === 0) this.#onIdle?.();
  }

  /** Removes all waiting and delayed keys. Keys that a worker holds are not handed out again. */
  clear(): void {
    this.#waiting.clear();
    for (const lane of LANES) this.#lanes[lane].clear();
    for (const work of this.#inWork.values()) work.again = undefined;
    this.#delayed.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Removes all keys, and takes no more. Resolves when no worker holds one. */
  close(): Promise<void> {
    this.clear();
    const before = this.#onIdle;
    return new Promise(resolve => {
      this.#onIdle = () => {
        before?.();
        resolve();
      };
      if (this.inWork === 0) resolve();
    });
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
    const ready: { readonly key: string; readonly readyAtMs: number; readonly lane: Lane }[] = [];
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

  /** Returns how many seconds each key in work has been worked on. */
  #workingSeconds(): number[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#inWork.values()].map(({ takenMs }) => (nowMs - takenMs) / 1000);
  }
}

/** The more urgent of two lanes. */
function mostUrgent(lane: Lane, other: Lane | undefined): Lane {
  return LANES.find(name => name === lane || name === other) ?? lane;
}
