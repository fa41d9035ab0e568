import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { ClusterMetrics, Log } from "../../core/ports";
import { FakeClock, settle } from "../../core/testing/fake-clock";
import type { ApiRequest } from "../http/api";
import { Informers } from "../watch/informers";

const log: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => log,
};

/** Informers over an API server that answers lists with `items`, and says in its streams what a test pushes. */
export class InformerWorld {
  readonly clock = new FakeClock();
  /** Paths with an open watch. */
  readonly open = new Set<string>();
  readonly streams = new Map<string, Readable>();
  /** Paths of all lists. */
  readonly lists: string[] = [];
  readonly queries = new Map<string, ApiRequest["query"]>();
  readonly items = new Map<string, object[]>();
  /** Lists of these paths fail. */
  readonly failures = new Map<string, Error>();
  readonly ages: [string, number][] = [];
  /** Namespaces that were reported. */
  readonly changed: string[] = [];
  readonly informers: Informers;
  #answers = true;

  constructor() {
    const metrics: ClusterMetrics = {
      watchEnded: () => undefined,
      relisted: () => undefined,
      watchAge: (resource, seconds) => void this.ages.push([resource, seconds]),
      logRead: () => undefined,
      eventLost: () => undefined,
    };
    const api = { json: this.#list.bind(this), open: this.#open.bind(this) };
    const context = { api, clock: this.clock, random: () => 0.5, log, metrics };
    this.informers = new Informers(context, name => void this.changed.push(name));
  }

  /** No list is answered from now on. */
  hang(): void {
    this.#answers = false;
  }

  /** Sends an event of a watch, and returns the namespaces that it reports. */
  async say(path: string, type: "ADDED" | "MODIFIED" | "DELETED", object: object): Promise<string[]> {
    const before = this.changed.length;
    this.streams.get(path)?.push(`${JSON.stringify({ type, object })}\n`);
    await settle();
    await settle();
    return this.changed.slice(before);
  }

  #list<T>(request: ApiRequest): Promise<T> {
    this.lists.push(request.path);
    this.queries.set(request.path, request.query);
    const failure = this.failures.get(request.path);
    if (failure !== undefined) return Promise.reject(failure);
    const list = { metadata: { resourceVersion: "1" }, items: this.items.get(request.path) ?? [] };
    return this.#answers ? Promise.resolve(list as T) : new Promise(() => undefined);
  }

  #open(request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const stream = new Readable({ read: () => undefined });
    this.open.add(request.path);
    this.streams.set(request.path, stream);
    signal.addEventListener("abort", () => {
      this.open.delete(request.path);
      stream.destroy(new Error("aborted"));
    });
    return Promise.resolve(stream as IncomingMessage);
  }
}
