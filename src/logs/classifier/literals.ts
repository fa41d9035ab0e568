import { isDigitCode, isWordCode } from "./text";

// Every record with a class or a topic contains one of these literals. They are searched in raw bytes before decoding.

/** A literal, and the part of it that the search compares first. */
interface Literal {
  readonly text: string;
  /** Offset of a window of WINDOW characters. */
  readonly window: number;
}

/** Length of a window, and the largest step of the search: a shorter literal would slow down the whole search. */
const WINDOW = 8;

/**
 * Every record with a class contains one of these or a free-standing 401. The first letter is often left out, so that both
 * its cases match. "^" marks the start of the window: the one whose pairs of letters, the last above all, are rarest in
 * logs.
 */
const LITERALS: readonly Literal[] = [
  // unauthorized
  ...["na^uthorized", "NA^UTHORIZED", "cre^dentials", "uthorizati^on failure", "uthenticat^ion fail"],
  // forbidden
  ...[
    "^orbidden",
    "^FORBIDDEN",
    "t^atus code 403",
    "t^atus 403",
    "ta^tus: 403",
    "^403 from ",
    "po^nse [403",
    // At every depth of quoting: the quote follows any number of backslashes.
    '^" cannot ',
    "no^t allow access",
    "un^known (get ",
  ],
  // lease-lost
  ...[
    "lec^tion lost",
    "o^st leader",
    "^ost lease",
    "o^st the lea",
    "re^new lease",
    "ren^ew leader",
    "onger t^he leader",
    "ong^er leader",
    "opped^ leading",
    "topped b^eing a l",
    "l^ease lost",
    "e^ader lost",
    "new ^deadline",
    "tepp^ing down",
    "e^adership",
  ],
  // watch-ended
  ...[
    "^too old resource",
    " is^ too old",
    "ersion^ too old",
    "watc^h stream",
    "^atch closed",
    "nexpe^cted EOF",
    "^410 Gone",
    "a^tch of *",
    "client connec^tion lost",
    "r^eset by peer",
    "^stream error",
    "very ^short watch",
    "at^ch expired",
    "h^ave been closed",
    "close^d the watch",
    "cha^nnel closed",
    "socke^t hang up",
    "tch con^nection ",
    "^been compacted",
    "4^10 Client",
    "^sent GOAWAY",
    "as^on:Expired",
  ],
  // throttled
  ...[
    "h^rottling",
    "^rate limiter",
    "^many requests",
    "^Many Requests",
    "^oManyRequests",
    "t^atus code 429",
    "T^TP status 429",
  ],
  // none of the classes: writes that admission refused
  ...["den^ied the request", " ^is invalid: "],
].map(marked => ({ text: marked.replace("^", ""), window: marked.indexOf("^") }));

/** Whether a record contains a literal or a free-standing 401: the rule of the byte search, for one record. */
export function hasLiteral(record: string): boolean {
  return LITERALS.some(({ text }) => record.includes(text)) || has401(record);
}

/** Whether a record contains a free-standing 401. */
export function has401(record: string): boolean {
  for (let at = record.indexOf("401"); at >= 0; at = record.indexOf("401", at + 1)) {
    if (standsFree(i => record.charCodeAt(i), at)) return true;
  }
  return false;
}

/** Returns the offset of the next free-standing 401 in [from, to), or `to`. */
export function next401(bytes: Buffer, from: number, to: number): number {
  for (let at = bytes.indexOf("401", from); at >= 0 && at < to; at = bytes.indexOf("401", at + 1)) {
    if (standsFree(i => bytes[i] ?? 0, at)) return at;
  }
  return to;
}

/** Whether the three digits at `at` can be an HTTP status and are not part of a number, an id, a path or a line of code. */
function standsFree(codeAt: (i: number) => number, at: number): boolean {
  const before = codeAt(at - 1);
  const after = codeAt(at + 3);
  if (isJoining(after) || (before === COLON && after === BRACKET)) return false;
  return !isJoining(before) || (before === LETTER_M && endsColor(codeAt, at - 1));
}

const COLON = 0x3a;
const BRACKET = 0x5d;
const LETTER_M = 0x6d;
const OPENING_BRACKET = 0x5b;
const ESCAPE = 0x1b;

/** Whether the m at `at` ends a color: ESC [ digits and semicolons m. */
function endsColor(codeAt: (i: number) => number, at: number): boolean {
  let i = at - 1;
  while (isDigitCode(codeAt(i)) || codeAt(i) === SEMICOLON) i--;
  return codeAt(i) === OPENING_BRACKET && codeAt(i - 1) === ESCAPE;
}

const SEMICOLON = 0x3b;

/** Letters, digits, `_`, `-`, `/`, `#` and `%`. A missing neighbor is NaN or 0. */
function isJoining(code: number): boolean {
  return isWordCode(code) || code === 0x2d || code === 0x2f || code === 0x23 || code === 0x25;
}

// Wu and Manber, "A fast algorithm for multi-pattern searching" (1994), with blocks of two bytes: reads the last block of a
// window of fixed length, and skips the whole window if the block is in no literal's window.

const BLOCKS = 1 << 16;
/** By block: how many bytes the search may skip, and STOP if the block ends a window. */
const STEP = new Uint8Array(BLOCKS).fill(WINDOW - 1);
const STOP = 0x80;
const SKIP = STOP - 1;
/** Literals by the last block of their window, each with the offset of the window. */
const BY_BLOCK = new Map<number, Windowed[]>();
/** 1 for every block that begins a window. Excludes most stops of the search. */
const BEGINS = new Uint8Array(BLOCKS);

interface Windowed {
  readonly literal: Buffer;
  readonly window: number;
}

for (const { text, window } of LITERALS) {
  const literal = Buffer.from(text);
  for (let i = 1; i < WINDOW; i++) {
    const block = literal.readUInt16LE(window + i - 1);
    STEP[block] = Math.min(STEP[block] ?? 0, WINDOW - 1 - i);
  }
  BEGINS[literal.readUInt16LE(window)] = 1;
  const last = literal.readUInt16LE(window + WINDOW - 2);
  BY_BLOCK.set(last, [...(BY_BLOCK.get(last) ?? []), { literal, window }]);
}
for (const block of BY_BLOCK.keys()) STEP[block] = STOP | 1;

/** Returns the offset of the first literal in [from, to), or `to`. */
export function nextLiteral(bytes: Uint8Array, from: number, to: number): number {
  // A DataView loads two bytes in one instruction; a local variable saves a lookup in the module at every step.
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const steps = STEP;
  for (let i = from + WINDOW - 1; i < to; ) {
    const step = steps[view.getUint16(i - 1, true)] as number;
    const at = step > STOP ? literalAt(view, i) : -1;
    if (at >= 0) return at;
    i += step & SKIP;
  }
  return to;
}

/** Returns the start of the literal whose window ends with the byte at `end`, or -1. */
function literalAt(view: DataView, end: number): number {
  const start = end - WINDOW + 1;
  return BEGINS[view.getUint16(start, true)] === 1 ? literalOfWindow(view, start) : -1;
}

function literalOfWindow(view: DataView, start: number): number {
  for (const { literal, window } of BY_BLOCK.get(view.getUint16(start + WINDOW - 2, true)) ?? []) {
    const at = start - window;
    if (at >= 0 && isAt(view, at, literal)) return at;
  }
  return -1;
}

function isAt(view: DataView, at: number, literal: Buffer): boolean {
  if (at + literal.length > view.byteLength) return false;
  for (let i = 0; i < literal.length; i++) if (view.getUint8(at + i) !== literal[i]) return false;
  return true;
}
