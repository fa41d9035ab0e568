import type { Cancel, Clock } from "../../core/clock";

/** Calls `onSilence` once after `limitMs` without a call of `heard`. `heard` itself sets no timer. */
export class SilenceTimer {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #onSilence: () => void;
  #heardAtMs: number;
  #cancel: Cancel;

  constructor(clock: Clock, limitMs: number, onSilence: () => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#onSilence = onSilence;
    this.#heardAtMs = clock.monotonicMs();
    this.#cancel = clock.after(limitMs, () => this.#check());
  }

  heard(): void {
    this.#heardAtMs = this.#clock.monotonicMs();
  }

  stop(): void {
    this.#cancel();
  }

  #check(): void {
    const leftMs = this.#limitMs - (this.#clock.monotonicMs() - this.#heardAtMs);
    if (leftMs <= 0) this.#onSilence();
    else this.#cancel = this.#clock.after(leftMs, () => this.#check());
  }
}
