import { runToEnd, type Steps } from "../../core/slices";
import { classify, type LogClass } from "./classify";
import { next401, nextLiteral } from "./literals";

// Groups lines into records. Each decision depends only on a line and the one before it, so a reader may start anywhere.

/** Most lines of a record; further lines begin another. A Java exception with its causes has about 200. */
export const MAX_RECORD_LINES = 256;
/** Most bytes of a record; further bytes begin another. Container runtimes cut lines at 16 KiB. */
export const MAX_RECORD_BYTES = 64 * 1024;
/** Most bytes of a line that a decision reads. */
const LINE_LOOKAHEAD = 320;

const NEWLINE = 0x0a;
const BLANK = 0x20;

/** Returns the offset after the last line break of the record at `start`; `bytes.length` if the text ends first. */
export function recordEnd(bytes: Buffer, start: number): number {
  let line = start;
  let end = lineEnd(bytes, start);
  if (end - start > MAX_RECORD_BYTES) return start + MAX_RECORD_BYTES;
  for (let lines = 1; lines < MAX_RECORD_LINES && end < bytes.length; lines++) {
    if (!isContinuation(bytes, end, line)) return end;
    const next = lineEnd(bytes, end);
    if (next - start > MAX_RECORD_BYTES) return end;
    line = end;
    end = next;
  }
  return end;
}

/** Returns the start of the nearest line at or before `at` that begins a record; `floor` if no line after `floor` does. */
export function headBefore(bytes: Buffer, at: number, floor: number): number {
  let line = lineStart(bytes, at, floor);
  while (line > floor) {
    const previous = lineStart(bytes, line - 1, floor);
    if (!isContinuation(bytes, line, previous)) return line;
    line = previous;
  }
  return floor;
}

/** Returns the offset after the line at `from`. */
function lineEnd(bytes: Buffer, from: number): number {
  const at = bytes.indexOf(NEWLINE, from);
  return at < 0 ? bytes.length : at + 1;
}

function lineStart(bytes: Buffer, at: number, floor: number): number {
  if (at <= floor) return floor;
  return Math.max(floor, bytes.lastIndexOf(NEWLINE, at - 1) + 1);
}

/**
 * Whether the line at `line` continues the record of the previous line:
 * - it is empty, indented or closes a bracket (pretty-printed JSON, stack frames, objects of Node and Rust);
 * - it starts with a border;
 * - it starts like the second line of an exception;
 * - it is an object in JSON, and the previous line announces it with a colon at its end, within a second; or
 * - it is an exception on a separate line, within a second of the previous line, which is not an access log line.
 */
function isContinuation(bytes: Buffer, line: number, previous: number): boolean {
  const start = skipEnvelope(bytes, line);
  const first = bytes[start];
  if (first === undefined) return false;
  // Rust's tracing aligns its levels after its timestamp. That is no indentation.
  if (startsWithAny(bytes, start, ALIGNED_LEVELS)) return false;
  if (first <= BLANK || CLOSING.has(first) || startsWithAny(bytes, start, BORDERS)) return first !== ESCAPE;
  if (startsWithAny(bytes, start, SECOND_LINES)) return true;
  const isNext = first === BRACE ? bytes[line - 2] === COLON : isRaised(bytes, start, previous);
  return isNext && isSameMoment(bytes, line, previous) && !isAccessLine(bytes, previous, line);
}

/** Whether an exception begins at `start`. */
function isRaised(bytes: Buffer, start: number, previous: number): boolean {
  return startsWithAny(bytes, start, TRACEBACKS) || isException(bytes, start, isRaise(bytes, previous));
}

const ESCAPE = 0x1b;
const BRACE = 0x7b;
const COLON = 0x3a;
const ALIGNED_LEVELS = [" WARN ", " INFO "].map(b => Buffer.from(b));
const CLOSING = new Set(Buffer.from("}])"));
/** Terraform and similar tools draw a border beside every line of a message. */
const BORDERS = ["│", "╵", "┃"].map(b => Buffer.from(b));
const SECOND_LINES = [
  ...[
    "Caused by: ",
    "Reason: ",
    "HTTP response ",
    "Message: ",
    "Body: ",
    "Headers: ",
    "Suppressed: ",
    "During handling of ",
  ],
  ...["The above exception ", "--- End of "],
].map(b => Buffer.from(b));
const TRACEBACKS = ["Traceback (most recent "].map(b => Buffer.from(b));

function startsWithAny(bytes: Buffer, at: number, prefixes: readonly Buffer[]): boolean {
  return prefixes.some(p => bytes[at] === p[0] && bytes.subarray(at, at + p.length).equals(p));
}

/** Skips a timestamp with its blank, and the runtime's stream and tag after it. */
function skipEnvelope(bytes: Buffer, line: number): number {
  if (bytes[line + 4] !== 0x2d || bytes[line + 10] !== 0x54) return line;
  const blank = bytes.subarray(line, line + LONGEST_TIMESTAMP).indexOf(BLANK);
  if (blank < 0) return line;
  const after = line + blank + 1;
  return startsWithAny(bytes, after, STREAMS) ? after + STREAM_LENGTH : after;
}

const LONGEST_TIMESTAMP = 36;
const STREAMS = ["stdout F ", "stderr F "].map(b => Buffer.from(b));
const STREAM_LENGTH = 9;

