import { isDigitCode, isSpaceCode, isWordCode } from "./text";
import { isBody, isBodyKey } from "./response-body";

const ESCAPE = "\x1b";
/** RFC 3339 with nanoseconds and an offset is 35 characters long. */
const LONGEST_TIMESTAMP = 36;
const STREAM_TAGS = ["stdout F ", "stderr F ", "stdout P ", "stderr P "];

/** Removes terminal colors: ESC [ parameters letter. */
export function stripColors(text: string): string {
  return text.includes(ESCAPE) ? text.replaceAll(COLORS, "") : text;
}

/** Parameter and intermediate bytes run from 0x20 to 0x3f. No part is needed, so the time is linear. */
const COLORS = new RegExp(`${ESCAPE}(?:\\[[ -?]*[^${ESCAPE}]?)?`, "g");

/** Returns the length of a leading RFC 3339 timestamp with the blank after it; 0 without one. */
function timestampLength(line: string): number {
  if (!isDigitCode(line.charCodeAt(0)) || line.charAt(4) !== "-" || line.charAt(7) !== "-") return 0;
  if (line.charAt(10) !== "T" || line.charAt(13) !== ":") return 0;
  const blank = line.slice(0, LONGEST_TIMESTAMP).indexOf(" ");
  return blank < 0 ? 0 : blank + 1;
}

/** Removes the prefixes of the container runtime and of `kubectl logs --timestamps` from one line. */
function unwrapLine(line: string): { text: string; partial: boolean } {
  let text = line.endsWith("\r") ? line.slice(0, -1) : line;
  let partial = false;
  // At most two: --timestamps before the runtime's prefix.
  for (let i = 0; i < 2; i++) {
    const skip = timestampLength(text);
    if (skip === 0) break;
    const tag = STREAM_TAGS.find(t => text.startsWith(t, skip));
    partial = tag?.charAt(7) === "P";
    text = text.slice(skip + (tag?.length ?? 0));
  }
  return { text: fromJsonFile(text) ?? text, partial };
}

/** Returns the text of a line of Docker's json-file, `{"log":"...\n","stream":"stdout","time":"..."}`; null for other lines. */
function fromJsonFile(line: string): string | null {
  if (!line.startsWith('{"log":"') || !line.includes('"stream":"std')) return null;
  try {
    const entry = JSON.parse(line) as Record<string, unknown>;
    if (typeof entry["log"] !== "string" || Object.keys(entry).length > JSON_FILE_KEYS) return null;
    return stripColors(entry["log"].endsWith("\n") ? entry["log"].slice(0, -1) : entry["log"]);
  } catch {
    return null;
  }
}

/** log, stream, time and, with labels, attrs. Records of log shippers have more keys. */
const JSON_FILE_KEYS = 4;

/**
 * Returns the record as the program wrote it, without colors, runtime prefixes and timestamps. Joins a line that the
 * runtime cut (tag P) with the next.
 */
export function unwrap(record: string): string {
  const parts: string[] = [];
  for (const line of stripColors(record).split("\n")) {
    const { text, partial } = unwrapLine(line);
    parts.push(text, partial ? "" : "\n");
  }
  // No line break after the last line.
  if (parts.at(-1) === "\n") parts.pop();
  return parts.join("");
}

/** A leaf of a JSON document: its nearest key, and its value as text. */
interface Leaf {
  readonly key: string;
  readonly value: string;
  /** Whether it is part of a server's answer that is no Status object. */
  readonly body: boolean;
}

/** A text with a JSON object in it: the text before, the leaves of the object, the text after. */
interface TakenJson {
  readonly before: string;
  readonly leaves: readonly Leaf[];
  readonly after: string;
}

/** Deeper levels are ignored: messages and errors are near the top. */
const MAX_DEPTH = 12;
/** Attempts to find an object in one text. Each starts after the previous one, so the time stays linear. */
const MAX_ATTEMPTS = 4;

/** Returns the first JSON object in a text, or null. Never throws. */
export function takeJson(text: string): TakenJson | null {
  const taken = takeObject(text);
  if (taken === null) return null;
  const leaves: Leaf[] = [];
  collect(taken.value, { key: "", depth: 0, body: false }, leaves);
  return { before: text.slice(0, taken.start), leaves, after: text.slice(taken.end) };
}

/** Returns the first JSON object in a text as JSON.parse does, or null. Never throws. */
export function objectIn(text: string): unknown {
  return takeObject(text)?.value ?? null;
}

function takeObject(text: string): { value: unknown; start: number; end: number } | null {
  let start = objectStart(text, 0);
  for (let i = 0; i < MAX_ATTEMPTS && start >= 0; i++) {
    const end = objectEnd(text, start);
    if (end < 0) return null;
    const value = parsed(text.slice(start, end));
    if (value !== undefined) return { value, start, end };
    start = objectStart(text, end);
  }
  return null;
}

/** Returns the offset of the next brace before a double-quoted key, or -1. Objects of other languages have no such key. */
function objectStart(text: string, from: number): number {
  for (let at = text.indexOf("{", from); at >= 0; at = text.indexOf("{", at + 1)) {
    let next = at + 1;
    while (isSpaceCode(text.charCodeAt(next))) next++;
    if (text.charAt(next) === '"') return at;
    at = next - 1;
  }
  return -1;
}

