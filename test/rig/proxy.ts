import { readFileSync } from "node:fs";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request as send, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";
import type { Lab } from "../lab";

/** The address of the API server, and the certificate that the proxy presents. */
export interface Upstream {
  readonly server: string;
  readonly ca: string;
  readonly serving: { readonly key: string; readonly cert: string };
}

/** The API server of a lab. The proxy presents its certificate. */
export function upstreamOf({ server, certificates: { ca, ...serving } }: Lab): Upstream {
  return { server, ca, serving };
}

/** Returns a kubeconfig of the lab with another URL of the API server. */
export function kubeconfigVia(url: string, path: string): string {
  const config = JSON.parse(readFileSync(path, "utf8")) as { clusters: { cluster: { server: string } }[] };
  for (const { cluster } of config.clusters) cluster.server = url;
  return JSON.stringify(config);
}

/** One request to the API server, and the ways to answer it. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Forwards the request to the API server; resolves with the head of the answer. */
  readonly forward: () => Promise<IncomingMessage>;
}

/** Sends the head of an answer, without these headers. */
export function begin({ response }: Exchange, answer: IncomingMessage, ...left: readonly string[]): void {
  response.writeHead(answer.statusCode ?? 502, without([...HOP_HEADERS, ...left], answer.headers));
  response.flushHeaders();
}

/** Forwards an answer unchanged, as it arrives. */
export async function relay(exchange: Exchange, answer: IncomingMessage): Promise<void> {
  begin(exchange, answer);
  await pipeline(answer, exchange.response);
}

/** Headers of one connection, which a proxy does not forward. */
const HOP_HEADERS: readonly string[] = ["connection", "keep-alive", "transfer-encoding"];

function without(names: readonly string[], headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}

async function bytesOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A TLS proxy between the operator and the API server. {@link serve} decides what happens to each request. */
export abstract class ApiProxy {
  readonly #upstream: Upstream;
  readonly #agent: Agent;
  readonly #server: Server;
  readonly #inFlight = new Set<Promise<void>>();

  constructor(upstream: Upstream) {
    this.#upstream = upstream;
    this.#agent = new Agent({ keepAlive: true, ca: upstream.ca });
    this.#server = createServer(upstream.serving, (request, response) => {
      const served = this.#take(request, response).catch(() => void response.destroy());
      if (request.method === "GET") return;
      this.#inFlight.add(served);
      void served.finally(() => this.#inFlight.delete(served));
    });
  }

  /** Handles one request; a rejection breaks its connection. */
  protected abstract serve(exchange: Exchange): Promise<void>;

  async start(port = 0, address = "127.0.0.1"): Promise<void> {
    await new Promise<void>(resolve => this.#server.listen(port, address, resolve));
  }

  async stop(): Promise<void> {
    const closed = new Promise(resolve => this.#server.close(resolve));
    this.#server.closeAllConnections();
    this.#agent.destroy();
    await closed;
  }

  /** Breaks all connections and accepts none. Returns a function that accepts them again. */
  cutOff(): () => Promise<void> {
    const { port } = this.#server.address() as AddressInfo;
    void this.stop();
    return () => this.start(port);
  }

  /** URL of the proxy. */
  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Waits until every received write is answered: the API server may still carry out a write of a process that has exited. */
  async settled(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = request.method === "GET" ? undefined : await bytesOf(request);
    const { method, url, headers } = request;
    const options = { method, headers: without(HOP_HEADERS, headers), agent: this.#agent };
    const forward = (): Promise<IncomingMessage> =>
      new Promise((resolve, reject) => {
        const forwarded = send(new URL(url ?? "/", this.#upstream.server), options, resolve);
        forwarded.on("error", reject);
        // No client waits for a read any longer; a write that was sent is carried out.
        if (body === undefined) response.on("close", () => forwarded.destroy());
        forwarded.end(body);
      });
    return this.serve({ request, response, forward });
  }
}

/** A write as the proxy saw it. */
export interface Write {
  /** Method and resource: `POST pods/eviction`. */
  readonly call: string;
  /** Undefined for cluster-scoped objects. */
  readonly namespace: string | undefined;
  /** Status code of the API server's answer; undefined before the answer, and if the write was not forwarded. */
  code?: number;
}

const READS: readonly string[] = ["GET", "HEAD", "OPTIONS"];

/** API groups of which no write counts: reviews write nothing; and Leases, Events and the store of Pepr, the framework of the operator. */
const OTHERS = ["coordination.k8s.io", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "pepr.dev"];

/** Group, namespace, plural, and `/subresource`. */
const PATH = /^\/(?:api|apis\/([^/]+))\/v[^/]+(?:\/namespaces\/([^/]+)(?=\/))?\/([^/]+)(?:\/[^/]+(\/[^/]+)?)?$/;

/** The write that a request is; undefined for one that does not count. */
function writeOf({ method = "GET", url = "/" }: IncomingMessage): Write | undefined {
  const [, group = "", namespace, plural = url, subresource = ""] = PATH.exec(url.replace(/\?.*$/s, "")) ?? [];
  if (READS.includes(method) || OTHERS.includes(group)) return undefined;
  return { call: `${method} ${plural}${subresource}`, namespace };
}

/** Intercepts writes and their answers. A promise delays the write; a rejection breaks its connection. */
export interface Interceptor {
  /** Called before the API server receives the write. */
  readonly before?: (write: Write) => Promise<void>;
  /** Called after the API server's answer, before the operator receives it. */
  readonly after?: (write: Write) => Promise<void>;
}

/** Records each write of the operator. */
export class RecordingProxy extends ApiProxy {
  /** In order of arrival. */
  readonly writes: Write[] = [];
  /** Intercepts every write that arrives from now on. */
  interceptor: Interceptor = {};

  /** Forgets the writes so far. */
  forget(): void {
    this.writes.length = 0;
  }

  /** Writes in a namespace, and cluster-scoped ones. */
  writesIn(namespace: string): readonly Write[] {
    return this.writes.filter(write => write.namespace === undefined || write.namespace === namespace);
  }

  protected async serve(exchange: Exchange): Promise<void> {
    const write = writeOf(exchange.request);
    if (write === undefined) return relay(exchange, await exchange.forward());
    this.writes.push(write);
    await this.interceptor.before?.(write);
    const answer = await exchange.forward();
    write.code = answer.statusCode ?? 502;
    await this.interceptor.after?.(write);
    return relay(exchange, answer);
  }
}
