// Scanning without regular expressions: every function here walks its text once.

const LOWER_BIT = 0x20;

/** Whether a UTF-16 code unit is an ASCII letter, digit or underscore. */
export function isWordCode(code: number): boolean {
  const lower = code | LOWER_BIT;
  return (lower >= 0x61 && lower <= 0x7a) || isDigitCode(code) || code === 0x5f;
}

/** Whether a UTF-16 code unit is an ASCII digit. */
export function isDigitCode(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Whether a UTF-16 code unit is a blank, a tab or a line end. */
export function isSpaceCode(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

/**
 * The text in lower case, with every offset unchanged.
 * Unicode may lengthen a text when lowering it ("İ"); such a text is lowered letter by letter instead.
 */
export function lowerCase(text: string): string {
  const lower = text.toLowerCase();
  if (lower.length === text.length) return lower;
  const units: string[] = [];
  for (let i = 0; i < text.length; i++) {
    const unit = text.charAt(i).toLowerCase();
    units.push(unit.length === 1 ? unit : text.charAt(i));
  }
  return units.join("");
}

/** The offset of `word` as a word of its own at or after `from`, or -1. Case matters: hand in lower-cased text to ignore it. */
export function indexOfWord(text: string, word: string, from = 0): number {
  for (let at = text.indexOf(word, from); at >= 0; at = text.indexOf(word, at + word.length)) {
    if (isWholeWord(text, at, at + word.length)) return at;
  }
  return -1;
}

/** Whether text[start..end) has no letter, digit or underscore on either side. */
export function isWholeWord(text: string, start: number, end: number): boolean {
  // charCodeAt outside the text is NaN, which is no word character.
  return !isWordCode(text.charCodeAt(start - 1)) && !isWordCode(text.charCodeAt(end));
}

/** The word that ends at `end`, at most 32 characters of it; "" if there is none. */
export function wordBefore(text: string, end: number): string {
  let start = end;
  while (start > 0 && isWordCode(text.charCodeAt(start - 1)) && end - start < LONGEST_WORD) start--;
  return text.slice(start, end);
}

const LONGEST_WORD = 32;

/** Whether any of the phrases occurs in the text. */
export function includesAny(text: string, phrases: readonly string[]): boolean {
  return phrases.some(phrase => text.includes(phrase));
}

/** The words of some lines, for lists that are easier to read without quotes. */
export function words(...lines: string[]): string[] {
  return lines.flatMap(line => line.split(" "));
}

/** The phrases of some lines, which commas part. */
export function phrases(...lines: string[]): string[] {
  return lines.flatMap(line => line.split(", "));
}
