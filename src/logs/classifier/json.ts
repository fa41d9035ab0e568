import { isSpaceCode } from "./text";

/** A leaf of a JSON document: its nearest key, and its value as text. */
export interface Leaf {
  readonly key: string;
  readonly value: string;
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
  let start = objectStart(text, 0);
  for (let i = 0; i < MAX_ATTEMPTS && start >= 0; i++) {
    const end = objectEnd(text, start);
    if (end < 0) return null;
    const leaves = parseLeaves(text.slice(start, end));
    if (leaves !== null) return { before: text.slice(0, start), leaves, after: text.slice(end) };
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

function parseLeaves(document: string): Leaf[] | null {
  let value: unknown;
  try {
    value = JSON.parse(document);
  } catch {
    return null;
  }
  const leaves: Leaf[] = [];
  collect(value, "", 0, leaves);
  return leaves;
}

function collect(value: unknown, key: string, depth: number, leaves: Leaf[]): void {
  if (value === null || depth > MAX_DEPTH) return;
  if (typeof value === "object") {
    const list = Array.isArray(value);
    for (const [name, child] of Object.entries(value)) collect(child, list ? key : name, depth + 1, leaves);
  } else if (typeof value === "string") leaves.push({ key, value });
  else leaves.push({ key, value: JSON.stringify(value) });
}
