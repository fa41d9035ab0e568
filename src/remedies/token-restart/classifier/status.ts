import type { Denial } from "./denial";
import { indexOfWord, isWordCode, lowerCase } from "./text";

/** A Status object, however a language prints it, is shorter than this. */
const STATUS_REACH = 700;

/**
 * Whether a text holds the API server's Status object with this code: as JSON, Go, Rust, Java, Scala or Node print it.
 * The words are the same in all of them: Failure, the code under `code`, the reason.
 */
export function hasStatusObject(lower: string, denial: Denial): boolean {
  const reason = lowerCase(denial.word);
  for (let at = indexOfWord(lower, denial.code); at >= 0; at = indexOfWord(lower, denial.code, at + 1)) {
    if (!isUnderCode(lower, at)) continue;
    const around = lower.slice(Math.max(0, at - STATUS_REACH), at + STATUS_REACH);
    if (indexOfWord(around, "failure") >= 0 && indexOfWord(around, reason) >= 0) return true;
  }
  return false;
}

/** `code: 401`, `"code":401`, `code=401`, `'code': 401`; Scala's case classes print no names: `Some(401)`. */
function isUnderCode(lower: string, at: number): boolean {
  let end = at;
  while (end > 0 && !isWordCode(lower.charCodeAt(end - 1)) && at - end < 8) end--;
  return lower.startsWith("code", end - 4) || lower.startsWith("some", end - 4);
}
