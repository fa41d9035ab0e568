import type { IncomingMessage } from "node:http";

type Handler = (value?: unknown) => void;

/** The answer of a simulated server: the head, and a body that is there or that comes. It is as much of an IncomingMessage as a client of it uses. */
export class Answer implements AsyncIterable<Buffer> {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly #handlers = new Map<string, Handler[]>();
  readonly #chunks: Buffer[] = [];
  /** Wakes an iterator. */
  #wake: (() => void) | undefined;
  #ended: { readonly error?: Error } | undefined;
  #isFlowing = false;
  #isPlanned = false;
  #isClosed = false;
  /** Called once when the client or the server ends the body. */
  onClose: () => void = () => undefined;

  constructor(statusCode: number, headers: Readonly<Record<string, string>>) {
    this.statusCode = statusCode;
    this.headers = headers;
  }

  /** As the operator's client takes it. */
  get message(): IncomingMessage {
    return this as unknown as IncomingMessage;
  }

  push(chunk: Buffer): void {
    if (this.#ended !== undefined) return;
    this.#chunks.push(chunk);
    this.#go();
  }

  /** Ends the body: whole, or broken off by an error. */
  end(error?: Error): void {
    if (this.#ended !== undefined) return;
    this.#ended = error === undefined ? {} : { error };
    this.#go();
  }

  on(event: string, handler: Handler): this {
    this.#handlers.set(event, [...(this.#handlers.get(event) ?? []), handler]);
    if (event !== "data") return this;
    this.#isFlowing = true;
    this.#go();
    return this;
  }

  once(event: string, handler: Handler): this {
    return this.on(event, handler);
  }

  destroy(error?: Error): this {
    if (this.#isClosed) return this;
    this.#chunks.length = 0;
    this.#ended ??= { error: error ?? new Error("aborted") };
    this.#close(error);
    this.#wake?.();
    return this;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk !== undefined) yield chunk;
        else if (this.#ended === undefined) await new Promise<void>(resolve => (this.#wake = resolve));
        else if (this.#ended.error !== undefined) throw this.#ended.error;
        else return;
      }
    } finally {
      this.#close();
    }
  }

  #go(): void {
    this.#wake?.();
    this.#wake = undefined;
    if (!this.#isFlowing || this.#isPlanned || this.#isClosed) return;
    this.#isPlanned = true;
    queueMicrotask(() => {
      this.#isPlanned = false;
      this.#flow();
    });
  }

  #flow(): void {
    for (let chunk = this.#chunks.shift(); chunk !== undefined && !this.#isClosed; chunk = this.#chunks.shift())
      this.#emit("data", chunk);
    if (this.#ended === undefined || this.#isClosed) return;
    const { error } = this.#ended;
    if (error === undefined) this.#emit("end");
    this.#close(error);
  }

  #close(error?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onClose();
    if (error !== undefined) this.#emit("error", error);
    this.#emit("close");
  }

  #emit(event: string, value?: unknown): void {
    for (const handler of this.#handlers.get(event) ?? []) handler(value);
  }
}
