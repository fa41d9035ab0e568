import type { Clock } from "../core/clock";
import type { Api } from "./api";
import { LineSplitter } from "./line-splitter";

/** kubernetes/kubernetes pkg/serviceaccount/metrics.go: tokens shown past the life that their pod asked for, within the year of grace. */
const METRIC = "serviceaccount_stale_tokens_total ";

/** It warns of a change that is made once; what it counts grows over days. */
const REMEMBERED_MS = 600_000;

/** The API server's own metrics are a few megabytes. */
const DEADLINE_MS = 15_000;
const MAX_LINE_BYTES = 64 * 1024;

/** Reads one counter of the API server that answers, line by line, without holding the rest. */
export class StaleTokens {
  readonly #api: Pick<Api, "open">;
  readonly #clock: Clock;
  #known: { readonly count: number | null; readonly untilMs: number } | undefined;

  constructor(api: Pick<Api, "open">, clock: Clock) {
    this.#api = api;
    this.#clock = clock;
  }

  /** The count; null where it can't be read. Never throws: it is a warning, not a condition. */
  async count(): Promise<number | null> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#known !== undefined && nowMs < this.#known.untilMs) return this.#known.count;
    const count = await this.#read().catch(() => null);
    this.#known = { count, untilMs: nowMs + REMEMBERED_MS };
    return count;
  }

  async #read(): Promise<number | null> {
    const end = new AbortController();
    const cancel = this.#clock.after(DEADLINE_MS, () =>
      end.abort(new Error("the metrics of the API server took too long")),
    );
    try {
      const body = await this.#api.open({ what: "get /metrics", path: "/metrics", accept: "text/plain" }, end.signal);
      const lines = new LineSplitter(MAX_LINE_BYTES);
      for await (const chunk of body as AsyncIterable<Buffer>) {
        const found = lines.push(chunk).find(line => line.startsWith(METRIC));
        if (found !== undefined) return Number(found.slice(METRIC.length));
      }
      return null;
    } finally {
      cancel();
      // What is not read any more must not go on streaming.
      end.abort(new Error("done"));
    }
  }
}
