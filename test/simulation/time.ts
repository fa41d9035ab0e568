import { MAX_TIMER_MS, type Cancel, type Clock } from "../../src/core/time";

/** A timer of the heap. Timers of the same moment fire in the order in which they were set. */
interface Timer {
  readonly dueMs: number;
  readonly order: number;
  callback: (() => void) | undefined;
}

/** When every simulation begins: the truth of all clocks, in milliseconds since 1970. */
export const START_MS = Date.UTC(2026, 0, 5, 8);

/** Above this number of timers at one moment, something arms a timer without delay for ever. */
const MAX_AT_ONE_MOMENT = 1_000_000;

const TIMERS_PER_TURN = 32;

/** The time of a simulated world. It stands still while code runs, and jumps from timer to timer. */
export class VirtualClock implements Clock {
  readonly #heap: Timer[] = [];
  /** Milliseconds since the start of the world. */
  #nowMs = 0;
  #order = 0;
  #atMoment = 0;

  now(): Date {
    return new Date(START_MS + this.#nowMs);
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): Cancel {
    const timer: Timer = { dueMs: this.#nowMs + clamp(delayMs), order: this.#order++, callback };
    this.#push(timer);
    return () => (timer.callback = undefined);
  }

  /** Calls now, and then again and again. */
  every(ms: number, look: () => void): void {
    look();
    this.after(ms, () => this.every(ms, look));
  }

  /** Fires all timers until `untilMs`, each at its moment. Promises settle before and after each. */
  run(untilMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      let left = 0;
      // Node settles all promises between two immediates. Several at once share a turn of the event loop, which costs more than they do.
      const plan = (): void => {
        left = TIMERS_PER_TURN;
        for (let at = 0; at < TIMERS_PER_TURN; at++) setImmediate(turn);
      };
      const turn = (): void => {
        if (isOver) return;
        try {
          isOver = !this.#fireNext(untilMs);
          if (isOver) resolve();
          else if (--left === 0) plan();
        } catch (error) {
          isOver = true;
          reject(error as Error);
        }
      };
      plan();
    });
  }

  /** Fires the next timer until `untilMs`. @returns false if there is none */
  #fireNext(untilMs: number): boolean {
    for (let timer = this.#heap[0]; timer !== undefined && timer.dueMs <= untilMs; timer = this.#heap[0]) {
      this.#pop();
      if (timer.callback === undefined) continue;
      this.#atMoment = timer.dueMs > this.#nowMs ? 0 : this.#atMoment + 1;
      if (this.#atMoment > MAX_AT_ONE_MOMENT) throw new Error("a timer is armed without delay for ever");
      this.#nowMs = Math.max(this.#nowMs, timer.dueMs);
      timer.callback();
      return true;
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
    return false;
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let at = heap.push(timer) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(timer, heap[above]!)) break;
      heap[at] = heap[above]!;
      at = above;
    }
    heap[at] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++;
      if (!isBefore(heap[below]!, last)) break;
      heap[at] = heap[below]!;
      at = below;
    }
    heap[at] = last;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}

/** A delay that is lost in the rounding of the sum would come due at the same moment for ever. */
const LEAST_MS = 0.001;

function clamp(delayMs: number): number {
  return delayMs > 0 ? Math.min(MAX_TIMER_MS, Math.max(LEAST_MS, delayMs)) : 0;
}

/**
 * The clock of one process on one machine: its wall clock is off, and the process can freeze (SIGSTOP), thaw and die. A frozen process fires its due
 * timers when it thaws, a dead one none ever again.
 */
export class ProcessClock implements Clock {
  #offsetMs: number;
  #isDead = false;
  #frozen: (() => void)[] | undefined;

  constructor(
    private readonly world: Clock,
    { offsetMs = 0 }: { readonly offsetMs?: number } = {},
  ) {
    this.#offsetMs = offsetMs;
  }

  now(): Date {
    return new Date(this.world.now().getTime() + this.#offsetMs);
  }

  monotonicMs(): number {
    // Not 0, to detect code that treats 0 as "never".
    return this.world.monotonicMs() + 5_000;
  }

  after(delayMs: number, callback: () => void): Cancel {
    let isCanceled = false;
    const fire = (): void => {
      if (isCanceled || this.#isDead) return;
      if (this.#frozen === undefined) callback();
      else this.#frozen.push(fire);
    };
    const cancel = this.world.after(delayMs, fire);
    return () => {
      isCanceled = true;
      cancel();
    };
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  get isFrozen(): boolean {
    return this.#frozen !== undefined;
  }

  /** Changes the wall clock only, as NTP does. */
  jumpWall(ms: number): void {
    this.#offsetMs += ms;
  }

  freeze(): void {
    this.#frozen ??= [];
  }

  /** Calls back now, or when a frozen process thaws: it hears nothing meanwhile. */
  whenAwake(callback: () => void): void {
    if (this.#frozen === undefined) callback();
    else this.#frozen.push(callback);
  }

  thaw(): void {
    const due = this.#frozen ?? [];
    this.#frozen = undefined;
    due.forEach((fire, at) => this.world.after(at === 0 ? 0 : 1, fire));
  }

  kill(): void {
    this.#isDead = true;
    this.#frozen = undefined;
  }
}

/** The luck of a world: the same seed gives the same sequence. */
export class Dice {
  #state: number;

  constructor(private readonly seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1): mulberry32, public domain. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to `below` - 1. */
  int(below: number): number {
    return Math.floor(this.next() * below);
  }

  /** A number from `low` to `high`. */
  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  /** One of a list, which must not be empty. */
  pick<T>(list: readonly T[]): T {
    return list[this.int(list.length)]!;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** The luck of one part of the world, by its name: a part that is left out does not change the luck of the others. */
  fork(name: string): Dice {
    let hash = this.seed ^ 0x811c9dc5;
    for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
    return new Dice(hash);
  }
}
