import type { IncomingMessage } from "node:http";
import type { Clock } from "../../core/clock";
import { describeError, GoneError, ResilienceError, TerminalError, TransientError } from "../../core/errors";
import { type Access, Connection, type Instance, WireError, type WireRequest } from "./connection";
import { FairLimiter } from "./fair-limiter";
import { errorOfRefusal, parseStatus } from "./status-errors";

/** One call of the Kubernetes API. */
export interface ApiRequest {
  /** Verb and object for people: `list pods in kai`. Begins every error's message. */
  readonly what: string;
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** Undefined values are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: object;
  /** Media type of the body; JSON by default, the kind of patch otherwise. */
  readonly contentType?: string;
  readonly accept?: string;
  /** What the caller of {@link Api.open} can undo; by default nothing. */
  readonly acceptEncoding?: "gzip";
  /** Asks that one API server, with the same credentials, instead of the server that the kubeconfig names. */
  readonly instance?: Instance | undefined;
  /** From the wish to the last byte, in milliseconds. */
  readonly deadlineMs?: number;
  /** Longest body that is taken, in bytes. */
  readonly maxBytes?: number;
}

/** An answer of any status with its whole body. */
export interface Answer {
  readonly code: number;
  readonly retryAfter: string | undefined;
  readonly body: Buffer;
}

/** How an {@link Api} behaves. */
export interface ApiOptions {
  /** Sent as User-Agent, such as `controller-resilience/0.1.0`. */
  readonly userAgent: string;
  /** Calls at once; watches don't count. */
  readonly maxConcurrent?: number;
  readonly deadlineMs?: number;
  /** Told of each answer whose head has arrived, and when its request was sent, in milliseconds of the monotonic clock. */
  readonly onAnswer?: (head: AnswerHead, sentAtMs: number) => void;
}

/** What an answer says of the server, whatever was asked. */
export interface AnswerHead {
  /** HTTP status code. */
  readonly code: number;
  /** The header Date. */
  readonly date: string | undefined;
}

/** Calls at once when nothing else is said: what a small API server bears from one client. */
const DEFAULT_CONCURRENT = 16;

/** A call that takes longer is given up. Half of the API server's own limit of 60 s. */
const DEFAULT_DEADLINE_MS = 30_000;

/** A page of 500 large pods stays below this. */
const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;

/**
 * A thin, careful client of the Kubernetes API: every call has a deadline that covers waiting, connecting and reading, its body is
 * bounded, a 401 is tried once more with credentials read anew, and every failure is one of core's errors.
 */
export class Api {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #userAgent: string;
  readonly #onAnswer: NonNullable<ApiOptions["onAnswer"]>;
  readonly #deadlineMs: number;
  readonly #limiter: FairLimiter;

  constructor(connection: Connection, clock: Clock, options: ApiOptions) {
    this.#connection = connection;
    this.#clock = clock;
    this.#userAgent = options.userAgent;
    this.#onAnswer = options.onAnswer ?? (() => undefined);
    this.#deadlineMs = options.deadlineMs ?? DEFAULT_DEADLINE_MS;
    this.#limiter = new FairLimiter(options.maxConcurrent ?? DEFAULT_CONCURRENT);
  }

