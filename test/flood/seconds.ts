import { Latencies } from "./latencies";

/** Answers to a client within about a second. */
export interface Second {
  /** Milliseconds since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly latencies: Latencies;
}

/** Answers to a client within a span of time. */
export interface Summary {
  readonly perSecond: number;
  /** Milliseconds; NaN without answers. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Merges the seconds within a span of time. */
export function summarize(seconds: readonly Second[], fromMs: number, toMs: number): Summary {
  const within = seconds.filter(second => second.fromMs >= fromMs && second.toMs <= toMs);
  const tookMs = within.reduce((sum, second) => sum + second.toMs - second.fromMs, 0);
  const latencies = Latencies.sum(within.map(second => second.latencies));
  return {
    perSecond: tookMs === 0 ? 0 : (latencies.count / tookMs) * 1000,
    p50Ms: latencies.quantile(0.5),
    p99Ms: latencies.quantile(0.99),
  };
}
