const DIGIT = /\p{Nd}/gu;
const IS_DIGIT = /^\p{Nd}$/u;

/**
 * The same text with `0` to `9` for the digits of every script: Python's `\d` and `int()` take all of them (docs.python.org,
 * re and int; category Nd of Unicode). They stand in runs of ten that begin with the zero (the Unicode standard, section 4.6).
 */
export function asciiDigits(text: string): string {
  return text.replace(DIGIT, digit => {
    const point = digit.codePointAt(0) ?? 0;
    let zero = point;
    while (IS_DIGIT.test(String.fromCodePoint(zero - 1))) zero--;
    return String((point - zero) % 10);
  });
}
