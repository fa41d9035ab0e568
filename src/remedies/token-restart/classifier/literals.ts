// What a record must contain to be looked at: literals that are searched in raw bytes before anything is decoded.

/**
 * At least one of these, or a free-standing 401, is in every record that has a class.
 * Cut so that either case of a first letter matches, and no shorter than SHORTEST: the search skips by that length.
 */
export const LITERALS: readonly string[] = [
  // unauthorized
  ...["nauthorized", "NAUTHORIZED", "provide credentials", "valid credentials", "logged in to the server"],
  // forbidden
  ...["orbidden", "FORBIDDEN", 'ser "system:', "not allow access", "unknown (get "],
  // lease-lost
  ...[
    "lection lost",
    "adership lost",
    "ost leader",
    "ost lease",
    "ost the lea",
    "renew lease",
    "renew leader",
    "pdate lock",
  ],
  ...["pdate lease", "resource lock", "lease lock", "onger the leader", "onger leader", "opped leading", "lease lost"],
  // watch-ended
  ...["too old resource", " is too old", "ersion too old", "watch stream", "atch closed", "nexpected EOF", "410 Gone"],
  ...[
    "ended with: ",
    "connection lost",
    "reset by peer",
    "stream error",
    "very short watch",
    "atch expired",
    "have been closed",
  ],
  ...["closed the watch", "channel closed", "sent GOAWAY", "ason:Expired"],
  // throttled
  ...["hrottling", "rate limiter", "many requests", "Many Requests", "oManyRequests"],
];

/** Length of the shortest literal. */
export const SHORTEST = Math.min(...LITERALS.map(l => l.length));

const FOUR = 0x34;
const ZERO = 0x30;
const ONE = 0x31;

/** Whether a record holds a literal or a free-standing 401. The same rule as the search in bytes, for one record. */
export function hasLiteral(record: string): boolean {
  if (LITERALS.some(literal => record.includes(literal))) return true;
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

/** The offset of the next free-standing 401 in [from, to), or `to`. Looks at every third byte only: one of three is hit. */
export function next401(bytes: Uint8Array, from: number, to: number): number {
  for (let i = from + 2; i < to; i += 3) {
    const byte = bytes[i] as number;
    if (byte > FOUR || byte < ZERO) continue;
    const at = startOf401(bytes, i, byte);
    if (at >= from && standsFree(bytes[at - 1] ?? 0, bytes[at + 3] ?? 0)) return at;
  }
  // The stride may have stopped inside the last bytes.
  return to;
}

/** Where 401 begins if the byte at `i` is one of its digits, else -1. */
function startOf401(bytes: Uint8Array, i: number, byte: number): number {
  const at = byte === ONE ? i - 2 : byte === ZERO ? i - 1 : i;
  return bytes[at] === FOUR && bytes[at + 1] === ZERO && bytes[at + 2] === ONE ? at : -1;
}
