import { publicMessage } from "../../core/errors";
import type { RequestRates } from "../../core/readers";
import type { Api } from "../http/api";
import { EachInstance, readyInstances } from "./instances";
import type { Instance } from "../http/connection";
import type { MetricSource } from "./metrics";
import { RequestHistory } from "./request-history";
import { ServerChanges } from "./server-changes";
import { readServerCounts, type ServerCounts } from "./server-counts";

/** Least time between two readings in milliseconds: a reading has megabytes, and rates within its own duration are unknown. */
const MIN_AGE_MS = 1_000;

/** Most instances that are read concurrently, more than any cluster runs. */
const MAX_INSTANCES = 32;

export interface RequestCountsContext extends MetricSource {
  readonly api: Pick<Api, "open" | "jsonOrNull">;
  /** How long a high rate proves nothing after a change of the API servers, in milliseconds. */
  readonly settleMs?: number | undefined;
}

/**
 * Measures the requests per FlowSchema from the counters of every API server, each read at its own address. If there is only one, or none
 * is reachable there, such as from outside the cluster, it reads the one at the kubeconfig's address.
 */
export class RequestCounts {
  readonly #context: RequestCountsContext;
  readonly #history = new RequestHistory();
  readonly #changes: ServerChanges;
  readonly #each: EachInstance;
  #rates: RequestRates = { spans: {}, servers: { found: 0, read: 0 } };
  #triedMs = -Infinity;
  #reading: Promise<RequestRates> | undefined;

  constructor(context: RequestCountsContext) {
    this.#context = context;
    this.#each = new EachInstance(context.clock);
    this.#changes = new ServerChanges(context.settleMs);
  }

  rates(maxAgeMs: number): Promise<RequestRates> {
    if (this.#reading !== undefined) return this.#reading;
    const ageMs = this.#context.clock.monotonicMs() - this.#triedMs;
    if (ageMs < Math.max(maxAgeMs, MIN_AGE_MS)) return Promise.resolve(this.#rates);
    this.#reading = this.#read().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #read(): Promise<RequestRates> {
    const { clock } = this.#context;
    let found = 0;
    let counts: ServerCounts[] = [];
    let unknown: string | undefined;
    try {
      const instances = await readyInstances(this.#context.api);
      found = Math.max(1, instances.length);
      counts = await this.#ask(instances);
      this.#history.add(counts);
      this.#noteChanges(counts, instances);
    } catch (error) {
      unknown = `Failed to read the request counters of the API servers: ${publicMessage(error)}.`;
    }
    this.#triedMs = clock.monotonicMs();
    this.#rates = {
      ...this.#known(),
      ...(unknown === undefined ? {} : { unknown }),
      ...(counts.some(({ isCut }) => isCut) ? { isCut: true } : {}),
      servers: {
        found: Math.max(found, unknown === undefined ? this.#behindOneAddress(counts) : 0),
        read: counts.length,
      },
    };
    return this.#rates;
  }

  /** All spans use the current offset of the wall clock, so that a clock jump does not separate them. */
  #known(): Pick<RequestRates, "spans" | "readMs" | "settlingUntilMs"> {
    const nowMs = this.#context.clock.monotonicMs();
    const offsetMs = this.#context.clock.now().getTime() - nowMs;
    const { readMs } = this.#history;
    const spans = this.#history.spans(nowMs, offsetMs);
    const { untilMs } = this.#changes;
    return {
      spans,
      ...(readMs === undefined ? {} : { readMs: Math.round(readMs + offsetMs) }),
      ...(untilMs === undefined || untilMs <= nowMs ? {} : { settlingUntilMs: Math.round(untilMs + offsetMs) }),
    };
  }

  /** Several API servers may answer at the kubeconfig's address, one at a time. */
  #behindOneAddress(counts: readonly ServerCounts[]): number {
    const { clock } = this.#context;
    const offsetMs = clock.now().getTime() - clock.monotonicMs();
    return counts.some(({ address }) => address === "") ? this.#history.serversAt("", offsetMs) : 0;
  }

  #noteChanges(counts: readonly ServerCounts[], instances: readonly Instance[]): void {
    const { clock } = this.#context;
    const addresses = instances.map(({ address }) => address);
    this.#changes.note({ counts, addresses, nowMs: clock.monotonicMs(), epochMs: clock.now().getTime() });
  }

  async #ask(instances: readonly Instance[]): Promise<ServerCounts[]> {
    const context = this.#context;
    const counts = await this.#each.ask(instances.slice(0, MAX_INSTANCES), each => readServerCounts(context, each));
    return counts.length > 0 ? counts : [await readServerCounts(context)];
  }
}
