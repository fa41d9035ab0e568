import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { KubeConfig } from "@kubernetes/client-node";
import { Connection } from "../../src/cluster/connection";

/** What happens to lists and watches from now on. */
export type Fault =
  | "none"
  /** Connections are reset, open ones and new ones. */
  | "reset"
  /** Watches are reset in the middle of an event, bytes into its JSON. */
  | "truncate"
  /** As truncate, but with a clean end of the response. */
  | "cut"
  /** Watches end cleanly as soon as something was sent. */
  | "close"
  /** Nothing is sent any more, and no connection is closed. */
  | "silence"
  /** Each event is followed by a line that is no JSON. */
  | "nonsense"
  /** Watches say 410 within the stream. */
  | "gone-event"
  /** Every byte comes in a chunk of its own. */
  | "drip"
  | { readonly code: number; readonly retryAfter?: string };

/** A proxy before a real API server, that does to its answers what a network, a load balancer or an overload would. */
export class FaultProxy {
  readonly #upstream: Connection;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #watches = new Set<ServerResponse>();
  #fault: Fault = "none";
  /** How many requests came. */
  requests = 0;

  constructor(upstream: Connection) {
    this.#upstream = upstream;
    this.#server = createServer((request, response) => {
      void this.#forward(request, response).catch(() => response.destroy());
    });
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  async start(): Promise<void> {
    await new Promise<void>(resolve => this.#server.listen(0, "127.0.0.1", resolve));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
  }

  /** Connections that clients hold. */
  get sockets(): number {
    return this.#sockets.size;
  }

  /** A kubeconfig that leads here. */
  kubeConfig(): KubeConfig {
    const config = new KubeConfig();
    const server = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    config.loadFromClusterAndUser({ name: "faults", server, skipTLSVerify: true }, { name: "anybody" });
    return config;
  }

  /** Sets the fault; one that is about answers or connections cuts open watches, so that it shows at once. */
  set fault(fault: Fault) {
    this.#fault = fault;
    if (fault === "reset") for (const socket of this.#sockets) socket.resetAndDestroy();
    if (typeof fault === "object") for (const watch of this.#watches) watch.destroy();
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests++;
    const fault = this.#fault;
    if (fault === "reset") {
      request.socket.resetAndDestroy();
      return;
    }
    if (typeof fault === "object") {
      refuse(response, fault);
      return;
    }
    const watching = (request.url ?? "").includes("watch=true");
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const access = await this.#upstream.access();
    const accept = request.headers.accept ?? "application/json";
    const wire = { method: "GET", path: request.url ?? "/", headers: { Accept: accept } };
    const answer = await Connection.send(access, wire, gone.signal);
    response.writeHead(answer.statusCode ?? 500, { "Content-Type": "application/json" });
    response.flushHeaders();
    if (watching) this.#watches.add(response);
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) this.#pass(chunk, response, watching);
      response.end();
    } finally {
      this.#watches.delete(response);
    }
  }

  #pass(chunk: Buffer, response: ServerResponse, watching: boolean): void {
    const fault = watching ? this.#fault : "none";
    switch (fault) {
      case "silence":
        return;
      case "truncate":
        response.write(chunk.subarray(0, chunk.length >> 1), () => response.destroy());
        return;
      case "cut":
        response.end(chunk.subarray(0, chunk.length >> 1));
        return;
      case "close":
        response.end(chunk);
        return;
      case "nonsense":
        response.write(Buffer.concat([chunk, Buffer.from('{"type":"ADDED","object":\n')]));
        return;
      case "gone-event":
        response.end('{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}\n');
        return;
      case "drip":
        for (const byte of chunk) response.write(Buffer.of(byte));
        return;
      default:
        response.write(chunk);
    }
  }
}

function refuse(response: ServerResponse, fault: { code: number; retryAfter?: string }): void {
  response.writeHead(fault.code, {
    "Content-Type": "application/json",
    ...(fault.retryAfter === undefined ? {} : { "Retry-After": fault.retryAfter }),
  });
  response.end(JSON.stringify({ kind: "Status", code: fault.code, message: "by the proxy" }));
}
