import { metricLines, type MetricSource } from "./metric-lines";

/** kubernetes/kubernetes pkg/serviceaccount/metrics.go: tokens shown past the life that their pod asked for, within the year of grace. */
const METRIC = "serviceaccount_stale_tokens_total ";

/** It warns of a change that is made once; what it counts grows over days. */
const REMEMBERED_MS = 600_000;

/** Reads one counter of the API server that answers. */
export class StaleTokens {
  readonly #source: MetricSource;
  #known: { readonly count: number | null; readonly untilMs: number } | undefined;

  constructor(source: MetricSource) {
    this.#source = source;
  }

  /** The count; null where it can't be read. Never throws: it is a warning, not a condition. */
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
