import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { CacheMetrics } from "../../core/metrics";
import type { Log } from "../../core/ports";
import { FakeClock, settle } from "../../core/testing/fake-clock";
import type { ApiRequest } from "../http/api";
import { Informers } from "../watch/informers";

/** Informers over an API server that answers lists with `items`, and says in its streams what a test pushes. */
export class InformerWorld {
  readonly clock = new FakeClock();
  /** Paths with an open watch, and their field selectors after a question mark. */
  readonly open = new Set<string>();
  readonly streams = new Map<string, Readable>();
  /** Paths of all lists. */
  readonly lists: string[] = [];
  readonly queries = new Map<string, ApiRequest["query"]>();
  readonly items = new Map<string, object[]>();
  /** Lists of these paths are answered only after {@link release}. */
  readonly held = new Set<string>();
  /** Lists and watches of these paths fail. */
  readonly failures = new Map<string, Error>();
  /** All lines but debug, each with its resource or watch. */
  readonly logged: string[] = [];
  /** Namespaces that were reported: whose passes wake, and by all but pods, Events and the operator's own. */
  readonly changed: string[] = [];
  readonly structure: string[] = [];
  readonly informers: Informers;
  readonly #waiting = new Map<string, () => void>();
  readonly #ages: (() => { readonly resource: string; readonly ageMs: number | null })[] = [];
  #answers = true;

  /** @param namespaces watched one by one */
  constructor(namespaces: readonly string[] = []) {
    const metrics: CacheMetrics = {
      count: () => undefined,
      show: () => undefined,
      watchAge: (resource, ageMs) => void this.#ages.push(() => ({ resource, ageMs: ageMs() })),
    };
    const api = { json: this.#list.bind(this), open: this.#open.bind(this) };
    const note = (fields: object, message: string): void => {
      const { resource, watch } = fields as { resource?: string; watch?: string };
      this.logged.push(`${resource ?? watch}: ${message}`);
    };
    const log: Log = {
      ...{ debug: () => undefined, info: note, warn: note, error: note },
      child: () => log,
    };
    const context = { api, clock: this.clock, random: () => 0.5, log, metrics };
    this.informers = new Informers(
      context,
      { onWake: name => void this.changed.push(name), onStructure: name => void this.structure.push(name) },
      namespaces,
    );
  }

  /** Resources with a cache whose age is exported, and the longest age of each. */
  ages(): Record<string, number> {
    const ages = this.#ages.map(read => read()).sort((a, b) => (a.ageMs ?? 0) - (b.ageMs ?? 0));
    return Object.fromEntries(ages.flatMap(({ resource, ageMs }) => (ageMs === null ? [] : [[resource, ageMs]])));
  }

  /** No list is answered from now on. */
  hang(): void {
    this.#answers = false;
  }

  /** Answers the held list of a path. */
  async release(path: string): Promise<void> {
    this.held.delete(path);
    this.#waiting.get(path)?.();
    this.#waiting.delete(path);
    await settle();
    await settle();
  }

  /** Sends an event of a watch, and returns the namespaces that it reports. */
  async say(path: string, type: "ADDED" | "MODIFIED" | "DELETED", object: object): Promise<string[]> {
    const before = this.changed.length;
    this.streams.get(path)?.push(`${JSON.stringify({ type, object })}\n`);
    await settle();
    await settle();
    return this.changed.slice(before);
  }

  async #list<T>(request: ApiRequest, signal?: AbortSignal): Promise<T> {
    this.lists.push(request.path);
    this.queries.set(request.path, request.query);
    if (this.held.has(request.path)) {
      await new Promise<void>((resolve, reject) => {
        this.#waiting.set(request.path, resolve);
        signal?.addEventListener("abort", () => reject(new Error("aborted")));
      });
    }
    const failure = this.failures.get(request.path);
    if (failure !== undefined) throw failure;
    const list = { metadata: { resourceVersion: "1" }, items: this.items.get(request.path) ?? [] };
    return this.#answers ? (list as T) : new Promise(() => undefined);
  }

  #open(request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const failure = this.failures.get(request.path);
    if (failure !== undefined) return Promise.reject(failure);
    const stream = new Readable({ read: () => undefined });
    const { fieldSelector } = request.query ?? {};
    const id = fieldSelector === undefined ? request.path : `${request.path}?${String(fieldSelector)}`;
    this.open.add(id);
    this.streams.set(id, stream);
    signal.addEventListener("abort", () => {
      this.open.delete(id);
      stream.destroy(new Error("aborted"));
    });
    return Promise.resolve(stream as IncomingMessage);
  }
}
