import type { IncomingMessage } from "node:http";
import type { Clock } from "../../core/time";
import type { Measures } from "../../core/metrics";
import {
  describeError,
  ResilienceError,
  TerminalError,
  TooLargeError,
  TransientError,
  UnauthorizedError,
} from "../../core/errors";
import { type Access, type Connection, type Instance, WireError, type WireRequest } from "./connection";
import { FairLimiter } from "./fair-limiter";
import { errorOfRefusal, parseStatus, type Refusal, retryAfterMs } from "./status-errors";

export interface ApiRequest {
  /** Verb and object, such as `list pods in kai`: the beginning of every error message. */
  readonly what: string;
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** Undefined values are omitted. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: object;
  /** Media type of the body; JSON by default. */
  readonly contentType?: string;
  readonly accept?: string;
  /** For callers of {@link Api.open} that decompress the body themselves. */
  readonly acceptEncoding?: "gzip";
  /** Sends the request to this API server instead of the kubeconfig's, with the same credentials. */
  readonly instance?: Instance | undefined;
  /** Opens a connection for this request: a load balancer may then lead to another API server. */
  readonly isFresh?: boolean | undefined;
  /** Covers the wait for a free slot, the connection and the whole body. */
  readonly deadlineMs?: number;
  readonly maxBytes?: number;
}

/** A response of any status with its whole body. */
export interface Answer {
  readonly code: number;
  readonly retryAfterMs: number | undefined;
  readonly body: Buffer;
}

export interface ApiOptions {
  /** Sent as User-Agent, such as `controller-resilience/0.1.0`. */
  readonly userAgent: string;
  /** Concurrent calls; watches do not count. */
  readonly maxConcurrent?: number;
  readonly deadlineMs?: number;
  /** Called for the status and the Date header of each response; `sentAtMs` is when the request was sent, on the monotonic clock. */
  readonly onAnswer?: (head: { readonly code: number; readonly date: string | undefined }, sentAtMs: number) => void;
  readonly metrics?: Pick<Measures, "count">;
  /** Refuses every request that could change anything, before it is sent. */
  readonly isReadOnly?: boolean;
}

const JSON_TYPE = "application/json";

/** `code` of a request without an answer, as client-go counts it. */
const NO_ANSWER = "<error>";

/** A small API server serves this many requests of one client at the same time. */
const DEFAULT_CONCURRENT = 16;

/** Half of the API server's own request timeout of 60 s. */
const DEFAULT_DEADLINE_MS = 30_000;

const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;

/**
 * Longest JSON: it is parsed in one piece, which takes about 10 ms per MiB. etcd has objects of at most 1.5 MB; only one that is made of
 * characters that JSON escapes is longer.
 */
export const MAX_JSON_BYTES = 4 * 1024 * 1024;

/** Reviews are created, but nothing is stored: the answer is all that they are. */
const REVIEWS = /^\/apis\/authorization\.k8s\.io\/v1\/(self)?subjectaccessreviews$/;

/**
 * A client of the Kubernetes API. Every call has a deadline and a bounded body. After a 401 it repeats the call once with reloaded
 * credentials. Every failure is one of core's errors.
 */
export class Api {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #options: ApiOptions & { readonly deadlineMs: number };
  readonly #limiter: FairLimiter;

  constructor(connection: Connection, clock: Clock, options: ApiOptions) {
    this.#connection = connection;
    this.#clock = clock;
    this.#options = { deadlineMs: DEFAULT_DEADLINE_MS, ...options };
    this.#limiter = new FairLimiter(options.maxConcurrent ?? DEFAULT_CONCURRENT);
  }

  /** Returns the parsed body of a 2xx response. @throws an error of core for any other */
  async json<T>(request: ApiRequest, signal?: AbortSignal): Promise<T> {
    return parsed(await this.send({ maxBytes: MAX_JSON_BYTES, ...request }, signal), request.what) as T;
  }

