import { closingQuote } from "./json";
import { isSpaceCode, isWordCode } from "./text";

/** A key and its value as logfmt, logrus, klog, slog and hclog write them: key=value, key="quoted value". */
export interface Pair {
  readonly key: string;
  readonly value: string;
  /** Of a value without quotes, what stands behind its first word; it belongs to the value or to the sentence. */
  readonly tail: string;
}

/** A line taken apart: free text, and the pairs that stood in it. */
export interface Pairs {
  readonly free: string;
  readonly pairs: readonly Pair[];
}

/** Takes key=value pairs out of a line. A bare value runs to the next key, for loggers that don't quote. */
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
  /** Where the value begins. */
  readonly end: number;
}

interface Value {
  readonly value: string;
  readonly end: number;
}

/** The next `key=` or `"key"=` that begins a word of its own. */
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
  // "apps/v1, Kind=Deployment" is how Go prints a GroupVersionKind.
  if (line.startsWith(", Kind=", start - 2)) return false;
  // Rust's spans: request{method=GET uri=/path}.
  return start <= from || isSpaceCode(line.charCodeAt(start - 1)) || line.charAt(start - 1) === "{";
}

function isKeyCode(code: number): boolean {
  // Dots, dashes and @ stand inside keys: object.name, audit-ID, @timestamp.
  return isWordCode(code) || code === 0x2e || code === 0x2d || code === 0x40;
}

function quotedValue(line: string, at: number): Value | null {
  const quote = line.charAt(at);
  if (quote !== '"' && quote !== "`" && quote !== "'") return null;
  const end = closingQuote(line, at, quote);
  if (end < 0) return null;
  return { value: unescapeOnce(line.slice(at + 1, end)), end: end + 1 };
}

/** Undoes one level of escaping, so that a quoted document stays well-formed. */
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
