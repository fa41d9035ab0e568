import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";

/** A response: JSON, or text as it is. */
export interface FakeAnswer {
  readonly code?: number;
  readonly body?: unknown;
  readonly text?: string;
  readonly headers?: Record<string, string>;
  /** The response goes on after its text. */
  readonly isOpen?: boolean;
}

/** A server for behavior that a real API server does not show on demand. */
export class StandIn {
  readonly requests: IncomingMessage[] = [];
  readonly sockets = new Set<Socket>();
  /** Connections that were opened. */
  opened = 0;
  handler: RequestListener;
  port = 0;
  readonly #isTls: boolean;
  readonly #server;
  readonly #arrived: (() => void)[] = [];

  constructor(handler: RequestListener = (_, response) => response.end("{}"), tls?: { key: string; cert: string }) {
    this.handler = handler;
    this.#isTls = tls !== undefined;
    const listener: RequestListener = (request, response) => {
      this.requests.push(request);
      this.#arrived.splice(0).forEach(resolve => resolve());
      this.handler(request, response);
    };
    this.#server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
    this.#server.on(this.#isTls ? "secureConnection" : "connection", (socket: Socket) => {
      this.opened++;
      this.sockets.add(socket);
      socket.on("close", () => this.sockets.delete(socket));
    });
  }

  /** Returns its URL, or what leads to it. */
  async start(): Promise<string> {
    await new Promise<void>(resolve => this.#server.listen(0, "127.0.0.1", resolve));
    this.port = (this.#server.address() as AddressInfo).port;
    return this.url;
  }

  get url(): string {
    return `http${this.#isTls ? "s" : ""}://127.0.0.1:${this.port}`;
  }

  /** Returns a kubeconfig for it. */
  config(user: object = { name: "u" }, path = ""): KubeConfig {
    const config = new KubeConfig();
    config.loadFromClusterAndUser({ name: "c", server: this.url + path, skipTLSVerify: true }, user as never);
    return config;
  }

  /** Resolves with the next request. */
  arrival(): Promise<void> {
    return new Promise(resolve => this.#arrived.push(resolve));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
  }
}

/** An API server that answers what the test says, with a kubeconfig for it. */
export class FakeServer extends StandIn {
  readonly #folder = mkdtempSync(join(tmpdir(), "kubectl-resilience-"));

  constructor(answer: (request: IncomingMessage) => FakeAnswer | Promise<FakeAnswer>) {
    super((request, response) => {
      void Promise.resolve(answer(request)).then(({ code = 200, body, text, headers, isOpen }) => {
        response.writeHead(code, { "Content-Type": "application/json", ...headers });
        response[isOpen === true ? "write" : "end"](text ?? JSON.stringify(body));
      });
    });
  }

  /** Returns the path of the kubeconfig. */
  override async start(): Promise<string> {
    return this.kubeconfig(await super.start());
  }

  /** Writes a kubeconfig with the contexts `here`, `there` for the same cluster, and `down` for one that is not reachable. */
  kubeconfig(server: string): string {
    const file = join(this.#folder, "config");
    const context = (name: string, cluster = "c"): object => ({
      ...{ name, context: { cluster, user: "u", namespace: `of-${name}` } },
    });
    const cluster = (name: string, address: string): object => ({
      ...{ name, cluster: { server: address, "insecure-skip-tls-verify": true } },
    });
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [cluster("c", server), cluster("down", "http://127.0.0.1:1")],
      users: [{ name: "u", user: { token: "secret-token" } }],
      contexts: [context("here"), context("there"), context("down", "down")],
      "current-context": "here",
    };
    writeFileSync(file, JSON.stringify(config));
    return file;
  }

  override async stop(): Promise<void> {
    rmSync(this.#folder, { recursive: true });
    await super.stop();
  }
}
