import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiProxy } from "./api-proxy";
import type { Call } from "./calls";
import { bytesOf, codeOf, type Exchange, type Refusal } from "./exchange";
import { type Fault, isRefusal, pieceOf } from "./fault";
import type { Write } from "./proxy";

/** Delay of every answer, in milliseconds. */
const DELAY_MS = 3_000;

/** The answer that the operator gets instead. */
type Denial = Refusal | "reset" | "silence";

/** A fault of a single write. */
export interface WriteFault {
  /** Before: the API server never receives the write. After: it has carried the write out. */
  readonly moment: "before" | "after";
  readonly denial: Denial;
}

/** A proxy before a real API server that applies the faults of a network, a load balancer or an overload to its answers. */
export class FaultProxy extends ApiProxy {
  /** Every write, in order of arrival. */
  readonly writes: Write[] = [];
  /** Every request and its time of arrival, in milliseconds of the monotonic clock. */
  readonly requests: { readonly call: Call; readonly atMs: number }[] = [];
  /** By namespace: called once for each write there, on arrival. */
  readonly plans = new Map<string | undefined, (write: Write) => WriteFault | undefined>();
  readonly #watches = new Set<Exchange>();
  readonly #silent = new WeakSet<Socket>();
  #fault: Fault = "none";
  #concerns: (call: Call) => boolean = () => true;

  /** Begins a fault for every request that it affects. A fault of connections or answers ends open watches, so that it shows at once. */
  begin(fault: Fault, concerns: (call: Call) => boolean = () => true): void {
    this.#fault = fault;
    this.#concerns = concerns;
    if (fault === "reset") for (const socket of this.sockets) socket.destroy();
    if (fault === "silence" || fault === "unreachable") for (const socket of this.sockets) this.#silent.add(socket);
    if (isRefusal(fault)) for (const watch of this.#watches) if (concerns(watch.call)) watch.cut();
  }

  /** Ends the fault, except on connections that were silenced. */
  end(): void {
    this.begin("none");
  }

  protected async serve(exchange: Exchange): Promise<void> {
    this.requests.push({ call: exchange.call, atMs: performance.now() });
    const write = this.#note(exchange.call);
    const planned = write === undefined ? undefined : this.plans.get(write.namespace)?.(write);
    if (planned === undefined) return this.#pass(exchange, this.#faultOf(exchange), write);
    if (planned.moment === "after") await bytesOf(await forward(exchange, write));
    deny(exchange, planned.denial);
  }

  #note(call: Call): Write | undefined {
    if (call.kind !== "write") return undefined;
    const write: Write = { ...call };
    this.writes.push(write);
    return write;
  }

  #faultOf({ call }: Exchange): Fault {
    return this.#concerns(call) ? this.#fault : "none";
  }

  async #pass(exchange: Exchange, fault: Fault, write: Write | undefined): Promise<void> {
    if (fault === "reset" || isRefusal(fault)) {
      deny(exchange, fault);
      return;
    }
    if (fault === "unreachable") this.#silent.add(exchange.socket);
    if (this.#silent.has(exchange.socket)) return;
    if (fault === "delay") await sleep(DELAY_MS);
    const answer = await forward(exchange, write);
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
        const fault = this.#faultOf(exchange);
        if (fault === "delay") await sleep(DELAY_MS);
        if (!(await give(exchange, fault, chunk))) return;
      }
      if (!this.#silent.has(exchange.socket)) exchange.end();
    } finally {
      this.#watches.delete(exchange);
    }
  }
}

/** Forwards the request, and records the answer to a write. */
async function forward(exchange: Exchange, write: Write | undefined): Promise<IncomingMessage> {
  const answer = await exchange.forward();
  if (write !== undefined) write.code = codeOf(answer);
  return answer;
}

function deny(exchange: Exchange, denial: Denial): void {
  if (denial === "reset") exchange.cut();
  else if (denial !== "silence") exchange.refuse(denial);
}

/** Whether the body continues afterwards. */
async function give(exchange: Exchange, fault: Fault, chunk: Buffer): Promise<boolean> {
  const { sent, then } = pieceOf(fault, chunk, exchange.isWatch);
  for (const piece of sent) await exchange.write(piece);
  if (then === "end") exchange.end();
  if (then === "cut") exchange.cut();
  return then === "go on";
}
