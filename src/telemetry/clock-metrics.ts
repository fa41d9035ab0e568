import { Gauge, type Registry } from "prom-client";

/** What responses show of the clocks of API servers. */
export class ClockMetrics {
  readonly #offset: Gauge;
  readonly #difference: Gauge;

  constructor(registry: Registry) {
    this.#offset = new Gauge({
      name: "controller_resilience_clock_offset_seconds",
      help: "Offset of the API server's clock from the local clock, according to its responses.",
      registers: [registry],
    });
    this.#difference = new Gauge({
      name: "controller_resilience_clock_difference_seconds",
      help: "How far the clocks of API servers differ; 0 up to 30 s. While they differ, nothing is restarted or renewed.",
      registers: [registry],
    });
  }

  /** Takes how far the API server's clock is ahead of the local clock. */
  clockOffset(seconds: number): void {
    this.#offset.set(seconds);
  }

  /** Takes how far the clocks of API servers differ. */
  clockDifference(seconds: number): void {
    this.#difference.set(seconds);
  }
}
