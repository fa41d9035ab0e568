import { Agent, createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { Exchange } from "./exchange";

/** The address of the API server, and the certificate that the proxy presents. */
export interface Upstream {
  readonly server: string;
  readonly ca: string;
  readonly serving: { readonly key: string; readonly cert: string };
}

/** A TLS proxy between the operator and the API server. {@link serve} decides what happens to each request. */
export abstract class ApiProxy {
  /** Open connections of clients. */
  readonly sockets = new Set<Socket>();
  readonly #agent: Agent;
  readonly #server: Server;
  readonly #inFlight = new Set<Promise<void>>();

  constructor(upstream: Upstream) {
    this.#agent = new Agent({ keepAlive: true, ca: upstream.ca });
    const towards = { server: upstream.server, agent: this.#agent };
    this.#server = createServer(upstream.serving, (request, response) => {
      const served = Exchange.of({ upstream: towards, request, response })
        .then(exchange => this.serve(exchange))
        .catch(() => void response.destroy());
      if (request.method === "GET") return;
      this.#inFlight.add(served);
      void served.finally(() => this.#inFlight.delete(served));
    });
    this.#server.on("secureConnection", (socket: Socket) => {
      this.sockets.add(socket);
      socket.on("close", () => this.sockets.delete(socket));
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
}
