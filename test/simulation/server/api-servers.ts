import type { IncomingMessage } from "node:http";
import { type Dice, START_MS } from "../time";
import { type Account, accountIdentity, type Identity } from "./access";
import { Answer } from "./answer";
import { bootstrap, collectCustomResources, judgeFlowSchemas, registerAddresses } from "./bootstrap";
import { Dispatch, servePath } from "./dispatch";
import { FlowControl } from "./flow";
import type { Entry } from "./journal";
import { Counters } from "./metrics";
import { Refusal } from "./objects";
import { refusal } from "./rbac";
import { type Ask, readRequest } from "./request";
import type { Allowed, Served, World } from "./serve";
import { type EventFault, openWatch, WatchStream } from "./watches";

/** One HTTP request of a client. */
export interface SentRequest {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly instance?: { readonly address: string; readonly port: number } | undefined;
  readonly isFresh?: boolean | undefined;
  /** Name of the client's process. */
  readonly from: string;
}

/** What a fault sees of a request before it is served. */
export interface Seen {
  readonly ask: Ask;
  readonly from: string;
  readonly server: number;
}

/** What happens to a request besides. */
export interface Outcome {
  /** Answered instead of being served. */
  readonly status?: number;
  readonly message?: string;
  readonly retryAfterSeconds?: number;
  /** Retry-After is a date, as proxies write it. */
  readonly isRetryDate?: boolean;
  /** The connection breaks before the request is executed, or after it. */
  readonly reset?: "before" | "after";
  /** No answer ever comes, to a request that is executed or not. */
  readonly silence?: "before" | "after";
  /** Answered so much later. */
  readonly answerDelayMs?: number;
  /** The body ends after this part of it, between 0 and 1. */
  readonly truncate?: number;
  /** Reads show the state of so long ago. */
  readonly staleMs?: number;
  /** Of a watch: falls silent after so long, or loses and repeats events. */
  readonly silentAfterMs?: number;
  readonly onEvent?: EventFault;
}

/** May change what happens to a request. */
export type Fault = (seen: Seen) => Outcome | undefined;

const ANONYMOUS: Identity = { user: "system:anonymous", groups: ["system:unauthenticated"] };

/** A server that is gone is no endpoint any more after this time. */
const LEASE_MS = 15_000;

interface Server {
  readonly address: string;
  /** How far its clock is off, as the Date header shows. */
  offsetMs: number;
  readonly index: number;
  isDown: boolean;
  counters: Counters;
  readonly flow: FlowControl;
  /** With the name of the client's process. */
  readonly watches: Map<WatchStream, string>;
}

/** A network failure, as node reports it. */
export function networkError(code: "ECONNRESET" | "ECONNREFUSED"): Error {
  const message = code === "ECONNRESET" ? "socket hang up" : "connect ECONNREFUSED";
  return Object.assign(new Error(message), { code });
}

/** API servers behind one address. */
export class ApiServers {
  /** Called with each request, when it has been served. */
  readonly listeners = new Set<(entry: Entry) => void>();
  readonly faults = new Set<Fault>();
  /** When a token was last refused, in milliseconds from the start of the world. */
  refusedMs = -Infinity;
  readonly #world: World;
  readonly #dispatch: Dispatch;
  readonly #servers: readonly Server[];
  #date = { second: 0, text: "" };
  /** The server of a client's kept connection. */
  readonly #kept = new Map<string, number>();