  /** Returns the body of a 2xx response. @throws an error of core for any other */
  async bytes(request: ApiRequest, signal?: AbortSignal): Promise<Buffer> {
    return bodyOf(await this.send(request, signal), request.what);
  }

  /** Like {@link json}, but returns null for a 404. */
  async jsonOrNull<T>(request: ApiRequest): Promise<T | null> {
    const answer = await this.send({ maxBytes: MAX_JSON_BYTES, ...request });
    return answer.code === 404 ? null : (parsed(answer, request.what) as T);
  }

  /** Returns a response of any status except 401. @throws UnauthorizedError, TransientError for a network failure, and the signal's reason */
  async send(request: ApiRequest, signal?: AbortSignal): Promise<Answer> {
    return this.#within(request, signal, async bounded => {
      const release = await this.#limiter.acquire([], bounded);
      try {
        return await answerOf(await this.#exchange(request, bounded), request);
      } finally {
        release();
      }
    });
  }

  /**
   * Opens a stream such as a watch: the deadline covers the response head only, and the caller reads the body until `signal` fires.
   *
   * @throws an error of core for a response other than 2xx
   */
  async open(request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const response = await this.#within(request, signal, bounded => this.#exchange(request, bounded), true);
    if (isSuccess(response.statusCode ?? 0)) return response;
    const answer = await this.#within(request, signal, bounded => {
      bounded.addEventListener("abort", () => response.destroy());
      return answerOf(response, request);
    });
    throw errorOfRefusal(refusalOf(answer), request.what);
  }

  /**
   * Runs `work` with a signal that fires with the caller's signal or at the deadline, and converts its errors to core's errors.
   * If a stream `outlives` this call, the caller's signal keeps its listener, so that signal must be short-lived.
   */
  async #within<T>(
    request: ApiRequest,
    signal: AbortSignal | undefined,
    work: (bounded: AbortSignal) => Promise<T>,
    outlives = false,
  ): Promise<T> {
    signal?.throwIfAborted();
    const bound = new AbortController();
    const deadlineMs = request.deadlineMs ?? this.#options.deadlineMs;
    const cancel = this.#clock.after(deadlineMs, () => {
      bound.abort(new TimeoutError(`${request.what}: timed out after ${deadlineMs / 1000} s`));
    });
    const forward = (): void => bound.abort(signal?.reason);
    signal?.addEventListener("abort", forward, { once: true });
    try {
      return await work(bound.signal);
    } catch (error) {
      if (bound.signal.aborted) throw bound.signal.reason;
      throw error instanceof ResilienceError
        ? error
        : new TransientError(`${request.what}: ${describeError(error)}`, { cause: error });
    } finally {
      cancel();
      if (!outlives) signal?.removeEventListener("abort", forward);
    }
  }

  async #exchange(request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
    if (this.#options.isReadOnly === true && !isRead(request))
      throw new TerminalError(`${request.what}: expected a read, got ${request.method}; this client only reads`);
    const access = await abortable(this.#connection.access(), signal);
    try {
      return await this.#send(access, request, signal);
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error;
      const renewed = await abortable(this.#connection.renew(access), signal);
      if (renewed === null) throw error;
      return this.#send(renewed, request, signal);
    }
  }

  /**
   * Repeats a read once if the server had closed the reused socket. A write is not repeated: the server may have executed it
   * before the socket broke, and the response to the second one (404, 409) would look like a failure of the first.
   */
  async #send(access: Access, request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const { method = "GET", instance } = request;
    try {
      return await this.#sendOnce(access, request, signal);
    } catch (error) {
      if (instance === undefined) this.#connection.failed(error);
      if (!(error instanceof WireError) || !error.staleSocket || method !== "GET" || signal.aborted) throw error;
      // Another kept connection may be dead as well.
      return this.#sendOnce(access, { ...request, isFresh: true }, signal);
    }
  }

  /** @throws the error of a 401 */
  async #sendOnce(access: Access, request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const { method = "GET", instance, what } = request;
    const sentAtMs = this.#clock.monotonicMs();
    let code = NO_ANSWER;
    try {
      const response = await this.#connection.send(access, this.#wire(request), signal);
      code = String(response.statusCode);
      const rejection = response.statusCode === 401 ? await rejectionIn(response, what) : undefined;
      // What an instance or a kubelet answers says nothing of the address that all other requests use.
      if (instance === undefined && (rejection === undefined || rejection instanceof UnauthorizedError))
        this.#options.onAnswer?.({ code: response.statusCode ?? 0, date: response.headers.date }, sentAtMs);
      if (rejection !== undefined) throw rejection;
      return response;
    } finally {
      this.#options.metrics?.count("rest_client_requests_total", { method, code });
    }
  }

  #wire(request: ApiRequest): WireRequest {
    const { method = "GET", path, query = {}, accept = JSON_TYPE, acceptEncoding, contentType = JSON_TYPE } = request;
    const { instance, isFresh } = request;
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const ofBody = body !== undefined && {
      ...{ "Content-Type": contentType, "Content-Length": String(Buffer.byteLength(body)) },
    };
    const encoding = acceptEncoding !== undefined && { "Accept-Encoding": acceptEncoding };
    const headers = { "User-Agent": this.#options.userAgent, Accept: accept, ...encoding, ...ofBody };
    return { method, path: path + queryOf(query), headers, body, instance, isFresh };
  }
}

