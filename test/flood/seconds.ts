import { quantile } from "../bench/scale/requests";

/** Answers to a client within about a second. */
export interface Second {
  /** Milliseconds since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Of each answer, in milliseconds. */
  readonly latenciesMs: readonly number[];
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
  const sorted = within.flatMap(({ latenciesMs }) => latenciesMs).sort((a, b) => a - b);
  return {
    perSecond: tookMs === 0 ? 0 : (sorted.length / tookMs) * 1000,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
  };
}