  constructor(world: Omit<World, "dice"> & { readonly dice: Dice; readonly servers: number }) {
    const { clock, store, access, runtime, servers } = world;
    this.#world = { clock, store, access, runtime, dice: world.dice.fork("servers") };
    this.#dispatch = new Dispatch(this.#world);
    this.#servers = Array.from({ length: servers }, (_, index) => this.#make(index));
    bootstrap(store);
    judgeFlowSchemas(store);
    this.#register();
    collectCustomResources(store, plural => this.#endWatches(plural));
  }

  get count(): number {
    return this.#servers.length;
  }

  isDown(server: number): boolean {
    return this.#servers[server]?.isDown !== false;
  }

  /** Stops a server: its connections break. */
  stop(index: number): void {
    const server = this.#servers[index]!;
    server.isDown = true;
    for (const watch of server.watches.keys()) watch.end(networkError("ECONNRESET"));
    server.watches.clear();
    this.#world.clock.after(LEASE_MS, () => this.#register());
  }

  /** Starts a stopped server: all its counters begin at zero. */
  start(index: number): void {
    const server = this.#servers[index]!;
    server.isDown = false;
    server.counters = new Counters(this.#world.clock.now().getTime() / 1_000);
    this.#register();
  }

  /** Sets how far the clock of a server is off. */
  setClock(index: number, offsetMs: number): void {
    const server = this.#servers[index];
    if (server !== undefined) server.offsetMs = offsetMs;
  }

  /** Ends all watches of a server, as a restart of its watch cache does. */
  endWatches(index: number): void {
    for (const watch of [...this.#servers[index]!.watches.keys()]) watch.end();
  }

  /** Open watches of a process say nothing more: its network is gone. */
  silenceWatches(from: string): void {
    for (const { watches } of this.#servers)
      for (const [watch, client] of watches) if (client === from) watch.silence();
  }

  /** Resolves with the head of the answer; the client reads the body. */
  send(request: SentRequest, signal: AbortSignal): Promise<IncomingMessage> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    const ask = readRequest(request.method, request.path);
    const server = this.#serverFor(request);
    if (server === undefined) return this.#unreachable(signal);
    const outcome = this.#outcomeOf({ ask, from: request.from, server: server.index });
    return new Promise((resolve, reject) => {
      const exchange: Exchange = { request, ask, server, outcome, signal, resolve, reject, abort: reject };
      signal.addEventListener("abort", () => exchange.abort(signal.reason as Error), { once: true });
      const latencyMs = 1 + 3 * this.#world.dice.next();
      this.#world.clock.after(latencyMs, () => this.#execute(exchange));
    });
  }

  /** Counts requests of a program, and says how a server answers one that is authenticated and allowed: 200 or 429. */
  request(
    owner: Account,
    asked: { readonly verb: string; readonly group: string; readonly resource: string; readonly namespace?: string },
    { server: index, code, count }: { readonly server: number; readonly code: number; readonly count: number },
  ): number {
    const server = this.#servers[index];
    if (server === undefined || server.isDown || code === 0) return 0;
    this.#attempted(server.counters, code !== 401, count);
    server.counters.requested(asked.verb, asked.resource, code, count);
    if (code === 401) return code;
    const flow = server.flow.flowOf(accountIdentity(owner), asked);
    const admitted = server.flow.admit(flow, count, this.#world.clock.monotonicMs());
    server.counters.dispatched(flow, admitted);
    server.counters.rejected(flow, count - admitted);
    server.counters.decided(code !== 403, admitted);
    return admitted === 0 && count > 0 ? 429 : code;
  }

  #make(index: number): Server {
    const startSeconds =
      this.#world.clock.now().getTime() / 1_000 - 86_400 * (10 + index) - this.#world.dice.int(3_600);
    const counters = new Counters(startSeconds);
    const flow = new FlowControl(this.#world.store);
    const address = `10.0.0.${index + 1}`;
    return { address, offsetMs: 0, index, isDown: false, counters, flow, watches: new Map() };
  }

  #register(): void {
    registerAddresses(
      this.#world.store,
      this.#servers.filter(({ isDown }) => !isDown),
    );
  }

  #endWatches(plural: string): void {
    for (const { watches } of this.#servers)
      for (const watch of [...watches.keys()]) if (watch.resource === plural) watch.end();
  }

  #outcomeOf(seen: Seen): Outcome {
    let all: Outcome = {};
    for (const fault of this.faults) all = { ...all, ...fault(seen) };
    return all;
  }

  /** A client keeps its connection; a new one leads to any server that runs. */
  #serverFor({ instance, from, isFresh = false }: SentRequest): Server | undefined {
    if (instance !== undefined)
      return this.#servers.find(({ address, isDown }) => address === instance.address && !isDown);
    const kept = this.#servers[this.#kept.get(from) ?? -1];
    if (!isFresh && kept !== undefined && !kept.isDown) return kept;
    const up = this.#servers.filter(({ isDown }) => !isDown);
    if (up.length === 0) return undefined;
    const server = this.#world.dice.pick(up);
    if (!isFresh) this.#kept.set(from, server.index);
    return server;
  }

  #unreachable(signal: AbortSignal): Promise<never> {
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      this.#world.clock.after(1, () => reject(networkError("ECONNREFUSED")));
    });
  }

  #execute(exchange: Exchange): void {
    const { server, outcome, ask, signal, reject } = exchange;
    if (server.isDown) {
      reject(networkError("ECONNRESET"));
      return;
    }
    if (outcome.reset === "before") {
      this.#note(exchange, { code: 0, body: "" });
      reject(networkError("ECONNRESET"));
      return;
    }
    // No client waits for what is read.
    if (signal.aborted && ask.method === "GET") return;
    if (outcome.silence === "before") {
      this.#note(exchange, { code: 0, body: "" });
      return;
    }
    const result = this.#result(exchange);
    if (result instanceof WatchStream) this.#openStream(result, exchange);
    else this.#finish(exchange, result);
  }

  #finish(exchange: Exchange, served: Served): void {
    const { outcome, reject } = exchange;
    this.#note(exchange, served);
    if (outcome.reset === "after") {
      reject(networkError("ECONNRESET"));
      return;
    }
    if (outcome.silence === "after") return;
    const delayMs = outcome.answerDelayMs ?? 0;
    if (delayMs === 0) this.#answer(exchange, served);
    else this.#world.clock.after(delayMs, () => this.#answer(exchange, served));
  }

  #result(exchange: Exchange): Served | WatchStream {
    if (exchange.outcome.status !== undefined) return faultBody(exchange);
    const allowed = this.#admit(exchange);
    if (!("ask" in allowed)) return allowed;
    try {
      return this.#tryWatch(allowed, exchange) ?? this.#serve(allowed, exchange);
    } catch (error) {
      if (error instanceof Refusal) return refusedWith(error);
      throw error;
    }
  }

  /** Authentication, flow control and authorization. */
  #admit(exchange: Exchange): Allowed | Served {
    const { request, ask, server, outcome } = exchange;
    const { counters, flow, index } = server;
    const identity = this.#identify(request.headers, index, counters);
    if (identity === undefined) return refusedWith(new Refusal(401, "Unauthorized", "Unauthorized"));
    const place = flow.flowOf(identity, ask);
    if (flow.admit(place, 1, this.#world.clock.monotonicMs()) === 0) {
      counters.rejected(place);
      return TOO_MANY;
    }
    counters.dispatched(place);
    const isAllowed = this.#world.access.authorize(identity, ask);
    counters.decided(isAllowed);
    if (!isAllowed) return refusedWith(forbiddenTo(identity, ask));
    const { headers, body } = request;
    return { ask, identity, headers, body, server: index, staleMs: outcome.staleMs ?? 0 };
  }

  #attempted(counters: Counters, isAccepted: boolean, count = 1): void {
    counters.attempted(isAccepted, count);
    if (!isAccepted && count > 0) this.refusedMs = this.#world.clock.monotonicMs();
  }

  #identify(headers: Readonly<Record<string, string>>, index: number, counters: Counters): Identity | undefined {
    const token = /^Bearer (.+)$/i.exec(headers["Authorization"] ?? "")?.[1];
    if (token === undefined) return ANONYMOUS;
    const identity = this.#world.access.authenticate(token, index);
    this.#attempted(counters, identity !== undefined);
    if (identity?.isStale === true) counters.stale();
    return identity;
  }

  #serve(allowed: Allowed, { server }: Exchange): Served {
    if (allowed.ask.resource !== undefined) return this.#dispatch.serve(allowed);
    return servePath(allowed, this.#world, () => server.counters.text);
  }

  /** Opens a watch; undefined for every other request, and for one that is refused. */
  #tryWatch(allowed: Allowed, exchange: Exchange): WatchStream | undefined {
    const { ask } = allowed;
    if (ask.verb !== "watch" || ask.subresource !== undefined) return undefined;
    const call = this.#dispatch.callOf(allowed);
    if (call === undefined) return undefined;
    const { server, outcome } = exchange;
    const terms = { lagMs: outcome.staleMs ?? 0, onEvent: outcome.onEvent };
    return openWatch(this.#world, call, terms, this.#headers(server, "application/json"));
  }

  #openStream(stream: WatchStream, exchange: Exchange): void {
    const { server, signal, outcome, resolve, ask } = exchange;
    this.#note(exchange, { code: 200, body: "" });
    if (signal.aborted) return;
    server.counters.requested(ask.verb, ask.resource ?? "", 200);
    server.watches.set(stream, exchange.request.from);
    exchange.abort = reason => stream.answer.destroy(reason);
    stream.start();
    const { onClose } = stream.answer;
    stream.answer.onClose = () => {
      onClose();
      server.watches.delete(stream);
    };
    if (outcome.silentAfterMs !== undefined) this.#world.clock.after(outcome.silentAfterMs, () => stream.silence());
    resolve(stream.answer.message);
  }

  #answer(exchange: Exchange, { code, body, contentType = "application/json" }: Served): void {
    const { server, ask, outcome, signal, resolve } = exchange;
    if (signal.aborted) return;
    server.counters.requested(ask.verb, ask.resource ?? "", code);
    const seconds = outcome.retryAfterSeconds ?? retryAfterIn(code, body);
    const headers = {
      ...this.#headers(server, contentType),
      ...(seconds > 0 && { "retry-after": this.#later(seconds, outcome) }),
    };
    const answer = new Answer(code, headers);
    exchange.abort = reason => answer.destroy(reason);
    const bytes = Buffer.from(body);
    if (outcome.truncate === undefined) {
      if (bytes.length > 0) answer.push(bytes);
      answer.end();
    } else {
      answer.push(bytes.subarray(0, Math.floor(outcome.truncate * bytes.length)));
      answer.end(networkError("ECONNRESET"));
    }
    resolve(answer.message);
  }

  #later(seconds: number, { isRetryDate }: Outcome): string {
    if (isRetryDate !== true) return String(seconds);
    return new Date(this.#world.clock.now().getTime() + 1_000 * seconds).toUTCString();
  }

  #headers({ offsetMs }: Server, contentType: string): Record<string, string> {
    const second = Math.floor((this.#world.clock.now().getTime() + offsetMs) / 1_000);
    if (second !== this.#date.second) this.#date = { second, text: new Date(1_000 * second).toUTCString() };
    return { "content-type": contentType, date: this.#date.text, "cache-control": "no-cache, private" };
  }

  #note({ request, ask, server, outcome }: Exchange, { code, before, after }: Served): void {
    const { resource = "", namespace, name, subresource, verb, path } = ask;
    const isLost = outcome.reset !== undefined || outcome.silence !== undefined;
    const { from, body } = request;
    const entry = {
      // Each field by itself: this is done for every request, and to spread several objects costs as much as to serve it.
      atMs: this.#world.clock.now().getTime() - START_MS,
      server: server.index,
      from,
      verb,
      path,
      resource,
      namespace,
      name,
      subresource,
      code,
      body,
      before,
      after,
      isLost,
    };
    for (const listener of this.listeners) listener(entry);
  }
}

interface Exchange {
  readonly request: SentRequest;
  readonly ask: Ask;
  readonly server: Server;
  readonly outcome: Outcome;
  readonly signal: AbortSignal;
  readonly resolve: (answer: IncomingMessage) => void;
  readonly reject: (error: Error) => void;
  /** What the end of the client's patience does: it gets no answer, or not its rest. */
  abort: (reason: Error) => void;
}

const TOO_MANY: Served = {
  code: 429,
  body: "Too many requests, please try again later.\n",
  contentType: "text/plain; charset=utf-8",
};

function refusedWith({ code, status }: Refusal): Served {
  return { code, body: JSON.stringify(status) };
}

const REASONS: Readonly<Record<number, string>> = {
  ...{
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
  },
  ...{ 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout" },
};

/** A 401 for a log is the kubelet's, to whom the API server's credentials are wrong: details tell it from the API server's own. */
function faultBody({ ask, outcome: { status = 500, message = "a fault of the world" } }: Exchange): Served {
  const isKubelets = status === 401 && ask.subresource === "log";
  const asked = `the server has asked for the client to provide credentials ( pods/log ${ask.name})`;
  const details = isKubelets ? { name: ask.name ?? "", kind: "pods/log" } : undefined;
  return refusedWith(new Refusal(status, REASONS[status] ?? "", isKubelets ? asked : message, details));
}

/** As the API server sets the header from the Status. */
function retryAfterIn(code: number, body: string): number {
  if (code < 400) return 0;
  const found = /"retryAfterSeconds":(\d+)/.exec(body)?.[1];
  return found === undefined ? (body === TOO_MANY.body ? 1 : 0) : Number(found);
}

function forbiddenTo({ user }: Identity, ask: Ask): Refusal {
  const { verb, group = "", resource, name, path } = ask;
  if (resource === undefined)
    return new Refusal(403, "Forbidden", `forbidden: User "${user}" cannot ${verb} path "${path}"`, {});
  return new Refusal(403, "Forbidden", refusal(ask, user), {
    ...(name !== undefined && { name }),
    ...(group !== "" && { group }),
    kind: resource,
  });
}
