import { LITERALS, WINDOW } from "./required-literals";

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

/** Bytes of the first stretch after a hit. The length doubles after every stretch without a hit, up to LAST_STRETCH. */
const FIRST_STRETCH = 1024;
const LAST_STRETCH = 32 * 1024;

/** Returns the offset of the first literal in [from, to), or `to`. */
export function nextLiteral(bytes: Uint8Array, from: number, to: number): number {
  // A DataView loads two bytes in one instruction.
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let stretch = FIRST_STRETCH;
  for (let start = from + WINDOW - 1; start < to; ) {
    const end = Math.min(to, start + stretch);
    // No stretch is longer than the part before it, so reading it twice at most doubles the work.
    if (holdsLiteral(view, start, end)) return firstLiteral(view, start, end) ?? to;
    start = end;
    stretch = Math.min(LAST_STRETCH, stretch * 2);
  }
  return to;
}

/**
 * Whether a literal's window ends in [from, to). Interleaves four searches, one per quarter: each step waits for two
 * loads, and the processor executes the loads of the other searches meanwhile.
 */
function holdsLiteral(view: DataView, from: number, to: number): boolean {
  // A local variable saves a lookup in the module at every step.
  const steps = STEP;
  const quarter = (to - from) >>> 2;
  const [endA, endB, endC] = [from + quarter, from + 2 * quarter, from + 3 * quarter];
  let [a, b, c, d] = [from, endA, endB, endC];
  while (a < endA && b < endB && c < endC && d < to) {
    const stepA = steps[view.getUint16(a - 1, true)] as number;
    const stepB = steps[view.getUint16(b - 1, true)] as number;
    const stepC = steps[view.getUint16(c - 1, true)] as number;
    const stepD = steps[view.getUint16(d - 1, true)] as number;
    if (((stepA | stepB | stepC | stepD) & STOP) !== 0) {
      if (isHit(view, a, stepA) || isHit(view, b, stepB) || isHit(view, c, stepC) || isHit(view, d, stepD)) return true;
    }
    a += stepA & SKIP;
    b += stepB & SKIP;
    c += stepC & SKIP;
    d += stepD & SKIP;
  }
  const rests: readonly (readonly [number, number])[] = [
    [a, endA],
    [b, endB],
    [c, endC],
    [d, to],
  ];
  return rests.some(([start, end]) => firstLiteral(view, start, end) !== null);
}

function isHit(view: DataView, end: number, step: number): boolean {
  return step > STOP && literalAt(view, end) >= 0;
}

/** Returns the start of the first literal whose window ends in [from, to), or null. */
function firstLiteral(view: DataView, from: number, to: number): number | null {
  for (let i = from; i < to; ) {
    const step = STEP[view.getUint16(i - 1, true)] as number;
    const at = step > STOP ? literalAt(view, i) : -1;
    if (at >= 0) return at;
    i += step & SKIP;
  }
  return null;
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
