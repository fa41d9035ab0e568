/** As UNSAFE of src/core/one-line.ts, without what makes lines and columns. */
const UNSAFE_IN_LINES = /\x1b\[(?:[012]|3[1236])m|[\p{Cf}\p{Zl}\p{Zp}]|(?![\t\n])\p{Cc}/gu;

/**
 * Returns lines of text, with a space for characters that a terminal may obey.
 *
 * @param keepStyles keeps the colours that this program itself writes
 */
export function terminalText(text: string, { keepStyles = false } = {}): string {
  return text.replaceAll(UNSAFE_IN_LINES, found => (keepStyles && found.startsWith("\x1b[") ? found : " "));
}
