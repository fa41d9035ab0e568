import { MalformedError } from "./watch-end";

const LINE_FEED = 0x0a;

/**
 * Cuts a stream of bytes into lines. It cuts bytes, not text, so a character that is split across two chunks stays whole, and it
 * joins the parts of a line once, so a long line costs no more than its length.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of a line that has no end yet. */
  get pending(): number {
    return this.#size;
  }

  /** The lines that this chunk completes, without empty ones. @throws MalformedError when a line is longer than the bound */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      this.#append(chunk.subarray(start, end));
      if (this.#size > 0) lines.push(this.#join());
      start = end + 1;
    }
    this.#append(chunk.subarray(start));
    return lines;
  }

  #append(part: Buffer): void {
    if (part.length === 0) return;
    this.#size += part.length;
    if (this.#size > this.#maxBytes) throw new MalformedError(`a line is longer than ${this.#maxBytes} bytes`);
    this.#parts.push(part);
  }

  #join(): string {
    const line = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts, this.#size);
    this.#parts = [];
    this.#size = 0;
    return line?.toString("utf8") ?? "";
  }
}
