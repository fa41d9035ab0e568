import { MalformedError } from "./watch-end";

const LINE_FEED = 0x0a;

/**
 * Splits a stream of bytes into lines. It splits bytes, so that a character in two chunks stays whole, and joins the parts of a
 * line only once, so that long lines take linear time.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of the last, incomplete line. */
  get pending(): number {
    return this.#size;
  }

  /** Returns the lines that this chunk completes, without empty ones. @throws MalformedError for a line that is too long */
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
    if (this.#size > this.#maxBytes)
      throw new MalformedError(`expected lines of at most ${this.#maxBytes} bytes, got a longer one`);
    this.#parts.push(part);
  }

  #join(): string {
    const line = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts, this.#size);
    this.#parts = [];
    this.#size = 0;
    return line?.toString("utf8") ?? "";
  }
}
