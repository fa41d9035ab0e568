import { closingQuote } from "./json";
import { isSpaceCode, isWordCode } from "./text";

/** A key and its value as logfmt, logrus, klog, slog and hclog write them: key=value, key="quoted value". */
export interface Pair {
  readonly key: string;
  readonly value: string;
  /** The rest of an unquoted value after its first word. It belongs to the value or to the sentence around it. */
  readonly tail: string;
}

/** A line split into free text and pairs. */
export interface Pairs {
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
  return { value: unescapeOnce(line.slice(at + 1, end)), end: end + 1 };
}

/** Removes one level of escaping, so that a quoted JSON document stays valid. */
function unescapeOnce(text: string): string {
  let at = text.indexOf("\\");
  if (at < 0) return text;
  const kept: string[] = [];
  let from = 0;
  while (at >= 0) {
    kept.push(text.slice(from, at), SPECIAL.get(text.charAt(at + 1)) ?? text.charAt(at + 1));
    from = at + 2;
    at = text.indexOf("\\", from);
  }
  kept.push(text.slice(from));
  return kept.join("");
}

const SPECIAL = new Map([
  ["n", "\n"],
  ["t", "\t"],
  ["r", "\n"],
]);
