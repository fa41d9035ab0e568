import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describeError } from "../core/errors";
import type { Log } from "../core/ports";

/** One thing that has to be well. */
export interface HealthCheck {
  readonly name: string;
  /** What is wrong, in words; null while all is well. What it throws counts as wrong. */
  readonly trouble: () => string | null;
}

/** What the server tells. */
export interface HealthServerOptions {
  /** `*`: all addresses, of IPv6 and IPv4. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** `/healthz`: whether restarting this process would help, such as a loop that no longer turns. */
  readonly health: readonly HealthCheck[];
  /** `/readyz`: whether it can do its work; a follower can. */
  readonly readiness: readonly HealthCheck[];
  /** `/metrics`. */
  readonly metrics: () => Promise<string>;
  readonly log: Log;
}

/** Nobody but the kubelet and Prometheus asks; more connections than this are refused. */
const MAX_CONNECTIONS = 32;

/** A request has to arrive within this, in milliseconds. */
const REQUEST_TIMEOUT_MS = 5_000;

/** How often that is looked at, in milliseconds. Node's own 30 s would let connections that say nothing keep probes out for as long. */
const TIMEOUT_CHECK_MS = 1_000;

const TEXT = "text/plain; charset=utf-8";
const EXPOSITION = "text/plain; version=0.0.4; charset=utf-8";

interface Page {
  readonly code: number;
  readonly type: string;
  readonly body: string;
}

/** Answers `/healthz`, `/readyz` and `/metrics`, one check per line, as the API server's `/readyz?verbose` does. */
export class HealthServer {
  readonly #options: HealthServerOptions;
  readonly #server: Server;

  constructor(options: HealthServerOptions) {
    this.#options = options;
    this.#server = createServer({
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    });
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.keepAliveTimeout = REQUEST_TIMEOUT_MS;
    this.#server.on("request", (request, response) => void this.#answer(request, response));
  }

  /** Listens; resolves with the port. Rejects when the port is taken. */
  start(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      const { host, port } = this.#options;
      this.#server.listen({ port, ...(host === "*" ? {} : { host }) }, () => {
        this.#server.off("error", reject);
        this.#server.on("error", error => this.#options.log.error({ error: error.message }, "health server failed"));
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  /** Closes the port and all connections. */
  async stop(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    response.on("error", () => response.destroy());
    const page = await this.#page(request);
    response.writeHead(page.code, { "Content-Type": page.type, "Cache-Control": "no-store" });
    response.end(request.method === "HEAD" ? undefined : page.body);
  }

  async #page(request: IncomingMessage): Promise<Page> {
    if (request.method !== "GET" && request.method !== "HEAD") return text(405, "expected GET or HEAD\n");
    const path = (request.url ?? "/").split("?")[0];
    switch (path) {
      case "/healthz":
        return verdict("healthz", this.#options.health);
      case "/readyz":
        return verdict("readyz", this.#options.readiness);
      case "/metrics":
        return this.#metrics();
      default:
        return text(404, "expected /healthz, /readyz or /metrics\n");
    }
  }

  async #metrics(): Promise<Page> {
    try {
      return { code: 200, type: EXPOSITION, body: await this.#options.metrics() };
    } catch (error) {
      return text(500, `metrics: ${describeError(error)}\n`);
    }
  }
}

function verdict(name: string, checks: readonly HealthCheck[]): Page {
  const results = checks.map(check => ({ name: check.name, trouble: troubleOf(check) }));
  const lines = results.map(result =>
    result.trouble === null ? `[+]${result.name} ok` : `[-]${result.name} failed: ${oneLine(result.trouble)}`,
  );
  const passed = results.every(result => result.trouble === null);
  lines.push(`${name} check ${passed ? "passed" : "failed"}`);
  return text(passed ? 200 : 503, `${lines.join("\n")}\n`);
}

function troubleOf(check: HealthCheck): string | null {
  try {
    return check.trouble();
  } catch (error) {
    return describeError(error);
  }
}

function oneLine(trouble: string): string {
  return trouble.replace(/\s+/g, " ");
}

function text(code: number, body: string): Page {
  return { code, type: TEXT, body };
}
