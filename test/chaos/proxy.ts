import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request as send, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";
import { type Call, type CallKind, callOf, describeCall } from "./calls";

/** When the operator ends: just before its write is forwarded, which then never is, or when the API server has answered and nobody has heard it. */
export type Moment = "before" | "after";

/** At which of its writes: told by what it is and how many such there were, since what is said in between may differ from run to run. */
export interface CrashPoint {
  readonly call: string;
  /** Counted from 1. */
  readonly nth: number;
  readonly moment: Moment;
}

/** A write as the proxy saw it. */
export interface Write extends Call {
  /** Of the API server's answer; undefined until it has come, and where it was never asked. */
  code?: number;
}

/** What of the operator is watched, and where it ends. */
export interface Watched {
  /** Writes there and cluster-scoped ones are counted; all others are strays. */
  readonly namespace: string;
  readonly point?: CrashPoint | undefined;
  /** Ends the operator; resolves when it has ended. */
  readonly kill: () => Promise<void>;
}

/** What is answered in the API server's stead. */
export interface Reply {
  readonly code: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What befalls calls on their way, either way. Each may be kept waiting; what throws is cut off. */
export interface Meddler {
  /** Before the API server hears of it. With a reply it never does. */
  readonly before?: (call: Call, url: string) => Promise<Reply | undefined>;
  /** When the API server has answered, and nobody has heard of it. */
  readonly after?: (call: Call, url: string, code: number) => Promise<void>;
}

const HANDS_OFF: Required<Meddler> = { before: () => Promise.resolve(undefined), after: () => Promise.resolve() };

/** Where the API server is, and with what certificate to stand before it. */
export interface Upstream {
  readonly server: string;
  readonly ca: string;
  readonly serving: { readonly key: string; readonly cert: string };
}

/** Stands between the operator and the API server, knows each write, and ends the operator at one of them. */
export class CrashProxy {
  /** Those that count, in the order in which they came. */
  readonly writes: Write[] = [];
  /** Of objects that nobody has touched. */
  readonly strays: Write[] = [];
  /** How many of what is no write came: Leases and Events among them. */
  readonly others = new Map<CallKind, number>();
  readonly #upstream: Upstream;
  readonly #agent: Agent;
  readonly #server: Server;
  readonly #inFlight = new Set<Promise<void>>();
  /** What is being answered. */
  readonly #open = new Map<ServerResponse, Call>();
  #meddler = HANDS_OFF;
  #watched: Watched | undefined;
  #onCrash: () => void = () => undefined;

  constructor(upstream: Upstream) {
    this.#upstream = upstream;
    this.#agent = new Agent({ keepAlive: true, ca: upstream.ca });
    this.#server = createServer(upstream.serving, (request, response) => {
      response.on("close", () => this.#open.delete(response));
      const served = this.#serve(request, response).catch(() => void response.destroy());
      if (request.method === "GET") return;
      this.#inFlight.add(served);
      void served.finally(() => this.#inFlight.delete(served));
    });
  }

  async start(): Promise<void> {
    await new Promise<void>(resolve => this.#server.listen(0, "127.0.0.1", resolve));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#agent.destroy();
    await new Promise(resolve => this.#server.close(resolve));
  }

  /** Its own URL. */
  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** In the way of every call that comes from now on. */
  set meddler(meddler: Meddler) {
    this.#meddler = { ...HANDS_OFF, ...meddler };
  }

  /** Counts anew from now on. Resolves when the operator has ended at its point; without one, never. */
  watch(watched: Watched): Promise<void> {
    this.writes.length = 0;
    this.strays.length = 0;
    this.others.clear();
    this.#watched = watched;
    return new Promise(resolve => (this.#onCrash = resolve));
  }

  /** Waits until every write that has come is answered: what a process that has ended has asked for may still be carried out. */
  async settled(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  /** Breaks the connection of whatever is being answered, watches most of all; returns how many those were. */
  cut(which: (call: Call) => boolean): number {
    const found = [...this.#open].filter(([, call]) => which(call));
    for (const [response] of found) response.destroy();
    return found.length;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url = "/" } = request;
    const call = callOf(method, url);
    this.#open.set(response, call);
    const body = call.kind === "read" ? undefined : await bytesOf(request);
    const write = this.#note(call);
    const moment = this.#momentOf(write);
    if (moment === "before") return this.#crash(response);
    const own = await this.#meddler.before(call, url);
    if (own !== undefined) {
      reply(own, response);
      return;
    }
    const answer = await this.#forward(request, response, body);
    if (moment === "after") await bytesOf(answer);
    if (write !== undefined) write.code = codeOf(answer);
    if (moment === "after") return this.#crash(response);
    await this.#meddler.after(call, url, codeOf(answer));
    return pass(answer, response);
  }

  /** The write, if it counts. */
  #note(call: Call): Write | undefined {
    if (call.kind !== "write") {
      this.others.set(call.kind, (this.others.get(call.kind) ?? 0) + 1);
      return undefined;
    }
    const isOwn = call.namespace === undefined || call.namespace === this.#watched?.namespace;
    const write: Write = { ...call };
    (isOwn ? this.writes : this.strays).push(write);
    return isOwn ? write : undefined;
  }

  /** Asked once of each write, when it is the newest. */
  #momentOf(write: Write | undefined): Moment | undefined {
    const point = this.#watched?.point;
    if (write === undefined || point === undefined || describeCall(write) !== point.call) return undefined;
    return this.writes.filter(other => describeCall(other) === point.call).length === point.nth
      ? point.moment
      : undefined;
  }

  async #crash(response: ServerResponse): Promise<void> {
    await this.#watched?.kill();
    response.destroy();
    this.#onCrash();
  }

  #forward(request: IncomingMessage, response: ServerResponse, body: Buffer | undefined): Promise<IncomingMessage> {
    const { method, url, headers } = request;
    return new Promise((resolve, reject) => {
      const target = new URL(url ?? "/", this.#upstream.server);
      const forwarded = send(target, { method, headers: withoutHop(headers), agent: this.#agent }, resolve);
      forwarded.on("error", reject);
      // Nobody waits for a read any more; a write that has been sent is carried out.
      if (body === undefined) response.on("close", () => forwarded.destroy());
      forwarded.end(body);
    });
  }
}

function reply({ code, body, headers = {} }: Reply, response: ServerResponse): void {
  response.writeHead(code, { ...headers, "content-type": "application/json" }).end(JSON.stringify(body));
}

async function pass(answer: IncomingMessage, response: ServerResponse): Promise<void> {
  response.writeHead(codeOf(answer), withoutHop(answer.headers));
  response.flushHeaders();
  await pipeline(answer, response);
}

function codeOf({ statusCode = 502 }: IncomingMessage): number {
  return statusCode;
}

async function bytesOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** They concern one connection, and are not passed on to the other. */
const HOP_HEADERS: readonly string[] = ["connection", "keep-alive", "transfer-encoding"];

function withoutHop(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_HEADERS.includes(name)));
}