/** Returns the offset after the brace that closes the object at `start`, or -1. */
function objectEnd(text: string, start: number): number {
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    const c = text.charAt(i);
    if (c === '"') {
      i = closingQuote(text, i, '"');
      if (i < 0) return -1;
    } else if (c === "{") depth++;
    else if (c === "}" && --depth === 0) return i + 1;
  }
  return -1;
}

/** Returns the offset of the quote that closes the one at `start`, or -1. A backslash escapes the next character. */
function closingQuote(text: string, start: number, quote: string): number {
  for (let i = start + 1; i < text.length; i++) {
    const c = text.charAt(i);
    if (c === "\\") i++;
    else if (c === quote) return i;
  }
  return -1;
}

function parsed(document: string): unknown {
  try {
    return JSON.parse(document);
  } catch {
    return undefined;
  }
}

/** The position of a value in a document. */
interface Position {
  readonly key: string;
  readonly depth: number;
  /** Whether an object around it is a body. */
  readonly body: boolean;
}

function collect(value: unknown, at: Position, leaves: Leaf[]): void {
  const { key, depth, body } = at;
  if (value === null || depth > MAX_DEPTH) return;
  if (typeof value !== "object") {
    leaves.push({ key, value: typeof value === "string" ? value : JSON.stringify(value), body });
    return;
  }
  const list = Array.isArray(value);
  const entries = Object.entries(value);
  const inside = body || (!list && startsBody(at, entries));
  for (const [name, child] of entries)
    collect(child, { key: list ? key : name, depth: depth + 1, body: inside }, leaves);
}

/** A body is a whole document or the value of a field for bodies; any other object is part of a log record. */
function startsBody({ key, depth }: Position, entries: readonly (readonly [string, unknown])[]): boolean {
  return (depth === 0 || isBodyKey(key)) && isBody(entries);
}

/** A key and its value as logfmt, logrus, klog, slog and hclog write them: key=value, key="quoted value". */
interface Pair {
  readonly key: string;
  readonly value: string;
  /** The rest of an unquoted value after its first word. It belongs to the value or to the sentence around it. */
  readonly tail: string;
}

/** A line split into free text and pairs. */
interface Pairs {
  readonly free: string;
  readonly pairs: readonly Pair[];
}

/** Extracts the key=value pairs of a line. An unquoted value ends at the next key, for loggers that do not quote. */
export function pairsOf(line: string): Pairs {
  let key = nextKey(line, 0);
  if (key === null) return { free: line, pairs: [] };
  const free: string[] = [line.slice(0, key.start)];
  const pairs: Pair[] = [];
  while (key !== null) {
    const value = quotedValue(line, key.end);
    const from: number = value === null ? key.end : value.end;
    const next = nextKey(line, from);
    const rest = line.slice(from, next === null ? line.length : next.start);
    if (value !== null) free.push(rest);
    pairs.push(value === null ? barePair(key.name, rest.trim()) : { key: key.name, value: value.value, tail: "" });
    key = next;
  }
  return { free: free.join(" "), pairs };
}

function barePair(key: string, value: string): Pair {
  const end = wordEnd(value);
  // "for kind=pods: Unauthorized": the colon belongs to the sentence.
  return { key, value, tail: value.slice(value.charAt(end - 1) === ":" ? end - 1 : end) };
}

function wordEnd(value: string): number {
  let end = 0;
  while (end < value.length && !isSpaceCode(value.charCodeAt(end))) end++;
  return end;
}

interface Key {
  readonly name: string;
  readonly start: number;
  /** Offset of the value. */
  readonly end: number;
}

interface Value {
  readonly value: string;
  readonly end: number;
}

/** Finds the next `key=` or `"key"=` at the start of a word. */
function nextKey(line: string, from: number): Key | null {
  for (let at = line.indexOf("=", from); at >= 0; at = line.indexOf("=", at + 1)) {
    const key = keyBefore(line, at, from);
    if (key !== null && opensWord(line, key.start, from)) return key;
  }
  return null;
}

function keyBefore(line: string, at: number, from: number): Key | null {
  const quote = line.charAt(at - 1) === '"' ? 1 : 0;
  const end = at - quote;
  let start = end;
  while (start > from && isKeyCode(line.charCodeAt(start - 1))) start--;
  if (start >= end || start - quote < from) return null;
  return { name: line.slice(start, end), start: start - quote, end: at + 1 };
}

function opensWord(line: string, start: number, from: number): boolean {
  // Rust's spans: request{method=GET uri=/path}.
  return start <= from || isSpaceCode(line.charCodeAt(start - 1)) || line.charAt(start - 1) === "{";
}

function isKeyCode(code: number): boolean {
  // Keys may contain dots, dashes and @: object.name, audit-ID, @timestamp.
  return isWordCode(code) || code === 0x2e || code === 0x2d || code === 0x40;
}

function quotedValue(line: string, at: number): Value | null {
  const quote = line.charAt(at);
  if (quote !== '"' && quote !== "`" && quote !== "'") return null;
  const end = closingQuote(line, at, quote);
  if (end < 0) return null;
  // One level, so that a quoted JSON document stays valid.
  return { value: unescapeOnce(line.slice(at + 1, end)), end: end + 1 };
}

/** Removes all levels of backslash escaping: replaces the backslashes and the next character by that character. */
export function unescape(text: string): string {
  return text.replaceAll(/\\+([^]?)/g, unescaped);
}

function unescapeOnce(text: string): string {
  return text.replaceAll(/\\([^]?)/g, unescaped);
}

function unescaped(_escape: string, character: string): string {
  return character === "t" ? "\t" : "nr".includes(character) && character !== "" ? "\n" : character;
}
