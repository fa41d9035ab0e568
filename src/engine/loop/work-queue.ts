import { MAX_TIMER_MS, type Cancel, type Clock } from "../../core/clock";
import { DelayHeap } from "./delay-heap";
import { RingBuffer } from "./ring-buffer";

/**
 * Why a key waits, the most urgent first: something has happened (`event`), its time has come (`due`), or it is one of all (`sweep`).
 * Lanes take turns, so that however many keys wait in one of them, none in another waits for those.
 */
export type Lane = (typeof LANES)[number];

const LANES = ["event", "due", "sweep"] as const;

// client-go keeps three sets: queue, dirty and processing. A key's state says the same in one map: that it waits, as the number of
// its lane (in queue and dirty); PROCESSING (not dirty); or AGAIN + the number of its lane (dirty while processing).
const PROCESSING = LANES.length;
const AGAIN = PROCESSING + 1;

/**
 * The work queue of client-go (util/workqueue) for one thread: a key that is added many times is handed out once, never to
 * two workers at the same time, and once more if it was added while being worked on. In each lane first come, first served; a key
 * that is added for a more urgent reason than the one it waits for waits for that from then on.
 *
 * Handing out is by pull (`take`) and not by a promise, so that whoever stops pulling has stopped: no worker is left
 * waiting with a key that arrives later.
 */
export class WorkQueue<K = string> {
  readonly #states = new Map<K, number>();
  /** By lane; a key that has left for a more urgent one still stands in the one it left, and is passed over unless it is back by then. */
  readonly #lanes = LANES.map(() => new RingBuffer<K>());
  /** The keys that stand in each lane, so that none does twice. */
  readonly #standing = LANES.map(() => new Set<K>());
  /** The lane whose turn it is. */
  #turn = 0;
  #length = 0;
  readonly #delayed = new DelayHeap<K>();
  /** The most urgent reason why each delayed key was added. */
  readonly #delayedLanes = new Map<K, number>();
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
    return this.#length;
  }

  /** Keys that wait for their moment. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /** Adds a key; nothing happens if it is waiting already for as urgent a reason, or after shutdown. */
  add(key: K, lane: Lane = "event"): void {
    this.#add(key, LANES.indexOf(lane));
  }

  /** Adds a key after a delay; at once if that is not above 0. Of two delays the earlier end wins; none is beyond 2^31-1 ms. */
  addAfter(key: K, delayMs: number, lane: Lane = "event"): void {
    if (this.#shuttingDown) return;
    if (!(delayMs > 0)) {
      this.add(key, lane);
      return;
    }
    this.#delayed.schedule(key, this.#clock.monotonicMs() + Math.min(delayMs, MAX_TIMER_MS));
    this.#delayedLanes.set(key, Math.min(LANES.indexOf(lane), this.#delayedLanes.get(key) ?? LANES.length));
    this.#arm();
  }

  /** The key that waited longest in the lane whose turn it is, or undefined. Whoever takes one must call `done` with it. */
  take(): K | undefined {
    for (let i = 0; i < LANES.length; i++) {
      const lane = this.#turn;
      this.#turn = (lane + 1) % LANES.length;
      const key = this.#shift(lane);
      if (key === undefined) continue;
      this.#states.set(key, PROCESSING);
      this.#length--;
      return key;
    }
    return undefined;
  }

  /** The work on a key has ended. If it was added meanwhile it waits again, behind the others. */
  done(key: K): void {
    const state = this.#states.get(key);
    if (state === undefined) return;
    if (state >= AGAIN) {
      this.#push(key, state - AGAIN);
      this.#length++;
      this.#onWaiting();
    } else if (state === PROCESSING) {
      this.#states.delete(key);
      this.#settleDrain();
    }
  }

  /** Forgets what waits and what is delayed. Keys that are being worked on stay so, but are not handed out again for it. */
  clear(): void {
    for (let key = this.take(); key !== undefined; key = this.take()) this.#states.delete(key);
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

  #add(key: K, lane: number): void {
    if (this.#shuttingDown) return;
    const state = this.#states.get(key);
    if (state === undefined) {
      this.#push(key, lane);
      this.#length++;
      this.#onWaiting();
    } else if (state >= PROCESSING) {
      this.#states.set(key, state === PROCESSING ? AGAIN + lane : Math.min(state, AGAIN + lane));
    } else if (lane < state) {
      this.#push(key, lane);
    }
  }

  #push(key: K, lane: number): void {
    this.#states.set(key, lane);
    if (this.#standing[lane]?.has(key)) return;
    this.#standing[lane]?.add(key);
    this.#lanes[lane]?.push(key);
  }

  #shift(lane: number): K | undefined {
    const waiting = this.#lanes[lane];
    for (let key = waiting?.shift(); key !== undefined; key = waiting?.shift()) {
      this.#standing[lane]?.delete(key);
      if (this.#states.get(key) === lane) return key;
    }
    return undefined;
  }

  #settleDrain(): void {
    if (!this.#shuttingDown || this.#states.size > 0) return;
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
      this.#add(key, lane ?? 0);
    }
    this.#arm();
  }
}
