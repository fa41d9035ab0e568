import type { Clock } from "../../core/clock";
import type { QueueMetrics } from "../../core/ports";

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