async function answerOf(
  response: IncomingMessage,
  { maxBytes = DEFAULT_MAX_BYTES, what }: Pick<ApiRequest, "maxBytes" | "what">,
): Promise<Answer> {
  const body = await readBody(response, maxBytes, what);
  return { code: response.statusCode ?? 0, retryAfterMs: retryAfterMs(response.headers), body };
}

/** Returns the error of a 401: the API server's own, unless its body says that it is a kubelet's. */
async function rejectionIn(response: IncomingMessage, what: string): Promise<ResilienceError> {
  const answer = await answerOf(response, { maxBytes: MAX_JSON_BYTES, what }).catch(() => undefined);
  return errorOfRefusal(answer === undefined ? { code: 401, status: {} } : refusalOf(answer), what);
}

/** Returns what errors need of an answer that is not 2xx. */
export function refusalOf({ code, retryAfterMs: afterMs, body }: Answer): Refusal {
  return { code, retryAfterMs: afterMs, status: parseStatus(body.toString("utf8")) };
}

function bodyOf(answer: Answer, what: string): Buffer {
  if (isSuccess(answer.code)) return answer.body;
  throw errorOfRefusal(refusalOf(answer), what);
}

function parsed(answer: Answer, what: string): unknown {
  const text = bodyOf(answer, what).toString("utf8");
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TransientError(`${what}: expected JSON, got another body`, { cause: error });
  }
}

/** A call missed its deadline. */
export class TimeoutError extends TransientError {}

/** Rejects when the signal fires, since a credential plugin may hang. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** Listens to events, which for a small body costs less than an iterator. */
function readBody(response: IncomingMessage, maxBytes: number, what: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    response.on("data", (chunk: Buffer) => {
      size += chunk.length;
      chunks.push(chunk);
      if (size <= maxBytes) return;
      reject(new TooLargeError(`${what}: expected at most ${maxBytes} bytes, got more`));
      response.destroy();
    });
    let isWhole = false;
    response.on("end", () => {
      isWhole = true;
      const [first] = chunks;
      resolve(first?.length === size ? first : Buffer.concat(chunks, size));
    });
    response.on("error", reject);
    response.on("close", () => {
      if (!isWhole) reject(new Error("the connection closed before the end of the body"));
    });
  });
}

function queryOf(query: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  const text = search.toString();
  return text === "" ? "" : `?${text}`;
}

function isSuccess(code: number): boolean {
  return code >= 200 && code < 300;
}

function isRead({ method = "GET", path }: ApiRequest): boolean {
  return method === "GET" || (method === "POST" && REVIEWS.test(path));
}
