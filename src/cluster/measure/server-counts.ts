import { FLOW_PREFIX } from "../../api/names";
import { TerminalError, TransientError } from "../../core/errors";
import type { Instance } from "../http/connection";
import { metricLines, type MetricSource } from "./metric-lines";
import { parseSample } from "./metric-sample";

/** What one API server has counted since it was started. */
export interface ServerCounts {
  /** `address:port`; empty for whichever answers at the kubeconfig's address. */
  readonly address: string;
  /** When its process was started, in seconds since the epoch by its own clock. Behind one address it tells servers apart. */
  readonly startSeconds: number;
  /** When it answered, in milliseconds of the monotonic clock; it counted up to a moment just before. */
  readonly atMs: number;
  /** Requests by FlowSchema of the operator. */
  readonly requests: ReadonlyMap<string, number>;
}

/** kubernetes/kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol/metrics: each request is counted in one of the two, once. */
const COUNTERS = ["apiserver_flowcontrol_dispatched_requests_total", "apiserver_flowcontrol_rejected_requests_total"];
const START = "process_start_time_seconds";
/** Most lines are of other metrics, and there are a hundred thousand. */
const WANTED = new RegExp(`^(?:${[...COUNTERS, START].join("|")})[ \\t{]`);

/** Far more than objects could name; each costs memory at every reading. */
const MAX_SCHEMAS = 10_000;

/** Reads the counts of one API server. @throws an error of core, also for counts that make no sense */
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

/** Adds up what the lines of an API server's metrics say of the operator's FlowSchemas. */
export class CountedRequests {
  readonly #requests = new Map<string, number>();
  #startSeconds: number | undefined;

  /** Takes a line of any metric. @throws TransientError for a count that is none, TerminalError for too many schemas */
  take(line: string): void {
    if (!WANTED.test(line)) return;
    const sample = parseSample(line);
    // A count that is left out would seem to fall, and then to rise by all that it ever was.
    if (sample === null) throw new TransientError("get /metrics: a line of the answer is no sample");
    if (sample.name === START) this.#startSeconds = sample.value;
    else this.#count(sample.labels.get("flow_schema") ?? "", sample.value);
  }

  /** What was taken. @throws TransientError if it does not say when the server was started: then it can't be told from another */
  result(): Pick<ServerCounts, "startSeconds" | "requests"> {
    const startSeconds = this.#startSeconds;
    if (startSeconds === undefined || !Number.isFinite(startSeconds))
      throw new TransientError(`get /metrics: the answer has no ${START}`);
    return { startSeconds, requests: this.#requests };
  }

  #count(flowSchema: string, requests: number): void {
    if (!flowSchema.startsWith(FLOW_PREFIX)) return;
    if (!Number.isFinite(requests) || requests < 0)
      throw new TransientError("get /metrics: a count of requests is no number");
    this.#requests.set(flowSchema, (this.#requests.get(flowSchema) ?? 0) + requests);
    if (this.#requests.size > MAX_SCHEMAS)
      throw new TerminalError(`get /metrics: there are more than ${MAX_SCHEMAS} FlowSchemas of the operator`);
  }
}
