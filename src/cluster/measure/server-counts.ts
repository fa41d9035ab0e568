import { FLOW_PREFIX } from "../../api/names";
import { TransientError } from "../../core/errors";
import { UNAUTHENTICATED } from "../../core/readers";
import type { Instance } from "../http/connection";
import { metricLines, type MetricSource, parseSample, type Sample } from "./metrics";

/** Counters of one API server since its start. */
export interface ServerCounts {
  /** `address:port`; empty for the kubeconfig's address. */
  readonly address: string;
  /** Start time of its process, in seconds since the epoch. It distinguishes API servers behind one address. */
  readonly startSeconds: number;
  /** When the response began, in milliseconds of the monotonic clock. */
  readonly atMs: number;
  /** Requests by name of the operator's FlowSchemas, and those that were answered 401. */
  readonly requests: ReadonlyMap<string, number>;
  /** It counts more FlowSchemas than are kept. */
  readonly isCut: boolean;
}

/** kubernetes/kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol/metrics: each request counts in exactly one of the two. */
const COUNTERS = ["apiserver_flowcontrol_dispatched_requests_total", "apiserver_flowcontrol_rejected_requests_total"];
/** kubernetes/kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/filters/metrics.go: every result but success is answered 401. */
const ATTEMPTS = "authentication_attempts";
const START = "process_start_time_seconds";
/** Most of the hundred thousand lines are of other metrics. */
const WANTED = new RegExp(`^(?:${[...COUNTERS, ATTEMPTS, START].join("|")})[ \\t{]`);

/** Far more than ControllerResiliences name; each costs memory. Counters of deleted FlowSchemas remain until the API server restarts. */
const MAX_SCHEMAS = 10_000;

/** Reads the counters of one API server. @throws an error of core, also for invalid counters */
export async function readServerCounts(source: MetricSource, instance?: Instance): Promise<ServerCounts> {
  const counts = new CountedRequests();
  let atMs: number | undefined;
  for await (const lines of metricLines(source, instance)) {
    atMs ??= source.clock.monotonicMs();
    for (const line of lines) counts.take(line);
  }
  const address = instance === undefined ? "" : `${instance.address}:${instance.port}`;
  return { address, atMs: atMs ?? source.clock.monotonicMs(), ...counts.result() };
}

/** Sums the requests of the operator's FlowSchemas over the lines of an API server's metrics. */
export class CountedRequests {
  readonly #requests = new Map<string, number>();
  #startSeconds: number | undefined;
  #isCut = false;

  /** Takes a line of any metric; skips surplus FlowSchemas. @throws TransientError for an invalid count */
  take(line: string): void {
    if (!WANTED.test(line)) return;
    const sample = parseSample(line);
    // Skipping the line would make the counter appear to fall, and then to rise by its whole value.
    if (sample === null) throw new TransientError("get /metrics: expected a sample, got another line");
    if (sample.name === START) this.#startSeconds = sample.value;
    else if (sample.name === ATTEMPTS) this.#countRefused(sample);
    else this.#count(sample.labels.get("flow_schema") ?? "", sample.value);
  }

  /** @throws TransientError without a start time, since the server is not distinguishable from another then */
  result(): Pick<ServerCounts, "startSeconds" | "requests" | "isCut"> {
    const startSeconds = this.#startSeconds;
    if (startSeconds === undefined || !Number.isFinite(startSeconds))
      throw new TransientError(`get /metrics: expected ${START}, got none`);
    return { startSeconds, requests: this.#requests, isCut: this.#isCut };
  }

  /** An invalid number is no reason to know nothing of the flows. */
  #countRefused({ labels, value }: Sample): void {
    if (labels.get("result") === "success" || !Number.isFinite(value) || value < 0) return;
    this.#requests.set(UNAUTHENTICATED, (this.#requests.get(UNAUTHENTICATED) ?? 0) + value);
  }

  #count(flowSchema: string, requests: number): void {
    if (!flowSchema.startsWith(FLOW_PREFIX)) return;
    if (!Number.isFinite(requests) || requests < 0)
      throw new TransientError("get /metrics: expected a number of requests, got another value");
    const before = this.#requests.get(flowSchema);
    if (before === undefined && this.#requests.size >= MAX_SCHEMAS) this.#isCut = true;
    else this.#requests.set(flowSchema, (before ?? 0) + requests);
  }
}
