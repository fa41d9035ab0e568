import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { ApiProxy } from "./api-proxy";
import { bytesOf, type Exchange } from "./exchange";
import { type Fault, isRefusal, pieceOf } from "./fault";

/** A proxy before a real API server that applies the faults of a network, a load balancer or an overload to its answers. */
export class FaultProxy extends ApiProxy {
  readonly #watches = new Set<Exchange>();
  readonly #silent = new WeakSet<Socket>();
  #fault: Fault = "none";

  /** Begins a fault. One of connections or answers ends open watches, so that it shows at once. */
  begin(fault: Fault): void {
    this.#fault = fault;
    if (fault === "reset") for (const socket of this.sockets) socket.destroy();
    if (fault === "silence") for (const socket of this.sockets) this.#silent.add(socket);
    if (isRefusal(fault)) for (const watch of this.#watches) watch.cut();
  }

  /** Ends the fault, except on connections that were silenced. */
  end(): void {
    this.begin("none");
  }

  protected async serve(exchange: Exchange): Promise<void> {
    const fault = this.#fault;
    if (fault === "reset") {
      exchange.cut();
      return;
    }
    if (isRefusal(fault)) {
      exchange.refuse(fault);
      return;
    }
    if (this.#silent.has(exchange.socket)) return;
    const answer = await exchange.forward();
    if (exchange.isWatch) return this.#passWatch(exchange, answer);
    if (fault !== "truncate" && fault !== "cut") return exchange.relay(answer);
    const body = await bytesOf(answer);
    exchange.begin(answer);
    await give(exchange, fault, body);
  }

  /** A fault that begins later affects this request, too. */
  async #passWatch(exchange: Exchange, answer: IncomingMessage): Promise<void> {
    exchange.begin(answer);
    this.#watches.add(exchange);
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        if (this.#silent.has(exchange.socket)) continue;
        if (!(await give(exchange, this.#fault, chunk))) return;
      }
      if (!this.#silent.has(exchange.socket)) exchange.end();
    } finally {
      this.#watches.delete(exchange);
    }
  }
}

/** Whether the body continues afterwards. */
async function give(exchange: Exchange, fault: Fault, chunk: Buffer): Promise<boolean> {
  const { sent, then } = pieceOf(fault, chunk, exchange.isWatch);
  for (const piece of sent) await exchange.write(piece);
  if (then === "end") exchange.end();
  if (then === "cut") exchange.cut();
  return then === "go on";
}
