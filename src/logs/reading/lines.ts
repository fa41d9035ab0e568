// Where the lines of a log begin and end. Pure.

/** The byte that ends a line. */
export const NEWLINE = 0x0a;

/** Returns the offset of the line that ends at `end`. */
export function startOfLine(text: Buffer, end: number): number {
  return end < 2 ? 0 : text.lastIndexOf(NEWLINE, end - 2) + 1;
}

/** Returns the offset of the last line. */
export function lastLine(text: Buffer): number {
  return startOfLine(text, text.length);
}
