import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { createSecureContext } from "node:tls";
import type { Cancel, Clock } from "../../core/clock";
import { publicMessage } from "../../core/errors";
import type { Log } from "../../core/ports";
import type { AuditMetrics, AuditResult, RejectedRequest } from "../../core/rejections";
import { TokenBucket } from "../../core/token-bucket";
import { type AuditCredentials, isAuthorized, readAuditCredentials } from "./credentials";
import { rejectedIn } from "./event-list";

/** Only API servers connect; further connections are refused. */
const MAX_CONNECTIONS = 64;

/** Deadline for a whole request to arrive, and for the TLS handshake, in milliseconds. */
const REQUEST_TIMEOUT_MS = 5_000;
const TIMEOUT_CHECK_MS = 1_000;

/** API servers keep a connection for a minute and a half without a request. */
const KEEP_ALIVE_MS = 120_000;

/** A batch of 400 rejected requests has about 300 KiB. */
export const MAX_BODY_BYTES = 1_048_576;

/** Bodies that are in memory at the same time. */
export const MAX_BODIES = 4;

/** An API server sends ten batches per second at most by default; a client that is rejected is in the next one, too. */
const BATCHES = { burst: 30, ratePerSecond: 10 };

/** Files of a mounted Secret are read again after this time. */
const RELOAD_MS = 60_000;

const JSON_TYPE = { "Content-Type": "application/json", "Cache-Control": "no-store" };

export interface AuditServerOptions {
  /** `*`: all addresses, IPv6 and IPv4. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** With the files `tls.crt`, `tls.key` and `token`. */
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Only the leader takes events. */
  readonly isLeader: () => boolean;
  readonly onRejected: (requests: readonly RejectedRequest[]) => void;
  readonly metrics: AuditMetrics;
}

/**
 * Serves the audit webhook of the API servers (docs/adr/0033). An API server sends what was answered with an error again, so whatever is
 * not wanted is answered 200 and dropped. A standby closes the connection instead: then the API server tries again, on another connection.
 */
export class AuditServer {
  readonly #options: AuditServerOptions;
  readonly #batches: TokenBucket;
  #server: Server | undefined;
  #credentials: AuditCredentials | undefined;
  #cancelReload: Cancel = () => undefined;
  #bodies = 0;

  constructor(options: AuditServerOptions) {
    this.#options = options;
    this.#batches = new TokenBucket(options.clock, BATCHES);
  }

  /**
   * Resolves with the port.
   *
   * @throws TerminalError for missing files, and the error of a port that is taken or of files that are no certificate and key
   */
  async start(): Promise<number> {
    const { host, port, folder } = this.#options;
    const credentials = await readAuditCredentials(folder);
    const server = createServer({
      ...{ cert: credentials.cert, key: credentials.key, minVersion: "TLSv1.2", handshakeTimeout: REQUEST_TIMEOUT_MS },
      ...{ requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS },
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    });
    server.maxConnections = MAX_CONNECTIONS;
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    server.prependListener("connection", (socket: Socket) => this.#refuseOnStandby(socket));
    server.on("tlsClientError", (_, socket) => socket.destroy());
    server.on("request", (request, response) => this.#answer(request, response));
    this.#server = server;
    this.#credentials = credentials;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ port, ...(host === "*" ? {} : { host }) }, resolve);
    });
    this.#reloadLater();
    server.on("error", error => this.#options.log.error({ error: error.message }, "audit server failed"));
    return (server.address() as AddressInfo).port;
  }

  /** Closes the port and all connections. */
  async stop(): Promise<void> {
    this.#cancelReload();
    const server = this.#server;
    if (server?.listening !== true) return;
    const closed = new Promise<void>(resolve => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  }

  #refuseOnStandby(socket: Socket): void {
    if (this.#options.isLeader()) return;
    this.#options.metrics.auditRequest("standby");
    socket.destroy();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { isLeader, metrics } = this.#options;
    response.on("error", () => response.destroy());
    request.on("error", () => request.destroy());
    if (!isLeader()) {
      metrics.auditRequest("standby");
      request.destroy();
    } else if (!isAuthorized(request.headers.authorization, this.#credentials?.token ?? "")) {
      metrics.auditRequest("unauthorized");
      response.writeHead(401, { ...JSON_TYPE, Connection: "close" }).end("{}\n", () => request.destroy());
    } else {
      const refused = this.#refuse(request);
      if (refused === undefined) void this.#take(request, response);
      else {
        metrics.auditRequest(refused);
        drop(request, response);
      }
    }
  }

  #refuse({ method, headers }: IncomingMessage): AuditResult | undefined {
    if (method !== "POST") return "invalid";
    if (Number(headers["content-length"] ?? 0) > MAX_BODY_BYTES) return "too_large";
    return this.#bodies < MAX_BODIES && this.#batches.take() ? undefined : "shed";
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#bodies++;
    const body = await readBody(request);
    this.#bodies--;
    const result = this.#look(body);
    this.#options.metrics.auditRequest(result);
    drop(request, response);
  }

  #look(body: Buffer | undefined): AuditResult {
    if (body === undefined) return "too_large";
    const rejected = rejectedIn(body.toString("utf8"));
    if (rejected === undefined) return "invalid";
    this.#options.metrics.auditRejections(rejected.length);
    this.#options.onRejected(rejected);
    return "accepted";
  }

  #reloadLater(): void {
    this.#cancelReload = this.#options.clock.after(RELOAD_MS, () => void this.#reload());
  }

  /** A Secret that was rotated counts without a restart; one that can't be used leaves the old one in place. */
  async #reload(): Promise<void> {
    try {
      const credentials = await readAuditCredentials(this.#options.folder);
      const { cert, key } = credentials;
      if (cert !== this.#credentials?.cert || key !== this.#credentials.key) {
        createSecureContext({ cert, key });
        this.#server?.setSecureContext({ cert, key });
      }
      this.#credentials = credentials;
    } catch (error) {
      this.#options.log.warn({ error: publicMessage(error) }, "failed to read the files of the audit webhook again");
    }
    if (this.#server?.listening === true) this.#reloadLater();
  }
}

/** Answers that all is well, whatever follows of the body. */
function drop(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  response.writeHead(200, JSON_TYPE).end("{}\n");
}

/** Resolves with undefined if the body is too large or ends early; the rest of it is thrown away as it comes. */
function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise(resolve => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
      else {
        chunks.length = 0;
        resolve(undefined);
      }
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("close", () => resolve(undefined));
  });
}
