import { isDigitCode, isWordCode } from "./text";

/**
 * Every record with a class or a topic contains one of these or a free-standing 401. The first letter is often left out, so that both its cases
 * match.
 */
const LITERALS: readonly string[] = [
  // unauthorized
  ...["nauthorized", "NAUTHORIZED", "credentials", "uthorization failure", "uthentication fail"],
  // forbidden
  ...[
    "orbidden",
    "FORBIDDEN",
    "tatus code 403",
    "tatus 403",
    "tatus: 403",
    "403 from ",
    "ponse [403",
    // At every depth of quoting: the quote follows any number of backslashes.
    '" cannot ',
    "not allow access",
    "unknown (get ",
  ],
  // lease-lost
  ...[
    "lection lost",
    "ost leader",
    "ost lease",
    "ost the lea",
    "renew lease",
    "renew leader",
    "onger the leader",
    "onger leader",
    "opped leading",
    "topped being a l",
    "lease lost",
    "eader lost",
    "new deadline",
    "tepping down",
    "eadership",
  ],
  // throttled
  ...[
    "hrottling",
    "rate limiter",
    "many requests",
    "Many Requests",
    "oManyRequests",
    "tatus code 429",
    "TTP status 429",
  ],
  // none of the classes: writes that admission refused
  ...["denied the request", " is invalid: "],
];

/** Without quantifiers, so the time is linear. */
const ANY_LITERAL = new RegExp(LITERALS.map(text => text.replaceAll(/[()[\]*]/g, "\\$&")).join("|"), "g");

/** Returns the offset of the first literal at or after `from`; the length of the text without one. */
export function nextLiteral(text: string, from: number): number {
  ANY_LITERAL.lastIndex = from;
  return ANY_LITERAL.exec(text)?.index ?? text.length;
}

/** Whether a record contains a literal or a free-standing 401. */
export function hasLiteral(record: string): boolean {
  return nextLiteral(record, 0) < record.length || has401(record);
}

/** Whether a record contains a free-standing 401. */
export function has401(record: string): boolean {
  return next401(record, 0) < record.length;
}

/** Returns the offset of the next free-standing 401 at or after `from`; the length of the text without one. */
export function next401(text: string, from: number): number {
  for (let at = text.indexOf("401", from); at >= 0; at = text.indexOf("401", at + 1)) {
    if (standsFree(text, at)) return at;
  }
  return text.length;
}

/** Whether the three digits at `at` can be an HTTP status and are not part of a number, an id, a path or a line of code. */
function standsFree(text: string, at: number): boolean {
  if (isJoining(text.charCodeAt(at + 3)) || text.startsWith(":401]", at - 1)) return false;
  return !isJoining(text.charCodeAt(at - 1)) || endsColor(text, at - 1);
}

/** Whether a color ends at `at`: ESC [ digits and semicolons m. */
function endsColor(text: string, at: number): boolean {
  if (text.charAt(at) !== "m") return false;
  let i = at - 1;
  while (isDigitCode(text.charCodeAt(i)) || text.charAt(i) === ";") i--;
  return i > 0 && text.startsWith("\x1b[", i - 1);
}

/** Letters, digits, `_`, `-`, `/`, `#` and `%`. A missing neighbor is NaN. */
function isJoining(code: number): boolean {
  return isWordCode(code) || code === 0x2d || code === 0x2f || code === 0x23 || code === 0x25;
}
