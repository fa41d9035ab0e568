// What a record must contain to be looked at: literals that are searched in raw bytes before anything is decoded.

/** A literal, and the part of it that the search looks for first. */
export interface Literal {
  readonly text: string;
  /** Offset of a window of WINDOW characters. */
  readonly window: number;
}

/** Length of a window. The search skips by it, so that a shorter literal would slow all others down. */
export const WINDOW = 8;

/**
 * At least one of these, or a free-standing 401, is in every record that has a class.
 * Cut so that either case of a first letter matches. The window begins behind "^": of all windows of that literal the one
 * whose pairs of letters, the last above all, are rarest in logs.
 */
export const LITERALS: readonly Literal[] = [
  // unauthorized
  ...["na^uthorized", "NAU^THORIZED", "provide cre^dentials", "valid cre^dentials"],
  // forbidden
  ...["^orbidden", "F^ORBIDDEN", 'ser ^"system:', "no^t allow access", "un^known (get "],
  // lease-lost
  ...[
    "lec^tion lost",
    "a^dership lost",
    "o^st leader",
    "^ost lease",
    "^ost the lea",
    "re^new lease",
    "ren^ew leader",
    "p^date lock",
    "pd^ate lease",
    "reso^urce lock",
    "l^ease lock",
    "o^nger the leader",
    "ong^er leader",
    "opp^ed leading",
    "l^ease lost",
  ],
  // watch-ended
  ...[
    "too old^ resource",
    " is^ too old",
    "ersion^ too old",
    "^watch stream",
    "a^tch closed",
    "nexpe^cted EOF",
    "^410 Gone",
    "a^tch of *",
    "client connec^tion lost",
    "rese^t by peer",
    "^stream error",
    "very ^short watch",
    "at^ch expired",
    "^have been closed",
    "close^d the watch",
    "w^atch channel closed",
    "sen^t GOAWAY",
    "as^on:Expired",
  ],
  // throttled
  ...["h^rottling", "^rate limiter", "^many requests", "^Many Requests", "^oManyRequests"],
].map(marked => ({ text: marked.replace("^", ""), window: marked.indexOf("^") }));

/** Whether a record holds a literal or a free-standing 401. The same rule as the search in bytes, for one record. */
export function hasLiteral(record: string): boolean {
  if (LITERALS.some(({ text }) => record.includes(text))) return true;
  for (let at = record.indexOf("401"); at >= 0; at = record.indexOf("401", at + 1)) {
    if (standsFree(record.charCodeAt(at - 1), record.charCodeAt(at + 3))) return true;
  }
  return false;
}

/**
 * Whether three digits between these two characters can be an HTTP status: not part of a number, an id, a time or a path.
 * A missing neighbour is NaN or 0 and stands for the record's edge.
 */
export function standsFree(before: number, after: number): boolean {
  return !isJoining(before) && !isJoining(after) && !(before === 0x3a && after === 0x5d);
}

/** Letters, digits, `_`, `-`, `/`, `#` and `%`; a dot before, though not after, where a sentence may end. */
function isJoining(code: number): boolean {
  const lower = code | 0x20;
  if ((lower >= 0x61 && lower <= 0x7a) || (code >= 0x30 && code <= 0x39)) return true;
  return code === 0x5f || code === 0x2d || code === 0x2f || code === 0x23 || code === 0x25;
}

/** The offset of the next free-standing 401 in [from, to), or `to`. */
export function next401(bytes: Buffer, from: number, to: number): number {
  for (let at = bytes.indexOf("401", from); at >= 0 && at < to; at = bytes.indexOf("401", at + 1)) {
    if (standsFree(bytes[at - 1] ?? 0, bytes[at + 3] ?? 0)) return at;
  }
  return to;
}
