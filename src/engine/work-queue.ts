import { MAX_TIMER_MS, type Cancel, type Clock } from "../core/clock";
import { DelayHeap } from "./delay-heap";
import { RingBuffer } from "./ring-buffer";

// client-go keeps three sets: queue, dirty and processing. A key's state says the same in one map:
// waiting = in queue and dirty, processing = not dirty, processing-again = dirty while processing.
const WAITING = 0;
const PROCESSING = 1;
const PROCESSING_AGAIN = 2;

/**
 * The work queue of client-go (util/workqueue) for one thread: a key that is added many times is handed out once, never to
 * two workers at the same time, and once more if it was added while being worked on. First come, first served.
 *
 * Handing out is by pull (`take`) and not by a promise, so that whoever stops pulling has stopped: no worker is left
 * waiting with a key that arrives later.
 */
export class WorkQueue<K = string> {
  readonly #states = new Map<K, number>();
  /** Exactly the keys in state waiting. */
  readonly #waiting = new RingBuffer<K>();
  readonly #delayed = new DelayHeap<K>();
  readonly #clock: Clock;
  readonly #onWaiting: () => void;
  /** One timer for all delayed keys. */
  #timer: { readonly atMs: number; readonly cancel: Cancel } | undefined;
  #shuttingDown = false;
  readonly #drained: (() => void)[] = [];

  /** `onWaiting` is called whenever a key may have become available to `take`. */
  constructor(clock: Clock, onWaiting: () => void = () => undefined) {
    this.#clock = clock;
    this.#onWaiting = onWaiting;
  }

  /** Keys that could be taken now. */
  get length(): number {
    return this.#waiting.length;
  }

  /** Keys that wait for their moment. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /** Adds a key; nothing happens if it is waiting already, or after shutdown. */
  add(key: K): void {
    if (this.#shuttingDown) return;
    const state = this.#states.get(key);
    if (state === PROCESSING) this.#states.set(key, PROCESSING_AGAIN);
    if (state !== undefined) return;
    this.#push(key);
    this.#onWaiting();
  }

  /** Adds a key after a delay; at once if that is not above 0. Of two delays the earlier end wins; none is beyond 2^31-1 ms. */
  addAfter(key: K, delayMs: number): void {
    if (this.#shuttingDown) return;
    if (!(delayMs > 0)) {
      this.add(key);
      return;
    }
    this.#delayed.schedule(key, this.#clock.monotonicMs() + Math.min(delayMs, MAX_TIMER_MS));
    this.#arm();
  }

  /** The key that waited longest, or undefined. Whoever takes one must call `done` with it. */
  take(): K | undefined {
    const key = this.#waiting.shift();
    if (key !== undefined) this.#states.set(key, PROCESSING);
    return key;
  }

  /**
   * Begins with a key that nobody has added, past those that wait; whether it did: one that waits keeps its place, and one that is being
   * worked on comes again. Whoever begins one must call `done` with it.
   */
  begin(key: K): boolean {
    if (this.#shuttingDown) return false;
    const state = this.#states.get(key);
    if (state === PROCESSING) this.#states.set(key, PROCESSING_AGAIN);
    if (state !== undefined) return false;
    this.#states.set(key, PROCESSING);
    return true;
  }

  /** The work on a key has ended. If it was added meanwhile it waits again, behind the others. */
  done(key: K): void {
    const state = this.#states.get(key);
    if (state === PROCESSING_AGAIN) {
      this.#push(key);
      this.#onWaiting();
    } else if (state === PROCESSING) {
      this.#states.delete(key);
      this.#settleDrain();
    }
  }

  /** Forgets what waits and what is delayed. Keys that are being worked on stay so, but are not handed out again for it. */
  clear(): void {
    for (let key = this.#waiting.shift(); key !== undefined; key = this.#waiting.shift()) this.#states.delete(key);
    for (const key of this.#states.keys()) this.#states.set(key, PROCESSING);
    this.#dropDelayed();
    this.#settleDrain();
  }

  /** No key is added from now on, delayed ones are dropped; what waits can still be taken. */
  shutDown(): void {
    this.#shuttingDown = true;
    this.#dropDelayed();
  }

  /** As `shutDown`; settles when everything that waited has been taken and is done. */
  shutDownWithDrain(): Promise<void> {
    this.shutDown();
    return new Promise(resolve => {
      this.#drained.push(resolve);
      this.#settleDrain();
    });
  }

  #push(key: K): void {
    this.#states.set(key, WAITING);
    this.#waiting.push(key);
  }

  #settleDrain(): void {
    if (!this.#shuttingDown || this.#states.size > 0) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #dropDelayed(): void {
    this.#delayed.clear();
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
      this.add(key);
    }
    this.#arm();
  }
}
