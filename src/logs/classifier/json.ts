import { isBody, isBodyKey } from "./response-body";
import { isSpaceCode } from "./text";

/** A leaf of a JSON document: its nearest key, and its value as text. */
export interface Leaf {
  readonly key: string;
  readonly value: string;
  /** Whether it is part of a server's answer that is no Status object. */
  readonly body: boolean;
}

/** A text with a JSON object in it: the text before, the leaves of the object, the text after. */
export interface TakenJson {
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
export function closingQuote(text: string, start: number, quote: string): number {
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