  /** The parsed body of a 2xx answer. @throws an error of core for everything else */
  async json<T>(request: ApiRequest, signal?: AbortSignal): Promise<T> {
    const answer = await this.send(request, signal);
    const text = answer.body.toString("utf8");
    if (!isSuccess(answer.code)) throw errorOfRefusal({ ...answer, status: parseStatus(text) }, request.what);
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      throw new TransientError(`${request.what}: the answer is no JSON`, { cause: error });
    }
  }

  /** Like {@link json}, but a 404 is null. */
  async jsonOrNull<T>(request: ApiRequest): Promise<T | null> {
    try {
      return await this.json<T>(request);
    } catch (error) {
      if (error instanceof GoneError) return null;
      throw error;
    }
  }

  /** An answer of any status but a final 401, read to its end. @throws UnauthorizedError, TransientError for anything below HTTP, and the signal's reason */
  async send(request: ApiRequest, signal?: AbortSignal): Promise<Answer> {
    return this.#within(request, signal, async bounded => {
      const release = await this.#limiter.acquire([], bounded);
      try {
        const response = await this.#exchange(request, bounded);
        const body = await readBody(response, request.maxBytes ?? DEFAULT_MAX_BYTES, request.what);
        return { code: response.statusCode ?? 0, retryAfter: response.headers["retry-after"], body };
      } finally {
        release();
      }
    });
  }

  /**
   * Opens a stream such as a watch: the deadline covers the answer's head only, and the caller reads the body until `signal` fires.
   *
   * @throws an error of core when the answer is not 2xx
   */
  async open(request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const response = await this.#within(request, signal, bounded => this.#exchange(request, bounded), true);
    if (isSuccess(response.statusCode ?? 0)) return response;
    const refusal = await this.#within(request, signal, async bounded => {
      bounded.addEventListener("abort", () => response.destroy());
      const body = await readBody(response, DEFAULT_MAX_BYTES, request.what);
      return { code: response.statusCode ?? 0, retryAfter: response.headers["retry-after"], body };
    });
    throw errorOfRefusal({ ...refusal, status: parseStatus(refusal.body.toString("utf8")) }, request.what);
  }

  /**
   * Runs `work` under a signal that fires with the caller's and at the deadline, and turns what it throws into core's errors.
   * For a stream that `outlives` this call the caller's signal stays connected; so it has to be one of a short life.
   */
  async #within<T>(
    request: ApiRequest,
    signal: AbortSignal | undefined,
    work: (bounded: AbortSignal) => Promise<T>,
    outlives = false,
  ): Promise<T> {
    signal?.throwIfAborted();
    const bound = new AbortController();
    const deadlineMs = request.deadlineMs ?? this.#deadlineMs;
    const cancel = this.#clock.after(deadlineMs, () => {
      bound.abort(new TimeoutError(`${request.what}: no complete answer within ${deadlineMs / 1000} s`));
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
    const wire = this.#wire(request);
    const access = await abortable(this.#connection.access(), signal);
    const response = await this.#send(access, wire, signal);
    if (response.statusCode !== 401) return response;
    response.resume();
    const renewed = await abortable(this.#connection.renew(access), signal);
    if (renewed === null) throw errorOfRefusal({ code: 401, status: {} }, request.what);
    return this.#send(renewed, wire, signal);
  }

  /**
   * Sends a read once more if the kept socket turns out to have been closed by the server just before. A write may have been
   * carried out before the socket broke, and the answer to a second one (404, 409) would look like a refusal of the first.
   */
  async #send(access: Access, wire: WireRequest, signal: AbortSignal): Promise<IncomingMessage> {
    try {
      return await this.#sendOnce(access, wire, signal);
    } catch (error) {
      if (!(error instanceof WireError) || !error.staleSocket || wire.method !== "GET" || signal.aborted) throw error;
      return this.#sendOnce(access, wire, signal);
    }
  }

  async #sendOnce(access: Access, wire: WireRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const sentAtMs = this.#clock.monotonicMs();
    const response = await Connection.send(access, wire, signal);
    // That an instance answers says nothing of the way that every other request takes.
    if (wire.instance === undefined)
      this.#onAnswer({ code: response.statusCode ?? 0, date: response.headers.date }, sentAtMs);
    return response;
  }

  #wire(request: ApiRequest): WireRequest {
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    return {
      method: request.method ?? "GET",
      path: request.path + queryOf(request.query ?? {}),
      headers: {
        "User-Agent": this.#userAgent,
        Accept: request.accept ?? "application/json",
        ...(request.acceptEncoding === undefined ? {} : { "Accept-Encoding": request.acceptEncoding }),
        ...(body === undefined
          ? {}
          : {
              "Content-Type": request.contentType ?? "application/json",
              "Content-Length": String(Buffer.byteLength(body)),
            }),
      },
      body,
      instance: request.instance,
    };
  }
}

/** The deadline of a call has passed. */
export class TimeoutError extends TransientError {}

/** Credentials may come from a plugin that hangs. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

async function readBody(response: IncomingMessage, maxBytes: number, what: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new TerminalError(`${what}: the answer is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
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
