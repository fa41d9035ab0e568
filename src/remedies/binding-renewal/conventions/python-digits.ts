const DIGIT = /\p{Nd}/gu;
const IS_DIGIT = /^\p{Nd}$/u;

/**
 * Replaces the digits of every script by `0` to `9`: Python's `\d` and `int()` accept all of them (docs.python.org, re and int; category
 * Nd of Unicode). Unicode has them in runs of ten that start with zero (the Unicode standard, section 4.6).
 */
export function asciiDigits(text: string): string {
  return text.replace(DIGIT, digit => {
    const point = digit.codePointAt(0) ?? 0;
    let zero = point;
    while (IS_DIGIT.test(String.fromCodePoint(zero - 1))) zero--;
    return String((point - zero) % 10);
  });
}
