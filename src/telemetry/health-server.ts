import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describeError } from "../core/errors";
import { oneLine } from "../core/text";
import type { Log } from "../core/ports";

export interface HealthCheck {
  readonly name: string;
  /** Returns the problem, or null. An error counts as a problem. */
  readonly trouble: () => string | null;
}

export interface HealthServerOptions {
  /** `*`: all addresses, IPv6 and IPv4. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** `/healthz`: fails if a restart of the process would help, such as for a hanging loop. */
  readonly health: readonly HealthCheck[];
  /** `/readyz`: fails if the operator cannot work. A standby is ready. */
  readonly readiness: readonly HealthCheck[];
  /** `/metrics`. */
  readonly metrics: () => Promise<string>;
  readonly log: Log;
}

/** Only the kubelet and Prometheus connect; further connections are refused. */
const MAX_CONNECTIONS = 32;

/** Deadline for a whole request to arrive, in milliseconds. */
const REQUEST_TIMEOUT_MS = 5_000;

/** Interval of that check in milliseconds. With Node's default of 30 s, silent connections could block probes that long. */
const TIMEOUT_CHECK_MS = 1_000;

const TEXT = "text/plain; charset=utf-8";
const EXPOSITION = "text/plain; version=0.0.4; charset=utf-8";

interface Page {
  readonly code: number;
  readonly type: string;
  readonly body: string;
}

/** Serves `/healthz`, `/readyz` and `/metrics`, with one check per line like the API server's `/readyz?verbose`. */
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

  /** Resolves with the port; rejects if it is taken. */
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
        return checkPage("healthz", this.#options.health);
      case "/readyz":
        return checkPage("readyz", this.#options.readiness);
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

function checkPage(name: string, checks: readonly HealthCheck[]): Page {
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

function text(code: number, body: string): Page {
  return { code, type: TEXT, body };
}