/** Whether a line is the source line that raised an exception, as Python's tracebacks end. */
function isRaise(bytes: Buffer, line: number): boolean {
  let start = skipEnvelope(bytes, line);
  if (bytes[start] !== BLANK) return false;
  while (bytes[start] === BLANK && start - line < LONGEST_INDENT) start++;
  return startsWithAny(bytes, start, RAISES);
}

const RAISES = ["raise ", "raise\n"].map(b => Buffer.from(b));
const LONGEST_INDENT = 64;

/** `some.package.NameOfException: message`, as Java and Python print it; without a package after a line with `raise`. */
function isException(bytes: Buffer, start: number, raised: boolean): boolean {
  const [, name] = NAME.exec(bytes.toString("latin1", start, start + LONGEST_NAME)) ?? [];
  if (name === undefined || !(raised || name.includes("."))) return false;
  return name.includes("Exception") || name.includes("Error");
}

const LONGEST_NAME = 256;
const NAME = /^([\w.$]+)[\0- :]/;

/** Whether a line was written within a second of the previous one. True if either has no timestamp. */
function isSameMoment(bytes: Buffer, line: number, previous: number): boolean {
  const stamped = skipEnvelope(bytes, line) > line && skipEnvelope(bytes, previous) > previous;
  if (!stamped) return true;
  const passed = secondOfDay(bytes, line) - secondOfDay(bytes, previous);
  const sameDay = bytes.subarray(previous, previous + DATE).equals(bytes.subarray(line, line + DATE));
  return isMoment(sameDay ? passed : passed + SECONDS_OF_DAY);
}

/** A logger writes an exception directly after its message, so less than a second passes. */
function isMoment(seconds: number): boolean {
  return seconds >= 0 && seconds < 1;
}

/** Returns the second of the day from hh:mm:ss.fff; NaN without digits. */
function secondOfDay(bytes: Buffer, line: number): number {
  const time = bytes.toString("latin1", line + DATE + 1, line + LONGEST_TIMESTAMP);
  const [hours = NaN, minutes = NaN, seconds = NaN] = time.split(":", 3).map(Number.parseFloat);
  return (hours * 60 + minutes) * 60 + seconds;
}

/** Characters of 2006-01-02. */
const DATE = 10;
const SECONDS_OF_DAY = 24 * 60 * 60;

function isAccessLine(bytes: Buffer, start: number, end: number): boolean {
  return bytes.subarray(start, Math.min(end, start + MAX_RECORD_BYTES)).includes(" HTTP/");
}

/** Receives a record: its class, its first byte and the byte after its last. */
export type OnRecord = (cls: LogClass, start: number, end: number) => void;

/**
 * Finds the records of a log that have a class, in order. Decodes only records that contain a literal.
 * @param bytes UTF-8 text of whole lines, as pods/log returns it (with or without timestamps).
 * @param onRecord called once for every record whose class is not `none`.
 */
export function scanRecords(bytes: Uint8Array, onRecord: OnRecord): void {
  runToEnd(scanInSteps(bytes, (cls, start, end) => cls !== "none" && onRecord(cls, start, end)));
}

/**
 * Does the same in steps of one decoded record, and also passes records of class `none` that contain a literal. A log full of them takes a
 * thousand times as long as one without.
 */
export function* scanInSteps(bytes: Uint8Array, onRecord: OnRecord): Steps {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // One character for each byte: literals are ASCII.
  const text = buffer.toString("latin1");
  const to = buffer.length;
  let literal = -1;
  let code = -1;
  for (let done = 0; done < to; ) {
    // Each search continues from its own last hit.
    if (literal < done) literal = nextLiteral(text, done);
    if (code < done) code = next401(text, done);
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
  onRecord(classify(textOf(buffer, start, end)), start, end);
  return end;
}

/** Returns the text of a record without its last line break. */
function textOf(buffer: Buffer, start: number, end: number): string {
  return buffer.toString("utf8", start, buffer[end - 1] === 0x0a ? end - 1 : end);
}

/** Bytes after the start of a record that suffice to find its end. */
const CERTAIN = MAX_RECORD_BYTES + LINE_LOOKAHEAD;

const NOTHING = Buffer.alloc(0);

/** Splits a log that arrives in chunks, cut anywhere, between records. Keeps the last record until its end is known. */
export class WholeRecords {
  #held: Uint8Array[] = [];
  /** Bytes that came without a line break: they complete no record, so joining them can wait. */
  #waiting = 0;

  /** Adds the next chunk. Returns the records that are complete now. */
  push(chunk: Uint8Array): Buffer {
    this.#held.push(chunk);
    this.#waiting += chunk.length;
    if (this.#waiting < MAX_RECORD_BYTES && !chunk.includes(NEWLINE)) return NOTHING;
    this.#waiting = 0;
    const buffer = Buffer.concat(this.#held);
    const end = certainEnd(buffer);
    this.#held = end < buffer.length ? [buffer.subarray(end)] : [];
    return buffer.subarray(0, end);
  }

  /** Ends the log: returns the rest. */
  end(): Buffer {
    return Buffer.concat(this.#held);
  }
}

/** Returns the end of the last record that later bytes can't change. */
function certainEnd(buffer: Buffer): number {
  const newline = buffer.lastIndexOf(0x0a);
  let end = newline < 0 ? 0 : headBefore(buffer, newline, 0);
  while (buffer.length - end > CERTAIN) end = recordEnd(buffer, end);
  return end;
}
