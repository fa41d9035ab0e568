import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A response: JSON, or text as it is. */
export interface FakeAnswer {
  readonly code?: number;
  readonly body?: unknown;
  readonly text?: string;
  readonly headers?: Record<string, string>;
  /** The response goes on after its text. */
  readonly isOpen?: boolean;
}

/** An API server that answers what the test says, with a kubeconfig for it. */
export class FakeServer {
  readonly requests: IncomingMessage[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), "kubectl-resilience-"));
  readonly #server;

  constructor(answer: (request: IncomingMessage) => FakeAnswer | Promise<FakeAnswer>) {
    this.#server = createServer((request: IncomingMessage, response: ServerResponse) => {
      this.requests.push(request);
      void Promise.resolve(answer(request)).then(({ code = 200, body, text, headers, isOpen }) => {
        response.writeHead(code, { "Content-Type": "application/json", ...headers });
        response[isOpen === true ? "write" : "end"](text ?? JSON.stringify(body));
      });
    });
  }

  /** Returns the path of the kubeconfig. */
  async start(): Promise<string> {
    await new Promise<void>(resolve => this.#server.listen(0, "127.0.0.1", resolve));
    return this.kubeconfig(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`);
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

  async stop(): Promise<void> {
    rmSync(this.#folder, { recursive: true });
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
  }
}
