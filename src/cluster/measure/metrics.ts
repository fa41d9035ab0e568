import type { IncomingMessage } from "node:http";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { FLOW_PREFIX } from "../../api/names";
import { describeError, ResilienceError, TerminalError, TransientError } from "../../core/errors";
import { parseSample } from "../../core/pod-metrics";
import type { Clock } from "../../core/time";
import { type Api, TimeoutError } from "../http/api";
import type { Instance } from "../http/connection";
import { LineSplitter } from "../watch/stream";

// The metrics that an API server serves about itself.

export interface MetricSource {
  readonly api: Pick<Api, "open">;
  readonly clock: Clock;
}

/** Deadline of the whole response in milliseconds. It has a few megabytes, or tens of megabytes in a large cluster. */
const DEADLINE_MS = 15_000;

/** Deadline for the response head of an instance in milliseconds, since a firewall may drop all packets. */
const INSTANCE_DEADLINE_MS = 5_000;

/** Longest decompressed response, far above that of any API server. */
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_LINE_BYTES = 64 * 1024;

/** Decompressed at a time, in bytes. */
const CHUNK_BYTES = 64 * 1024;

const WHAT = "get /metrics";

/** Counters of one API server since its start. */
export interface ServerCounts {
  /** `address:port`; empty for the kubeconfig's address. */
  readonly address: string;
  /** Start time of its process, in seconds since the epoch. It distinguishes API servers behind one address. */
  readonly startSeconds: number;
  /** When the response began, in milliseconds of the monotonic clock. */
  readonly atMs: number;
  /** Requests by name of the operator's FlowSchemas, and those that it has refused by their code. Absent: it does not count them. */
  readonly counts: ReadonlyMap<string, number>;
  /** Length of its page. */
  readonly bytes: number;
}

/** kubernetes/kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol/metrics: each request counts in exactly one of the two. */
const DISPATCHED = "apiserver_flowcontrol_dispatched_requests_total";
const REJECTED = "apiserver_flowcontrol_rejected_requests_total";
/** kubernetes/kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/filters/metrics.go: every result but success is answered 401. */
const ATTEMPTS = "authentication_attempts";
/** staging/src/k8s.io/apiserver/pkg/endpoints/filters/metrics.go: every result but allowed is answered 403. */
const DECISIONS = "authorization_attempts_total";
const START = "process_start_time_seconds";
/** Most of the hundred thousand lines are of other metrics. */
const WANTED = new RegExp(`^(?:${[DISPATCHED, REJECTED, ATTEMPTS, DECISIONS, START].join("|")})[ \\t{]`);

/**
 * Reads the counters of one API server.
 *
 * @param instance absent: the kubeconfig's address
 * @throws an error of core, also for a truncated response and for invalid counters
 */
export async function readServerCounts(source: MetricSource, instance?: Instance): Promise<ServerCounts> {
  const counts = new CountedRequests();
  const page = await readLines(source, line => counts.take(line), instance);
  const address = instance === undefined ? "" : `${instance.address}:${instance.port}`;
  return { address, ...page, ...counts.result() };
}

/** Gives each line of an API server's own metrics to `take`, as it arrives. What `take` throws ends the request. */
export async function readLines(
  { api, clock }: MetricSource,
  take: (line: string) => void,
  instance?: Instance,
): Promise<Pick<ServerCounts, "atMs" | "bytes">> {
  const end = new AbortController();
  const cancel = clock.after(DEADLINE_MS, () =>
    end.abort(new TimeoutError(`${WHAT}: timed out after ${DEADLINE_MS / 1000} s`)),
  );
  // Behind one address there may be several API servers: a kept connection would always lead to the same one.
  const direct = instance === undefined ? { isFresh: true } : { instance, deadlineMs: INSTANCE_DEADLINE_MS };
  const request = { what: WHAT, path: "/metrics", accept: "text/plain", acceptEncoding: "gzip", ...direct } as const;
  try {
    const response = await api.open(request, end.signal);
    const atMs = clock.monotonicMs();
    return { atMs, bytes: await splitBody(response, take) };
  } catch (error) {
    // The error of an aborted stream does not contain the reason.
    if (end.signal.aborted) throw end.signal.reason;
    throw error instanceof ResilienceError ? error : new TransientError(`${WHAT}: ${describeError(error)}`);
  } finally {
    cancel();
  }
}

/** Returns the decompressed length of the body. */
async function splitBody(response: IncomingMessage, take: (line: string) => void): Promise<number> {
  const lines = new LineSplitter(MAX_LINE_BYTES);
  let bytes = 0;
  for await (const chunk of decompressed(response)) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new TerminalError(`${WHAT}: expected at most ${MAX_BYTES} bytes, got more`);
    lines.push(chunk).forEach(take);
  }
  if (lines.pending > 0) throw new TransientError(`${WHAT}: expected a line break at the end, got a truncated line`);
  return bytes;
}

function decompressed(response: IncomingMessage): AsyncIterable<Buffer> {
  if (response.headers["content-encoding"] !== "gzip") return response;
  // A failure of either stream ends both and reaches the reader.
  return pipeline(response, createGunzip({ chunkSize: CHUNK_BYTES }), () => undefined);
}

/** Sums the requests of the operator's FlowSchemas, and those that were refused, over the lines of an API server's metrics. */
export class CountedRequests {
  readonly #counts = new Map<string, number>();
  #startSeconds = NaN;

  /** Takes a line of any metric. @throws TransientError for an invalid count of a FlowSchema; one of refusals is no reason to know nothing of the flows */
  take(line: string): void {
    if (!WANTED.test(line)) return;
    const sample = parseSample(line);
    // Skipping the line would make the counter appear to fall, and then to rise by its whole value.
    if (sample === null) throw new TransientError(`${WHAT}: expected a sample, got another line`);
    const { name, labels, value } = sample;
    if (name === START) this.#startSeconds = value;
    else if (name === ATTEMPTS) this.#add("401", labels.get("result") === "success" ? 0 : value);
    else if (name === DECISIONS) this.#add("403", labels.get("result") === "allowed" ? 0 : value);
    else {
      this.#add("429", name === REJECTED ? value : 0);
      this.#count(labels.get("flow_schema") ?? "", value);
    }
  }

  /** @throws TransientError without a start time, since the server is not distinguishable from another then */
  result(): Pick<ServerCounts, "startSeconds" | "counts"> {
    if (!Number.isFinite(this.#startSeconds)) throw new TransientError(`${WHAT}: expected ${START}, got none`);
    return { startSeconds: this.#startSeconds, counts: this.#counts };
  }

  #count(flowSchema: string, requests: number): void {
    if (!flowSchema.startsWith(FLOW_PREFIX)) return;
    if (!(requests >= 0 && requests < Infinity))
      throw new TransientError(`${WHAT}: expected a number of requests, got another value`);
    this.#add(flowSchema, requests);
  }

  #add(key: string, more: number): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + more);
  }
}
