import { LITERALS, WINDOW } from "./literals";

// Wu and Manber, "A fast algorithm for multi-pattern searching" (1994), with blocks of two bytes: look at the last block of
// a window of fixed length; a block that is in no literal's window lets the search skip the whole window.

const BLOCKS = 1 << 16;
const SKIP = new Uint8Array(BLOCKS).fill(WINDOW - 1);
/** Literals by the block that ends their window, each with the window's offset in it. */
const BY_BLOCK = new Map<number, Windowed[]>();
/** 1 for every block that begins a window: most stops of the search are refuted by it. */
const BEGINS = new Uint8Array(BLOCKS);

interface Windowed {
  readonly literal: Uint8Array;
  readonly window: number;
}

for (const { text, window } of LITERALS) {
  const literal = Buffer.from(text);
  for (let i = 1; i < WINDOW; i++) {
    const block = blockAt(literal, window + i);
    SKIP[block] = Math.min(SKIP[block] ?? 0, WINDOW - 1 - i);
  }
  BEGINS[blockAt(literal, window + 1)] = 1;
  const last = blockAt(literal, window + WINDOW - 1);
  BY_BLOCK.set(last, [...(BY_BLOCK.get(last) ?? []), { literal, window }]);
}

function blockAt(bytes: Uint8Array, end: number): number {
  return ((bytes[end - 1] ?? 0) << 8) | (bytes[end] ?? 0);
}

/** The offset of a literal's occurrence in [from, to), the first that the search meets, or `to`. */
export function nextLiteral(bytes: Uint8Array, from: number, to: number): number {
  // Local, or the engine asks the module for them at every step.
  const skips = SKIP;
  const begins = BEGINS;
  let i = from + WINDOW - 1;
  while (i < to) {
    i = skipAhead(bytes, i, to, skips);
    if (i >= to) break;
    const first = blockAt(bytes, i - WINDOW + 2);
    if (begins[first] === 1) {
      const at = literalAt(bytes, i - WINDOW + 1, blockAt(bytes, i));
      if (at >= 0) return at;
    }
    i++;
  }
  return to;
}

/** Skips until a block ends a window, or past `to`. */
function skipAhead(bytes: Uint8Array, from: number, to: number, skips: Uint8Array): number {
  let i = from;
  // Four steps to one question: a step that may not skip stays where it is, and so do those after it.
  const last = to - 4 * WINDOW;
  while (i < last) {
    i += skips[((bytes[i - 1] as number) << 8) | (bytes[i] as number)] as number;
    i += skips[((bytes[i - 1] as number) << 8) | (bytes[i] as number)] as number;
    i += skips[((bytes[i - 1] as number) << 8) | (bytes[i] as number)] as number;
    const skip = skips[((bytes[i - 1] as number) << 8) | (bytes[i] as number)] as number;
    if (skip === 0) return i;
    i += skip;
  }
  while (i < to) {
    const skip = skips[((bytes[i - 1] as number) << 8) | (bytes[i] as number)] as number;
    if (skip === 0) return i;
    i += skip;
  }
  return i;
}

/** Where the literal begins whose window is at `start`, or -1. */
function literalAt(bytes: Uint8Array, start: number, block: number): number {
  for (const { literal, window } of BY_BLOCK.get(block) ?? []) {
    const at = start - window;
    if (at >= 0 && isAt(bytes, at, literal)) return at;
  }
  return -1;
}

function isAt(bytes: Uint8Array, at: number, literal: Uint8Array): boolean {
  for (let i = 0; i < literal.length; i++) if (bytes[at + i] !== literal[i]) return false;
  return true;
}
