import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { Log } from "../../core/ports";
import { FakeClock, settle } from "../../core/testing/fake-clock";
import type { ApiRequest } from "../http/api";
import { Informers } from "../watch/informers";
import type { WatchContext } from "../watch/watch";

/** An API server of lists and watches, and the context of those who ask it. */
export class WatchServer {
  readonly clock = new FakeClock();
  /** Warnings and errors: the reason of a warning, the message of an error. */
  readonly logged: string[] = [];
  /** Requests in their order: `list`, `page 100`, `watch from 10`. */
  readonly asked: string[] = [];
  /** Paths of all lists. */
  readonly lists: string[] = [];
  /** Paths with an open watch, and their field selectors after a question mark. */
  readonly open = new Set<string>();
  /** The last stream of each. */
  readonly streams = new Map<string, Readable>();
  /** Why watches have ended, as the metric counts it. */
  readonly ends: string[] = [];
  /** Answers a list; an error refuses it. */
  list: (request: ApiRequest) => unknown = () => listOf("10");
  /** Refuses to open a watch. */
  refuse: (request: ApiRequest) => Error | undefined | Promise<Error> = () => undefined;
  /** Ends each watch as soon as it is open. */
  closesAtOnce = false;
  random = (): number => 0.5;
  readonly #ages: (() => readonly [string, number | null])[] = [];

  readonly api: WatchContext["api"] = {
    json: async <T>(request: ApiRequest): Promise<T> => {
      const from = request.query?.["continue"];
      this.asked.push(from === undefined ? "list" : `page ${from}`);
      this.lists.push(request.path);
      const answer = await this.list(request);
      if (answer instanceof Error) throw answer;
      return answer as T;
    },
    open: async (request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> => {
      const { resourceVersion, fieldSelector } = request.query ?? {};
      this.asked.push(`watch from ${resourceVersion}`);
      const refusal = await this.refuse(request);
      if (refusal !== undefined) throw refusal;
      const stream = new Readable({ read: () => undefined });
      const id = fieldSelector === undefined ? request.path : `${request.path}?${String(fieldSelector)}`;
      if (this.closesAtOnce) stream.push(null);
      this.open.add(id);
      this.streams.set(id, stream);
      signal.addEventListener("abort", () => {
        this.open.delete(id);
        stream.destroy(new Error("aborted"));
      });
      return stream as IncomingMessage;
    },
  };

  get context(): WatchContext {
    const count = (_: string, { reason }: { reason?: string }) => void (reason !== undefined && this.ends.push(reason));
    const watchAge = (resource: string, ageMs: () => number | null) =>
      void this.#ages.push(() => [resource, ageMs()] as const);
    const log: Log = {
      ...{ debug: () => undefined, info: () => undefined, child: () => log },
      warn: fields => void this.logged.push((fields as { reason: string }).reason),
      error: (_, message) => void this.logged.push(message),
    };
    const metrics = { count, watchAge, show: () => undefined };
    return { api: this.api, clock: this.clock, random: () => this.random(), log, metrics };
  }

  /** The stream of the only watch, or of one of several. */
  stream(id = [...this.streams.keys()].at(-1) ?? ""): Readable | undefined {
    return this.streams.get(id);
  }

  /** Sends events to the only watch. */
  async say(...events: object[]): Promise<void> {
    this.stream()?.push(events.map(event => `${JSON.stringify(event)}\n`).join(""));
    await settle();
    await settle();
  }

  /** Ends the only watch. */
  async end(error?: Error): Promise<void> {
    if (error === undefined) this.stream()?.push(null);
    else this.stream()?.destroy(error);
    await settle();
    await settle();
  }

  /** Resources with a cache whose age is exported, and the longest age of each. */
  ages(): Record<string, number> {
    const ages = this.#ages.map(read => read()).sort(([, a], [, b]) => (a ?? 0) - (b ?? 0));
    return Object.fromEntries(ages.flatMap(([resource, ageMs]) => (ageMs === null ? [] : [[resource, ageMs]])));
  }
}

/** Returns one page, the last one unless `next` is where another begins. */
export function listOf(resourceVersion: string, items: readonly object[] = [], next?: number | string): object {
  return { metadata: { resourceVersion, ...(next !== undefined && { continue: String(next) }) }, items };
}

/** A ServiceAccount of the namespace kai. */
export function account(name: string, resourceVersion = "1"): object {
  const creationTimestamp = "2025-01-01T00:00:00Z";
  return { metadata: { name, namespace: "kai", uid: `uid-${name}`, resourceVersion, creationTimestamp } };
}

/** ServiceAccounts with these names. */
export function accounts(...names: readonly string[]): object[] {
  return names.map(name => account(name));
}

/** Informers over a server that answers lists with `items`. */
export class InformerWorld extends WatchServer {
  readonly items = new Map<string, object[]>();
  /** Lists and watches of these paths fail. */
  readonly failures = new Map<string, Error>();
  /** Namespaces that were reported: whose passes wake, and by all but pods, Events and the operator's own. */
  readonly changed: string[] = [];
  readonly structure: string[] = [];
  readonly informers: Informers;

  /** @param namespaces watched one by one */
  constructor(namespaces: readonly string[] = []) {
    super();
    this.list = ({ path }) => this.failures.get(path) ?? listOf("1", this.items.get(path));
    this.refuse = ({ path }) => this.failures.get(path);
    const onWake = (name: string): void => void this.changed.push(name);
    const onStructure = (name: string): void => void this.structure.push(name);
    this.informers = new Informers(this.context, { onWake, onStructure }, namespaces);
  }

  /** Sends an event of a watch, and returns the namespaces that it reports. */
  async tell(id: string, type: "ADDED" | "MODIFIED" | "DELETED", object: object): Promise<string[]> {
    const before = this.changed.length;
    this.stream(id)?.push(`${JSON.stringify({ type, object })}\n`);
    await settle();
    await settle();
    return this.changed.slice(before);
  }
}
