import { LITERALS, SHORTEST } from "./literals";

// Wu and Manber, "A fast algorithm for multi-pattern searching" (1994), with blocks of two bytes: look at the last block of
// a window as long as the shortest literal; a block that is in no literal's window lets the search skip the whole window.

const BLOCKS = 1 << 16;
const SKIP = new Uint8Array(BLOCKS).fill(SHORTEST - 1);
/** Literals by the block that ends their window. */
const BY_BLOCK = new Map<number, Uint8Array[]>();

for (const literal of LITERALS) {
  const bytes = Buffer.from(literal);
  for (let i = 1; i < SHORTEST; i++) {
    const block = blockAt(bytes, i);
    SKIP[block] = Math.min(SKIP[block] ?? 0, SHORTEST - 1 - i);
  }
  const last = blockAt(bytes, SHORTEST - 1);
  BY_BLOCK.set(last, [...(BY_BLOCK.get(last) ?? []), bytes]);
}

function blockAt(bytes: Uint8Array, end: number): number {
  return ((bytes[end - 1] ?? 0) << 8) | (bytes[end] ?? 0);
}

/** The offset of the next literal that begins in [from, to), or `to`. */
export function nextLiteral(bytes: Uint8Array, from: number, to: number): number {
  let i = from + SHORTEST - 1;
  while (i < to) {
    const block = ((bytes[i - 1] as number) << 8) | (bytes[i] as number);
    const skip = SKIP[block] as number;
    if (skip === 0) {
      const start = i - SHORTEST + 1;
      if (isLiteralAt(bytes, start, block)) return start;
      i++;
    } else i += skip;
  }
  return to;
}

function isLiteralAt(bytes: Uint8Array, start: number, block: number): boolean {
  return (BY_BLOCK.get(block) ?? []).some(literal => literal.every((byte, i) => bytes[start + i] === byte));
}
