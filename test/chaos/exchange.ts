import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { type Agent, request as send } from "node:https";
import { pipeline } from "node:stream/promises";
import { type Call, callOf } from "./calls";

/** One request to the API server, and the ways to answer it. */
export class Exchange {
  readonly call: Call;
  readonly isWatch: boolean;
  readonly #upstream: { readonly server: string; readonly agent: Agent };
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #body: Buffer | undefined;

  private constructor(given: Arrival, body: Buffer | undefined) {
    const { method = "GET", url = "/" } = given.request;
    this.call = callOf(method, url);
    this.isWatch = /[?&]watch=(true|1)(&|$)/i.test(url);
    this.#upstream = given.upstream;
    this.#request = given.request;
    this.#response = given.response;
    this.#body = body;
  }

  /** Resolves when the request body is complete. */
  static async of(given: Arrival): Promise<Exchange> {
    const body = given.request.method === "GET" ? undefined : await bytesOf(given.request);
    return new Exchange(given, body);
  }

  /** Path and query of the request. */
  get url(): string {
    return this.#request.url ?? "/";
  }

  /** Forwards the request to the API server; resolves with the head of the answer. */
  forward(): Promise<IncomingMessage> {
    const { method, url, headers } = this.#request;
    const { server, agent } = this.#upstream;
    return new Promise((resolve, reject) => {
      const forwarded = send(
        new URL(url ?? "/", server),
        { method, headers: without(HOP_HEADERS, headers), agent },
        resolve,
      );
      forwarded.on("error", reject);
      // No client waits for a read any longer; a write that was sent is carried out.
      if (this.#body === undefined) this.#response.on("close", () => forwarded.destroy());
      forwarded.end(this.#body);
    });
  }

  /** Forwards that answer unchanged, as it arrives. */
  async relay(answer: IncomingMessage): Promise<void> {
    this.#response.writeHead(codeOf(answer), without(HOP_HEADERS, answer.headers));
    this.#response.flushHeaders();
    await pipeline(answer, this.#response);
  }

  /** Sends only the head, without the length of the body. */
  begin(answer: IncomingMessage): void {
    this.#response.writeHead(codeOf(answer), without([...HOP_HEADERS, "content-length"], answer.headers));
    this.#response.flushHeaders();
  }

  /** Sends a part of the body; resolves when it is sent, or the client has disconnected. */
  async write(piece: Buffer): Promise<void> {
    if (this.#response.destroyed) return;
    await new Promise<void>(resolve => this.#response.write(piece, () => resolve()));
  }

  /** Ends the body cleanly. */
  end(): void {
    this.#response.end();
  }
}

/** The parts of an exchange. */
interface Arrival {
  readonly upstream: { readonly server: string; readonly agent: Agent };
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The status code of an answer. */
export function codeOf({ statusCode = 502 }: IncomingMessage): number {
  return statusCode;
}

/** The complete body. */
async function bytesOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Headers of one connection, which a proxy does not forward. */
const HOP_HEADERS: readonly string[] = ["connection", "keep-alive", "transfer-encoding"];

function without(names: readonly string[], headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}
