import { runToEnd, type Steps } from "../../core/slices";
import type { LogClass } from "./classes";
import { classify } from "./classify";
import { nextLiteral } from "./literal-search";
import { LINE_LOOKAHEAD, MAX_RECORD_BYTES, headBefore, recordEnd } from "./records";
import { next401 } from "./required-literals";

/** Receives a record that has a class: the class, its first byte and the byte after its last. */
export type OnRecord = (cls: LogClass, start: number, end: number) => void;

/**
 * Finds the records of a log that have a class, in order. Decodes only records that contain a literal; otherwise it reads
 * about every third byte.
 * @param bytes UTF-8 text of whole lines, as pods/log returns it (with or without timestamps).
 * @param onRecord called once for every record whose class is not `none`.
 */
export function scanRecords(bytes: Uint8Array, onRecord: OnRecord): void {
  runToEnd(scanInSteps(bytes, onRecord));
}

/** Does the same in steps of one decoded record. A log full of them takes a thousand times as long as one without. */
export function scanInSteps(bytes: Uint8Array, onRecord: OnRecord): Steps {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return scanRange(buffer, buffer.length, onRecord);
}

/** Scans the records in [0, to); `to` is the end of a record. */
function* scanRange(buffer: Buffer, to: number, onRecord: OnRecord): Steps {
  let literal = -1;
  let code = -1;
  for (let done = 0; done < to; ) {
    // Each search continues from its own last hit, so neither reads a byte twice.
    if (literal < done) literal = nextLiteral(buffer, done, to);
    if (code < done) code = next401(buffer, done, to);
    const hit = Math.min(literal, code);
    if (hit >= to) return;
    done = classifyAround(buffer, hit, done, onRecord);
    yield;
  }
}

/** Classifies the record around the hit and returns its end. */
function classifyAround(buffer: Buffer, hit: number, done: number, onRecord: OnRecord): number {
  let start = headBefore(buffer, hit, done);
  let end = recordEnd(buffer, start);
  while (end <= hit) {
    start = end;
    end = recordEnd(buffer, start);
  }
  const cls = classify(textOf(buffer, start, end));
  if (cls !== "none") onRecord(cls, start, end);
  return end;
}

/** Returns the text of a record without its last line break. */
function textOf(buffer: Buffer, start: number, end: number): string {
  return buffer.toString("utf8", start, buffer[end - 1] === 0x0a ? end - 1 : end);
}

/** Receives a record that has a class: the class, its bytes with the line break, and its offset in the stream. */
export type OnStreamRecord = (cls: LogClass, record: Uint8Array, offset: number) => void;

/** Bytes after the start of a record that suffice to find its end. */
const CERTAIN = MAX_RECORD_BYTES + LINE_LOOKAHEAD;

/** Scans a log that arrives in chunks, cut anywhere. Keeps the last record until its end is known. */
export class RecordStream {
  #held: Uint8Array[] = [];
  #offset = 0;

  constructor(private readonly onRecord: OnStreamRecord) {}

  /** Adds the next chunk. */
  push(chunk: Uint8Array): void {
    this.#held.push(chunk);
    // A chunk without a line break completes no record, so joining it can wait.
    if (chunk.length < MAX_RECORD_BYTES && !chunk.includes(0x0a)) return;
    const buffer = this.#join();
    this.#emit(buffer, certainEnd(buffer));
  }

  /** Ends the log: classifies the rest. */
  end(): void {
    const buffer = this.#join();
    this.#emit(buffer, buffer.length);
  }

  #join(): Buffer {
    return this.#held.length === 1 && this.#held[0] !== undefined
      ? Buffer.from(this.#held[0].buffer, this.#held[0].byteOffset, this.#held[0].byteLength)
      : Buffer.concat(this.#held);
  }

  #emit(buffer: Buffer, to: number): void {
    const onRecord: OnRecord = (cls, start, end) =>
      this.onRecord(cls, buffer.subarray(start, end), this.#offset + start);
    runToEnd(scanRange(buffer, to, onRecord));
    this.#offset += to;
    this.#held = to < buffer.length ? [buffer.subarray(to)] : [];
  }
}

/** Returns the end of the last record that later bytes can't change. */
function certainEnd(buffer: Buffer): number {
  const newline = buffer.lastIndexOf(0x0a);
  let end = newline < 0 ? 0 : headBefore(buffer, newline, 0);
  while (buffer.length - end > CERTAIN) end = recordEnd(buffer, end);
  return end;
}
