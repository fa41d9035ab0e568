import { closingQuote } from "./json";
import { isSpaceCode, isWordCode } from "./text";

/** A key and its value as logfmt, logrus, klog, slog and hclog write them: key=value, key="quoted value". */
export interface Pair {
  readonly key: string;
  readonly value: string;
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
    const quoted: Value | null = quotedValue(line, key.end);
    const from: number = quoted?.end ?? key.end;
    const next = nextKey(line, from);
    const rest = line.slice(from, next?.start ?? line.length);
    pairs.push({ key: key.name, value: quoted?.value ?? rest.trim() });
    if (quoted !== null) free.push(rest);
    key = next;
  }
  return { free: free.join(" "), pairs };
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
    const quoted = line.charAt(at - 1) === '"';
    const end = quoted ? at - 1 : at;
    let start = end;
    while (start > from && isKeyCode(line.charCodeAt(start - 1))) start--;
    const first = quoted ? start - 1 : start;
    const opens = first <= from || isSpaceCode(line.charCodeAt(first - 1));
    // "apps/v1, Kind=Deployment" is how Go prints a GroupVersionKind.
    const isKind = line.startsWith(", Kind=", first - 2);
    if (start < end && first >= from && opens && !isKind)
      return { name: line.slice(start, end), start: first, end: at + 1 };
  }
  return null;
}

function isKeyCode(code: number): boolean {
  // Dots, dashes and @ stand inside keys: object.name, audit-ID, @timestamp.
  return isWordCode(code) || code === 0x2e || code === 0x2d || code === 0x40;
}

function quotedValue(line: string, at: number): Value | null {
  const quote = line.charAt(at);
  if (quote !== '"' && quote !== "`") return null;
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
