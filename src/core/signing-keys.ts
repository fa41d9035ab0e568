import { objectOf, parseObject, textOf, timeOf } from "./json";
import { toSeconds } from "./time";

// What the operator knows about the keys that sign ServiceAccount tokens. The API servers publish the public keys that they accept
// (/openid/v1/jwks, KEP-1393). A new key alone does no harm. A token whose key is gone is invalid, but the operator never sees a token.
// So it remembers since when each key is there: if all keys of today are newer than a token, the key of that token is gone.

/** Most keys that are remembered, gone ones included. */
const MAX_KEYS = 32;

/** A set that changed less than this ago, in milliseconds, may be a mistake that is about to be undone, such as a wrong key file. */
export const KEYS_SETTLE_MS = 120_000;

/** Everything known about the keys. Immutable. */
export interface KeyHistory {
  /** Time of the last reading, in milliseconds since the epoch. */
  readonly readMs: number;
  /** Ids of the keys in the last reading. */
  readonly current: readonly string[];
  /** Absent: a key of today was there in the first reading. */
  readonly change?: KeyChange;
  /** Last reading without the key before its first one, by id, also of keys that are gone. Absent: there in the first reading. */
  readonly absentMs: ReadonlyMap<string, number | undefined>;
}

/** Between which readings the keys were replaced; they are minutes apart if the operator's own token died with its key. */
export interface KeyChange {
  /** First reading without any key as old as the oldest of today. A key that is added later does not change it. */
  readonly changedMs: number;
  /** The reading before that. */
  readonly unchangedMs: number;
}

/** Tokens that are certainly signed with a key that is gone. */
export interface KeyRotation extends KeyChange {
  /** All tokens that were issued before this time. */
  readonly beforeMs: number;
}

/** Returns the history after a reading. A key that comes back keeps its age. What a clock that was ahead has stamped proves nothing. Pure. */
export function nextKeys(before: KeyHistory | undefined, ids: readonly string[], nowMs: number): KeyHistory {
  const current = [...new Set(ids)].sort();
  if (!isPast(before, nowMs)) return { readMs: nowMs, current, absentMs: new Map(current.map(id => [id, undefined])) };
  const absentMs = new Map(before.absentMs);
  // After the clock was set back, a later time would make tokens look older than the key.
  for (const id of current) if (!absentMs.has(id)) absentMs.set(id, Math.min(before.readMs, nowMs));
  for (const id of before.absentMs.keys()) if (absentMs.size > MAX_KEYS && !current.includes(id)) absentMs.delete(id);
  const beforeMs = oldest(current, absentMs);
  const isKnown = beforeMs === oldest(before.current, before.absentMs);
  const change = isKnown ? before.change : { changedMs: nowMs, unchangedMs: before.readMs };
  return { readMs: nowMs, current, absentMs, ...(beforeMs > -Infinity && change !== undefined && { change }) };
}

function isPast(history: KeyHistory | undefined, nowMs: number): history is KeyHistory {
  return history !== undefined && history.readMs <= nowMs + KEYS_SETTLE_MS;
}

/** Returns which tokens lost their key; undefined if none did, or if a key of today may be as old as they are. Pure. */
export function rotationIn(history: KeyHistory | undefined): KeyRotation | undefined {
  if (history?.change === undefined || history.current.length === 0) return undefined;
  const beforeMs = oldest(history.current, history.absentMs);
  return beforeMs === -Infinity ? undefined : { beforeMs, ...history.change };
}

/** Last reading without the oldest of the keys; -Infinity if that is not known of one of them. */
function oldest(ids: readonly string[], absentMs: KeyHistory["absentMs"]): number {
  return Math.min(...ids.map(id => absentMs.get(id) ?? -Infinity));
}

/** Writes the history as one line of JSON, in whole seconds. Rounding down makes fewer tokens look older than a key. */
export function formatKeys({ readMs, current, change, absentMs }: KeyHistory): string {
  const timeOfMs = (ms: number): string => toSeconds(new Date(ms));
  const keys = [...absentMs].map(([id, ms]) => ({
    id,
    ...(ms === undefined ? {} : { absent: timeOfMs(ms) }),
    ...(current.includes(id) ? {} : { gone: true }),
  }));
  const times = change && { changed: timeOfMs(change.changedMs), unchanged: timeOfMs(change.unchangedMs) };
  return JSON.stringify({ read: timeOfMs(readMs), ...times, keys });
}

/** Reads what {@link formatKeys} wrote; undefined for anything else, so that nothing is proven by it. */
export function parseKeys(text: string): KeyHistory | undefined {
  const { read, changed, unchanged, keys } = parseObject(text) ?? {};
  const readMs = timeOf(read);
  if (readMs === undefined || !Array.isArray(keys) || keys.length > MAX_KEYS) return undefined;
  const known = keys.map(key => keyOf(key)).filter(key => key !== undefined);
  if (known.length < keys.length) return undefined;
  const [changedMs, unchangedMs] = [timeOf(changed), timeOf(unchanged)];
  return {
    readMs,
    current: known
      .filter(({ isGone }) => !isGone)
      .map(({ id }) => id)
      .sort(),
    absentMs: new Map(known.map(({ id, absentMs }) => [id, absentMs])),
    ...(changedMs !== undefined && unchangedMs !== undefined && { change: { changedMs, unchangedMs } }),
  };
}

function keyOf(key: unknown): { id: string; absentMs: number | undefined; isGone: boolean } | undefined {
  const { id, absent, gone } = objectOf(key);
  const name = textOf(id);
  const absentMs = timeOf(absent);
  if (name === undefined || (absent !== undefined && absentMs === undefined)) return undefined;
  return { id: name, absentMs, isGone: gone === true };
}

/** The history of this process. The leader reads the keys, and every replica follows it through the Lease. */
export class KeyMemory {
  #history: KeyHistory | undefined;

  /** Everything known; undefined before the first reading. */
  get history(): KeyHistory | undefined {
    return this.#history;
  }

  /** Takes a reading. */
  take(ids: readonly string[], nowMs: number): void {
    this.#history = nextKeys(this.#history, ids, nowMs);
  }

  /** Takes the history of another replica, if it is newer, or the own one is from the future: its clock was ahead. */
  follow(text: string, nowMs: number): void {
    const other = parseKeys(text);
    const readMs = this.#history?.readMs ?? -Infinity;
    if (other !== undefined && (other.readMs > readMs || readMs > nowMs)) this.#history = other;
  }
}
