/**
 * Characters that a terminal may obey, and those that reorder, hide or break text: controls, formats such as U+202E, and separators of
 * lines. Whoever may create an Event or a RoleBinding writes texts and names that contain them.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;
const UNSAFE_IN_LINES = /\x1b\[(?:[012]|3[1236])m|[\p{Cf}\p{Zl}\p{Zp}]|(?![\t\n])\p{Cc}/gu;

/** Returns text on one line, with a space for characters that a terminal may obey. */
export function oneLine(text: string): string {
  return text.replaceAll(UNSAFE, " ");
}

/**
 * Returns lines of text, with a space for characters that a terminal may obey.
 *
 * @param keepStyles keeps the colours that this program itself writes
 */
export function terminalText(text: string, { keepStyles = false } = {}): string {
  return text.replaceAll(UNSAFE_IN_LINES, found => (keepStyles && found.startsWith("\x1b[") ? found : " "));
}
