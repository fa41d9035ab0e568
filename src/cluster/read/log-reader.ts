import type { Clock } from "../../core/time";
import type { Measures } from "../../core/metrics";
import type { LogChunk, LogReader, LogRequest } from "../../core/readers";
import { type Api, refusalOf, TimeoutError } from "../http/api";
import { FairLimiter, type Share } from "../http/fair-limiter";
import { textOf } from "../../core/json";
import { callOf } from "../http/resources";
import { KINDS } from "../../core/kinds";
import { errorOfRefusal, type Refusal } from "../http/status-errors";

/** Deadline of one read in milliseconds. Reading 1 MB takes far less, so a slower kubelet hangs. */
const READ_DEADLINE_MS = 10_000;

/** Longest wait for a free slot, in milliseconds. */
const WAIT_DEADLINE_MS = 30_000;

/** Concurrent reads: overall, and per namespace and node. */
const TOTAL = 8;
const PER_NAMESPACE = 4;
const PER_NODE = 4;

/**
 * The wording of the API server (pkg/registry/core/pod/strategy.go) and the kubelet for a 400 that means there is no log: `container "c" in pod "p" is waiting to start: ContainerCreating`, `previous terminated container "c" in pod "p" not
 * found`, `container c is not valid for pod p`.
 */
const NOTHING_TO_READ = ["is waiting to start", "previous terminated container", "is not valid for pod"];

/** The answer for a pod that is not scheduled: 204 (pkg/registry/core/pod/strategy.go, LogLocation). */
const NO_NODE = 204;

export interface LogReaderContext {
  readonly api: Api;
  readonly clock: Clock;
  readonly metrics: Pick<Measures, "count">;
}

/** Reads logs by `pods/log` without following them: with limited, fairly shared concurrency, each bounded in bytes and time. */
export class ApiLogReader implements LogReader {
  readonly #context: LogReaderContext;
  readonly #limiter = new FairLimiter(TOTAL);
  /** Requests that are under way, by what they ask for. */
  readonly #underWay = new Map<string, Promise<LogChunk | null>>();

  constructor(context: LogReaderContext) {
    this.#context = context;
  }

  /** One answer is for all who ask for the same while it is under way: several remedies read the log of one container. */
  async read<T>(request: LogRequest, use: (chunk: LogChunk | null) => Promise<T>): Promise<T> {
    const asked = JSON.stringify(request);
    const same = this.#underWay.get(asked);
    if (same !== undefined) return await use(await same);
    let release = (): void => undefined;
    const answer = this.#readNow(request, slot => void (release = slot));
    this.#underWay.set(asked, answer);
    try {
      const chunk = await answer.finally(() => this.#underWay.delete(asked));
      return await use(chunk);
    } finally {
      release();
    }
  }

  async #readNow(request: LogRequest, hold: (slot: () => void) => void): Promise<LogChunk | null> {
    try {
      hold(await this.#acquire(request));
      const chunk = await this.#fetch(request);
      this.#count(chunk === null ? "absent" : chunk.truncated ? "truncated" : "ok", chunk?.bytes.length);
      return chunk;
    } catch (error) {
      this.#count(error instanceof TimeoutError ? "timeout" : "error");
      throw error;
    }
  }

  async #acquire(request: LogRequest): Promise<() => void> {
    const timeout = new AbortController();
    const cancel = this.#context.clock.after(WAIT_DEADLINE_MS, () => {
      timeout.abort(new TimeoutError(`${callFor(request).what}: no free slot within ${WAIT_DEADLINE_MS / 1000} s`));
    });
    try {
      return await this.#limiter.acquire(this.#shares(request), timeout.signal);
    } finally {
      cancel();
    }
  }

  #shares(request: LogRequest): Share[] {
    const { namespace, node } = request;
    const ofNamespace = { key: `namespace ${namespace}`, limit: PER_NAMESPACE };
    return node === undefined ? [ofNamespace] : [ofNamespace, { key: `node ${node}`, limit: PER_NODE }];
  }

  async #fetch(request: LogRequest): Promise<LogChunk | null> {
    const call = callFor(request);
    const answer = await this.#context.api.send({
      ...call,
      query: {
        container: request.container,
        timestamps: true,
        limitBytes: request.limitBytes,
        previous: request.previous ? true : undefined,
        sinceTime: request.sinceMs === undefined ? undefined : new Date(request.sinceMs).toISOString(),
        tailLines: request.tailLines,
      },
      accept: "*/*",
      deadlineMs: READ_DEADLINE_MS,
      maxBytes: request.limitBytes + MAX_REFUSAL_BYTES,
    });
    const { body } = answer;
    const { limitBytes } = request;
    if (answer.code === 200) return { bytes: body.subarray(0, limitBytes), truncated: body.length >= limitBytes };
    const refusal = refusalOf(answer);
    if (answer.code === NO_NODE || isNothingToRead(refusal)) return null;
    throw errorOfRefusal(refusal, call.what);
  }

  #count(result: "ok" | "truncated" | "absent" | "error" | "timeout", bytes = 0): void {
    this.#context.metrics.count("log_reads_total", { result });
    this.#context.metrics.count("log_read_bytes_total", {}, bytes);
  }
}

/** An error body may be longer than a small byte limit. */
const MAX_REFUSAL_BYTES = 64 * 1024;

function isNothingToRead(refusal: Refusal): boolean {
  if (refusal.code === 404) return true;
  const message = textOf(refusal.status["message"]) ?? "";
  return (
    refusal.code === 400 &&
    refusal.status["reason"] === "BadRequest" &&
    NOTHING_TO_READ.some(wording => message.includes(wording))
  );
}

function callFor({ namespace, pod }: LogRequest): ReturnType<typeof callOf> {
  return callOf("get", KINDS.Pod, { namespace, name: pod, subresource: "log" });
}
