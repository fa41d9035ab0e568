/**
 * Characters that a terminal may obey, and those that reorder, hide or break text: controls, formats such as U+202E, and separators of
 * lines. Whoever may create an Event or a RoleBinding writes texts and names that contain them.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** Returns text on one line, with a space for characters that a terminal may obey. */
export function oneLine(text: string): string {
  return text.replaceAll(UNSAFE, " ");
}
