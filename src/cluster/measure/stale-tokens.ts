import { metricLines, type MetricSource } from "./metric-lines";

/** kubernetes/kubernetes pkg/serviceaccount/metrics.go: tokens used after the expiration that their pod requested, within the extra year of validity. */
const METRIC = "serviceaccount_stale_tokens_total ";

/** The count is cached this long, since it changes over days. */
const REMEMBERED_MS = 600_000;

/** Reads the counter of one API server. */
export class StaleTokens {
  readonly #source: MetricSource;
  #known: { readonly count: number | null; readonly untilMs: number } | undefined;

  constructor(source: MetricSource) {
    this.#source = source;
  }

  /** Returns the count, or null if the read fails. Never throws. */
  async count(): Promise<number | null> {
    const nowMs = this.#source.clock.monotonicMs();
    if (this.#known !== undefined && nowMs < this.#known.untilMs) return this.#known.count;
    const count = await this.#read().catch(() => null);
    this.#known = { count, untilMs: nowMs + REMEMBERED_MS };
    return count;
  }

  async #read(): Promise<number | null> {
    for await (const lines of metricLines(this.#source)) {
      const found = lines.find(line => line.startsWith(METRIC));
      if (found !== undefined) return Number(found.slice(METRIC.length));
    }
    return null;
  }
}
