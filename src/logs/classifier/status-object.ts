import type { Denial } from "./denial";
import { indexOfWord, isWordCode } from "./text";

/** Longer than a Status object in any language's format. */
const STATUS_REACH = 700;
/** Most characters between a key and its value: quotes, colons and brackets. */
const KEY_REACH = 8;

/**
 * Whether a text contains the API server's Status object with this code, as JSON, Go, Rust, Java or Node print it.
 * All of them contain Failure, the code under the key `code`, and the reason.
 */
export function hasStatusObject(text: string, denial: Denial): boolean {
  for (let at = indexOfWord(text, denial.code); at >= 0; at = indexOfWord(text, denial.code, at + 1)) {
    if (!isUnderCode(text, at)) continue;
    const around = text.slice(Math.max(0, at - STATUS_REACH), at + STATUS_REACH);
    if (indexOfWord(around, "Failure") >= 0 && indexOfWord(around, denial.word) >= 0) return true;
  }
  return false;
}

/** `code: 401`, `"code":401`, `Code:401`. */
function isUnderCode(text: string, at: number): boolean {
  const end = keyEnd(text, at);
  return text.endsWith("code", end) || text.endsWith("Code", end);
}

function keyEnd(text: string, at: number): number {
  let end = at;
  while (end > 0 && !isWordCode(text.charCodeAt(end - 1)) && at - end < KEY_REACH) end--;
  return end;
}
