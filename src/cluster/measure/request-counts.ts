import { publicMessage } from "../../core/errors";
import type { RequestRates } from "../../core/request-rates";
import type { Api } from "../http/api";
import { readyInstances } from "./api-server-instances";
import type { Instance } from "../http/connection";
import type { MetricSource } from "./metric-lines";
import { RequestHistory } from "./request-history";
import { readServerCounts, type ServerCounts } from "./server-counts";

/** A reading is megabytes, and what happens within its own duration can't be told: none follows another sooner, in milliseconds. */
const MIN_AGE_MS = 1_000;

/** Instances that are asked at once; more than anybody runs. */
const MAX_INSTANCES = 32;

/** Where no instance could be reached at its own address, it is tried again after this, in milliseconds. */
const RETRY_INSTANCES_MS = 60_000;

/** What it reads with. */
export interface RequestCountsContext extends MetricSource {
  readonly api: Pick<Api, "open" | "jsonOrNull">;
}

/**
 * Measures the requests of each FlowSchema by the counters of every API server. Each is asked at its own address. Where there is but
 * one, or none can be reached there, as from beside the cluster, the one that answers at the kubeconfig's address has to do.
 */
export class RequestCounts {
  readonly #context: RequestCountsContext;
  readonly #history = new RequestHistory();
  #rates: RequestRates = { spans: {}, servers: { found: 0, read: 0 } };
  #triedMs = -Infinity;
  #instancesFromMs = -Infinity;
  #reading: Promise<RequestRates> | undefined;

  constructor(context: RequestCountsContext) {
    this.#context = context;
  }

  /** See core's Readers.requestRates. */
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
    let told: ServerCounts[] = [];
    let unknown: string | undefined;
    try {
      const instances = await readyInstances(this.#context.api);
      found = Math.max(1, instances.length);
      told = await this.#ask(instances);
      this.#history.add(told);
    } catch (error) {
      unknown = `The requests that API servers have counted can't be read: ${publicMessage(error)}.`;
    }
    this.#triedMs = clock.monotonicMs();
    this.#rates = {
      ...this.#known(),
      ...(unknown === undefined ? {} : { unknown }),
      servers: { found, read: told.length },
    };
    return this.#rates;
  }

  /** The wall clock of now serves for all that is remembered, so that no jump of it tears the spans apart. */
  #known(): Pick<RequestRates, "spans" | "readMs"> {
    const nowMs = this.#context.clock.monotonicMs();
    const offsetMs = this.#context.clock.now().getTime() - nowMs;
    const { readMs } = this.#history;
    const spans = this.#history.spans(nowMs, offsetMs);
    return readMs === undefined ? { spans } : { spans, readMs: Math.round(readMs + offsetMs) };
  }

  async #ask(instances: readonly Instance[]): Promise<ServerCounts[]> {
    const told = instances.length > 1 ? await this.#askEach(instances) : [];
    return told.length > 0 ? told : [await readServerCounts(this.#context)];
  }

  async #askEach(instances: readonly Instance[]): Promise<ServerCounts[]> {
    const { clock } = this.#context;
    if (clock.monotonicMs() < this.#instancesFromMs) return [];
    const asked = instances.slice(0, MAX_INSTANCES).map(instance => readServerCounts(this.#context, instance));
    const told = (await Promise.allSettled(asked)).flatMap(one => (one.status === "fulfilled" ? [one.value] : []));
    if (told.length === 0) this.#instancesFromMs = clock.monotonicMs() + RETRY_INSTANCES_MS;
    return told;
  }
}
