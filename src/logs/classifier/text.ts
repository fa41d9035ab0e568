// Text search without regular expressions: every function reads its text once.

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
 * Returns the text in lower case with every offset unchanged. A letter whose lower case is longer ("İ") is left as it is.
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

/** Returns the offset of `word` as a whole word at or after `from`, or -1. Case-sensitive. */
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

/** Returns the word that ends at `end`, at most its last 32 characters; "" without one. */
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

/** Splits lines into words, so that long lists need no quotes. */
export function words(...lines: string[]): string[] {
  return lines.flatMap(line => line.split(" "));
}

/** Splits lines into phrases at commas. */
export function phrases(...lines: string[]): string[] {
  return lines.flatMap(line => line.split(", "));
}

/** Whether a character is an opening quote, an opening bracket or a blank. */
export function isOpening(character: string): boolean {
  return OPENING.has(character);
}

const OPENING = new Set("\"'`([{< \t");
